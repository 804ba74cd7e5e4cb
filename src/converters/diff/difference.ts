/** Two recordings side by side: the same stacks, what was counted before and after. Pure values: no I/O. */

import { FrameTable } from '../../aggregate/frame-table.js';
import { functionTotals } from '../../aggregate/functions.js';
import type { Frame, FrameKind } from '../../aggregate/stack.js';
import {
	addStacks,
	type Origin,
	profileTotal,
	type StackProfile,
} from '../../aggregate/stack-profile.js';
import { StackTable } from '../../aggregate/stack-table.js';

/** What is made equal before amounts are compared, by multiplying what was counted before. */
export const NORMALIZATIONS = ['total', 'duration', 'none'] as const;
export type Normalization = (typeof NORMALIZATIONS)[number];

/** Something of each of the two recordings. */
export interface Sides<T> {
	readonly before: T;
	readonly after: T;
}

/** A recording as a whole, as it was recorded. */
export interface Side {
	/** As the user named it. */
	readonly name: string;
	readonly origin: Origin;
	readonly total: number;
	/** How many different stacks it has. */
	readonly stacks: number;
	readonly marked: boolean;
}

export interface Difference {
	readonly frames: FrameTable;
	/** Those of both; `values` are by their numbers. */
	readonly stacks: StackTable;
	/** Those of before are multiplied with the factor. */
	readonly values: Sides<Float64Array>;
	readonly sides: Sides<Side>;
	readonly normalization: Normalization;
	readonly factor: number;
	/** Of values; undefined: nobody knows. */
	readonly unit: string | undefined;
}

/** A name that was met in stacks, with what was counted there: see FunctionTotals. */
export interface FunctionChange {
	/** Its number in the frame table. */
	readonly frame: number;
	readonly name: string;
	readonly kind: FrameKind;
	readonly self: Sides<number>;
	readonly total: Sides<number>;
}

/** Sums in another order differ by a rounding error; that is no change. */
const ROUNDING = 1e-9;

export function sideOf(name: string, profile: StackProfile): Side {
	const { origin, stacks, marked } = profile;
	return { name, origin, total: profileTotal(profile), stacks: stacks.size, marked };
}

/** What before is multiplied by; undefined where that cannot be known. */
export function factorOf(
	{ before, after }: Sides<Side>,
	normalization: Normalization,
): number | undefined {
	const ratio = (of: number | undefined, to: number | undefined) =>
		of && to ? to / of : undefined;
	switch (normalization) {
		case 'total':
			return ratio(before.total, after.total);
		case 'duration':
			return ratio(before.origin.duration_s, after.origin.duration_s);
		case 'none':
			return 1;
	}
}

/**
 * Puts two recordings together. What is shown of them may be a part of what `sides` describes: the
 * factor is that of the whole, so that a part that grew is seen to have grown.
 */
export function differenceOf(
	shown: Sides<StackProfile>,
	how: Pick<Difference, 'sides' | 'normalization' | 'factor'>,
): Difference {
	const union = new Union(shown);
	union.add(shown.before, 0);
	union.add(shown.after, 1);
	const { frames, stacks } = union;
	const { factor, sides } = how;
	return {
		...how,
		frames,
		stacks,
		values: {
			before: stacks.values(0).map((value) => value * factor),
			after: stacks.values(1),
		},
		// Scaled to the total of after, before is in whatever unit after is.
		unit: sides.after.origin.unit,
	};
}

/**
 * Stacks of both. A name in the kernel is another function than the same name outside; but where one
 * recording does not know kinds of frames, the name decides, and what the other knows is kept.
 */
class Union {
	readonly frames = new FrameTable();
	readonly stacks = new StackTable(2);
	readonly #kinds = new Map<string, FrameKind>();
	readonly #kernelApart: boolean;

	constructor({ before, after }: Sides<StackProfile>) {
		this.#kernelApart = knowsKinds(before) && knowsKinds(after);
		for (const { frames } of [before, after]) {
			for (let number = 0; number < frames.size; number++) {
				const { name, kind } = frames.frame(number);
				const identity = this.#identity(name, kind);
				if ((this.#kinds.get(identity) ?? 'user') === 'user') this.#kinds.set(identity, kind);
			}
		}
	}

	add(profile: StackProfile, column: number): void {
		const intern = ({ name, kind }: Frame) =>
			this.frames.intern(name, this.#kinds.get(this.#identity(name, kind)) ?? kind);
		addStacks(this.stacks, profile, intern, { column });
	}

	#identity(name: string, kind: FrameKind): string {
		return `${this.#kernelApart && kind === 'kernel' ? 'kernel' : ''};${name}`;
	}
}

function knowsKinds({ frames }: StackProfile): boolean {
	for (let number = 0; number < frames.size; number++) {
		if (frames.kind(number) !== 'user') return true;
	}
	return false;
}

/** Every function that anything was counted in. */
export function functionChanges({ frames, stacks, values }: Difference): FunctionChange[] {
	const before = functionTotals(frames, stacks, values.before);
	const after = functionTotals(frames, stacks, values.after);
	const changes: FunctionChange[] = [];
	for (let number = 0; number < frames.size; number++) {
		const sidesOf = (of: 'self' | 'total') => ({
			before: before[of][number] as number,
			after: after[of][number] as number,
		});
		const total = sidesOf('total');
		if (total.before === 0 && total.after === 0) continue;
		changes.push({ frame: number, ...frames.frame(number), self: sidesOf('self'), total });
	}
	return changes;
}

/** After − before; 0 for what is a matter of rounding. */
export function changeOf({ before, after }: Sides<number>): number {
	const change = after - before;
	return Math.abs(change) <= ROUNDING * Math.max(before, after) ? 0 : change;
}

/** Those that changed, the largest change first, whether up or down. */
export function largestChanges(
	changes: readonly FunctionChange[],
	of: 'self' | 'total',
): FunctionChange[] {
	const size = (change: FunctionChange) => Math.abs(changeOf(change[of]));
	return changes
		.filter((change) => size(change) > 0)
		.sort((a, b) => size(b) - size(a) || (a.name < b.name ? -1 : 1));
}

/** 'new' and 'gone' for what is on one side only. */
export function fateOf({ before, after }: Sides<number>): 'new' | 'gone' | '' {
	if (before === 0 && after > 0) return 'new';
	return after === 0 && before > 0 ? 'gone' : '';
}

/**
 * Whether chance alone may have made the change: it is less than two standard errors of a difference
 * of counts. Only samples are known to be counts of that kind; other units are never `true`.
 */
export function mayBeChance(values: Sides<number>, { unit, factor }: Difference): boolean {
	if (unit !== 'samples') return false;
	// The variance of a count is the count; multiplying it multiplies that with the square.
	const variance = values.before * factor + values.after;
	return Math.abs(changeOf(values)) < 2 * Math.sqrt(variance);
}

/** Shares of what was recorded on each side: 1 is all of it. */
export function sharesOf(
	{ before, after }: Sides<number>,
	{ sides, factor }: Difference,
): Sides<number> {
	const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0);
	return {
		before: share(before, sides.before.total * factor),
		after: share(after, sides.after.total),
	};
}
