/** What src/render/html.ts writes into a page, and src/browser/page/page.ts reads there. */

export interface PageData {
	readonly countName: string;
	/** The root at the top, to begin with. */
	readonly inverted: boolean;
	/** What there is to say about what is not shown; sentences. */
	readonly notes: readonly string[];
	/** Functions: what stacks are made of. Sorted by name; the lists below are in the same order. */
	readonly names: readonly string[];
	/** A digit for each: a place in KINDS. */
	readonly kinds: string;
	/** Six hexadecimal digits for each. */
	readonly colours: string;
	readonly self: readonly number[];
	readonly total: readonly number[];
	/** Boxes, parents before children; the first one is the root: all stacks. */
	readonly boxes: {
		/** A function's number; -1 for the root. */
		readonly frame: readonly number[];
		/** A box's number; -1 for the root. */
		readonly parent: readonly number[];
		readonly weight: readonly number[];
		readonly self: readonly number[];
	};
}

/** As a page says it: nothing of what is ordinary. */
export const KINDS = ['', 'kernel', 'jit', 'inlined', 'JavaScript', 'Python'] as const;
