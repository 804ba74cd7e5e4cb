/** What each function took itself, and with what it called. Pure values: no I/O. */
import type { FrameTable } from './frame-table.js';
import type { StackTable } from './stack-table.js';

/** Sums by frame number. */
interface FunctionTotals {
	/** Of stacks that end in the function: they add up to the total. */
	readonly self: Float64Array;
	/** Of stacks that have it anywhere; once for each, however often it calls itself. */
	readonly total: Float64Array;
}

/** Adds up `values`, one for each stack by its number, for each function. */
export function functionTotals(
	frames: FrameTable,
	stacks: StackTable,
	values: Float64Array,
): FunctionTotals {
	const self = new Float64Array(frames.size);
	const total = new Float64Array(frames.size);
	/** The stack in which a frame was last met, + 1. */
	const met = new Int32Array(frames.size);
	for (let stack = 0; stack < stacks.size; stack++) {
		const value = values[stack] as number;
		const depth = stacks.depth(stack);
		if (value === 0 || depth === 0) continue;
		const own = stacks.frames(stack);
		for (let at = 0; at < depth; at++) {
			const frame = own[at] as number;
			if (met[frame] === stack + 1) continue;
			met[frame] = stack + 1;
			total[frame] = (total[frame] as number) + value;
		}
		const leaf = own[depth - 1] as number;
		self[leaf] = (self[leaf] as number) + value;
	}
	return { self, total };
}
