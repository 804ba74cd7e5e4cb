/** What was counted in functions, from what was counted at stacks. Pure values: no I/O. */
import type { FrameTable } from './frame-table.js';
import type { StackTable } from './stack-table.js';

/** By number of the frame, in the unit of the stacks' values. */
export interface FunctionTotals {
	/** Where the function was the leaf. */
	readonly self: Float64Array;
	/** Where it was anywhere in the stack; a stack it is in more than once counts once. */
	readonly total: Float64Array;
}

/** `values`: of each stack, by its number. */
export function functionTotals(
	frames: FrameTable,
	stacks: StackTable,
	values: Float64Array,
): FunctionTotals {
	const self = new Float64Array(frames.size);
	const total = new Float64Array(frames.size);
	/** The last stack each frame was met in, + 1. */
	const metIn = new Int32Array(frames.size);
	for (let stack = 0; stack < stacks.size; stack++) {
		const value = values[stack] as number;
		const path = stacks.frames(stack);
		for (const frame of path) {
			if (metIn[frame] === stack + 1) continue;
			metIn[frame] = stack + 1;
			total[frame] = (total[frame] as number) + value;
		}
		const leaf = path.at(-1);
		if (leaf !== undefined) self[leaf] = (self[leaf] as number) + value;
	}
	return { self, total };
}
