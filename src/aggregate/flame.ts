/** Where the boxes of a flame graph are: from stacks to ranges. Pure values: no I/O. */
import type { FrameTable } from './frame-table.js';
import type { StackTable } from './stack-table.js';

export interface FlameBox {
	/** Number in the frame table; -1 for the root, which stands for all stacks. */
	readonly frame: number;
	/** 0 for the root. */
	readonly depth: number;
	/** Index of the box it stands on; -1 for the root. A parent comes before its children. */
	readonly parent: number;
	/** Where it begins, in the unit of weights, from 0 to the root's weight. */
	readonly start: number;
	/** How wide it is. */
	readonly weight: number;
	/** How much of it has no box above, because the stack ends there. */
	readonly self: number;
}

export interface FlameOptions {
	/** How wide each stack is, by its number; stacks of 0 are left out. */
	readonly weights: Float64Array;
	/** Boxes that are a smaller share of the root are left out, and what stands on them. 0: none. */
	readonly minShare: number;
	/** How those that stand side by side are sorted: by name, or the widest first. */
	readonly order: 'name' | 'weight';
	/** Merged from the leaf instead of the root. */
	readonly reverse: boolean;
}

export interface Flame {
	readonly boxes: readonly FlameBox[];
	/** Of the deepest box. */
	readonly depth: number;
	/** How many boxes were left out for being too small, not counting what stands on them. */
	readonly left_out: number;
}

/** Some stacks that have the same frames up to a depth: a range of `order`, and their box. */
interface Group {
	readonly from: number;
	readonly to: number;
	readonly box: number;
}

/**
 * Lays out stacks as a flame graph: https://www.brendangregg.com/flamegraphs.html
 *
 * Stacks are sorted into groups frame by frame from the root on, and a group that is too small to be
 * seen is not looked into: so the time goes with what is seen and not with the number of all frames.
 */
export function layoutFlame(frames: FrameTable, stacks: StackTable, options: FlameOptions): Flame {
	return new Layout(frames, stacks, options).run();
}

class Layout {
	readonly #frames: FrameTable;
	readonly #stacks: StackTable;
	readonly #options: FlameOptions;
	readonly #boxes: FlameBox[] = [];
	/** Stacks by number; those of a group are side by side. */
	readonly #order: Int32Array;
	readonly #scratch: Int32Array;
	/** For each frame of a group: how wide, how many stacks, and where the next of these goes. */
	readonly #weights: Float64Array;
	readonly #counts: Int32Array;
	readonly #places: Int32Array;
	#depth = 0;
	#leftOut = 0;

	constructor(frames: FrameTable, stacks: StackTable, options: FlameOptions) {
		this.#frames = frames;
		this.#stacks = stacks;
		this.#options = options;
		this.#order = Int32Array.from(stacks.values().keys()).filter(
			(stack) => (options.weights[stack] as number) > 0,
		);
		this.#scratch = new Int32Array(this.#order.length);
		this.#weights = new Float64Array(frames.size);
		this.#counts = new Int32Array(frames.size);
		this.#places = new Int32Array(frames.size);
	}

	run(): Flame {
		let total = 0;
		for (const stack of this.#order) total += this.#options.weights[stack] as number;
		const root = { frame: -1, depth: 0, parent: -1, start: 0, weight: total };
		const groups: Group[] = [{ from: 0, to: this.#order.length, box: 0 }];
		this.#boxes.push({ ...root, self: 0 });
		for (let group = groups.pop(); group; group = groups.pop()) {
			// One by one: there can be more than a call has room for.
			for (const above of this.#split(group)) groups.push(above);
		}
		return { boxes: this.#boxes, depth: this.#depth, left_out: this.#leftOut };
	}

	/** Makes boxes for what stands on this group's box; returns their groups. */
	#split({ from, to, box }: Group): Group[] {
		const parent = this.#boxes[box] as FlameBox;
		const { depth } = parent;
		const { frames, self } = this.#count(from, to, depth);
		this.#boxes[box] = { ...parent, self };
		const sorted = this.#sort(frames);
		const groups = this.#place(from, to, depth, sorted);
		const least = this.#options.minShare * (this.#boxes[0] as FlameBox).weight;
		// What ends here comes last, as in every flame graph.
		let { start } = parent;
		const kept: Group[] = [];
		for (const [index, frame] of sorted.entries()) {
			const weight = this.#weights[frame] as number;
			const group = groups[index] as { from: number; to: number };
			if (weight >= least) {
				kept.push({ ...group, box: this.#boxes.length });
				this.#boxes.push({ frame, depth: depth + 1, parent: box, start, weight, self: 0 });
				this.#depth = Math.max(this.#depth, depth + 1);
			} else {
				this.#leftOut++;
			}
			start += weight;
			this.#weights[frame] = 0;
			this.#counts[frame] = 0;
		}
		return kept;
	}

	/** Adds up weights and numbers of stacks by their frame at this depth. */
	#count(from: number, to: number, depth: number): { frames: number[]; self: number } {
		const frames: number[] = [];
		let self = 0;
		for (let i = from; i < to; i++) {
			const stack = this.#order[i] as number;
			const weight = this.#options.weights[stack] as number;
			const frame = this.#frameAt(stack, depth);
			if (frame < 0) {
				self += weight;
				continue;
			}
			if (this.#counts[frame] === 0) frames.push(frame);
			this.#counts[frame] = (this.#counts[frame] as number) + 1;
			this.#weights[frame] = (this.#weights[frame] as number) + weight;
		}
		return { frames, self };
	}

	#sort(frames: number[]): number[] {
		const byName = (a: number, b: number) =>
			compare(this.#frames.name(a), this.#frames.name(b)) || a - b;
		if (this.#options.order === 'name') return frames.sort(byName);
		return frames.sort(
			(a, b) => (this.#weights[b] as number) - (this.#weights[a] as number) || byName(a, b),
		);
	}

	/** Puts stacks of one frame side by side; returns the range of each. Those that end go last. */
	#place(
		from: number,
		to: number,
		depth: number,
		frames: readonly number[],
	): { from: number; to: number }[] {
		let next = from;
		const ranges = frames.map((frame) => {
			const start = next;
			this.#places[frame] = start;
			next += this.#counts[frame] as number;
			return { from: start, to: next };
		});
		for (let i = from; i < to; i++) {
			const stack = this.#order[i] as number;
			const frame = this.#frameAt(stack, depth);
			if (frame < 0) continue;
			const place = this.#places[frame] as number;
			this.#scratch[place] = stack;
			this.#places[frame] = place + 1;
		}
		this.#order.set(this.#scratch.subarray(from, next), from);
		return ranges;
	}

	/** -1 where the stack has ended. */
	#frameAt(stack: number, depth: number): number {
		const frames = this.#stacks.depth(stack);
		if (depth >= frames) return -1;
		return this.#stacks.frameAt(stack, this.#options.reverse ? frames - 1 - depth : depth);
	}
}

/** By code points' order, the same in every locale. */
function compare(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}
