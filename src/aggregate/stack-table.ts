/** Stacks of frame numbers, each kept once, with what was counted there. Pure values: no I/O. */
import { TstraceError } from '../errors.js';
import { grown } from './growable.js';

const FIRST_STACKS = 1 << 10;
/** Frames in a chunk; a stack lies within one. Full chunks are never copied, so that growing is cheap. */
const CHUNK_BITS = 20;
const CHUNK_FRAMES = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_FRAMES - 1;
/** A chunk begins so small: there can be hundreds of tables, one for each event. */
const FIRST_FRAMES = 1 << 12;
/** Deeper ones are damaged, or made to do harm. */
export const MAX_STACK_FRAMES = 1 << 16;
/** Of all stacks together, 1 GiB: a large recording has 2^23. */
const MAX_FRAMES = 1 << 28;
/** Empty ones have no frames, but take room too. */
const MAX_STACKS = 1 << 26;

/** Stacks by number, in the order they were met, root first; values in one or more columns. */
export class StackTable {
	readonly #chunks: Int32Array[] = [new Int32Array(FIRST_FRAMES)];
	/** Of the last chunk. */
	#used = 0;
	#starts: Float64Array = new Float64Array(FIRST_STACKS);
	#depths: Int32Array = new Int32Array(FIRST_STACKS);
	#hashes: Int32Array = new Int32Array(FIRST_STACKS);
	/** Numbers + 1, by hash, open addressing; never more than half full. */
	#slots = new Int32Array(2 * FIRST_STACKS);
	#size = 0;
	readonly #values: Float64Array[];
	readonly #maxFrames: number;

	/** `maxFrames`: how many there may be in all stacks together. */
	constructor(columns = 1, maxFrames = MAX_FRAMES) {
		this.#maxFrames = maxFrames;
		this.#values = Array.from({ length: columns }, () => new Float64Array(FIRST_STACKS));
	}

	get size(): number {
		return this.#size;
	}

	/**
	 * Adds to what was counted at the first `depth` of these frames; at most MAX_STACK_FRAMES. Throws
	 * TstraceError for a stack too many.
	 */
	add(frames: ArrayLike<number>, depth: number, value: number, column = 0): void {
		const stack = this.intern(frames, depth);
		const values = this.#values[column] as Float64Array;
		values[stack] = (values[stack] as number) + value;
	}

	/** What was counted at each stack, by its number. */
	values(column = 0): Float64Array {
		return (this.#values[column] as Float64Array).subarray(0, this.#size);
	}

	/** How many frames a stack has. */
	depth(stack: number): number {
		return this.#depths[stack] as number;
	}

	/** A stack's frame, counted from the root; `at` is less than its depth. */
	frameAt(stack: number, at: number): number {
		const start = this.#starts[stack] as number;
		const chunk = this.#chunks[Math.floor(start / CHUNK_FRAMES)] as Int32Array;
		return chunk[(start & CHUNK_MASK) + at] as number;
	}

	/** Root first; a view, not a copy. */
	frames(stack: number): Int32Array {
		const start = this.#starts[stack] as number;
		const chunk = this.#chunks[Math.floor(start / CHUNK_FRAMES)] as Int32Array;
		return chunk.subarray(start & CHUNK_MASK, (start & CHUNK_MASK) + this.depth(stack));
	}

	/** The number of the stack of the first `depth` of these frames, a new one if it was not met before. As `add`. */
	intern(frames: ArrayLike<number>, depth: number): number {
		let hash = depth;
		for (let i = 0; i < depth; i++) {
			hash = Math.imul(hash ^ (frames[i] as number), 0x9e3779b1);
			hash ^= hash >>> 15;
		}
		const mask = this.#slots.length - 1;
		let slot = hash & mask;
		for (; ; slot = (slot + 1) & mask) {
			const stack = (this.#slots[slot] as number) - 1;
			if (stack < 0) break;
			if (this.#hashes[stack] === hash && this.#equals(stack, frames, depth)) return stack;
		}
		const stack = this.#append(frames, depth, hash);
		this.#slots[slot] = stack + 1;
		if (2 * this.#size > this.#slots.length) this.#rehash();
		return stack;
	}

	#equals(stack: number, frames: ArrayLike<number>, depth: number): boolean {
		if (this.#depths[stack] !== depth) return false;
		const own = this.frames(stack);
		for (let i = 0; i < depth; i++) if (own[i] !== frames[i]) return false;
		return true;
	}

	#append(frames: ArrayLike<number>, depth: number, hash: number): number {
		const before = (this.#chunks.length - 1) * CHUNK_FRAMES + this.#used;
		if (before + depth > this.#maxFrames || this.#size >= MAX_STACKS) {
			throw new TstraceError(
				`${this.#size} different stacks of ${before} frames are more than tstrace can keep in memory; ` +
					'record a shorter time, or filter',
			);
		}
		if (this.#used + depth > CHUNK_FRAMES) {
			this.#chunks.push(new Int32Array(FIRST_FRAMES));
			this.#used = 0;
		}
		const last = this.#chunks.length - 1;
		const chunk = grown(this.#chunks[last] as Int32Array, this.#used + depth);
		this.#chunks[last] = chunk;
		for (let i = 0; i < depth; i++) chunk[this.#used + i] = frames[i] as number;
		const stack = this.#size++;
		this.#starts = grown(this.#starts, this.#size);
		this.#depths = grown(this.#depths, this.#size);
		this.#hashes = grown(this.#hashes, this.#size);
		for (const [column, values] of this.#values.entries()) {
			this.#values[column] = grown(values, this.#size);
		}
		this.#starts[stack] = (this.#chunks.length - 1) * CHUNK_FRAMES + this.#used;
		this.#depths[stack] = depth;
		this.#hashes[stack] = hash;
		this.#used += depth;
		return stack;
	}

	#rehash(): void {
		const slots = new Int32Array(2 * this.#slots.length);
		const mask = slots.length - 1;
		for (let stack = 0; stack < this.#size; stack++) {
			let slot = (this.#hashes[stack] as number) & mask;
			while (slots[slot] !== 0) slot = (slot + 1) & mask;
			slots[slot] = stack + 1;
		}
		this.#slots = slots;
	}
}
