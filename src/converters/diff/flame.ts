/** Where the boxes of a differential flame graph are. Pure values: no I/O. */

import { type Flame, type FlameOptions, layoutFlame } from '../../aggregate/flame.js';
import type { Difference, Sides } from './difference.js';

/** A flame with what was counted in each of its boxes, by their numbers. */
interface DifferenceFlame {
	readonly flame: Flame;
	readonly values: Sides<Float64Array>;
}

/**
 * Each stack is as wide as the larger of before and after: so what is gone is there to be seen, and
 * boxes still are as wide as what stands on them.
 */
export function layoutDifference(
	{ frames, stacks, values }: Difference,
	options: Omit<FlameOptions, 'weights'>,
): DifferenceFlame {
	const weights = values.before.map((value, stack) =>
		Math.max(value, values.after[stack] as number),
	);
	const flame = layoutFlame(frames, stacks, { ...options, weights });
	/** Boxes by what they stand on and their frame; a frame of its own for each pair. */
	const boxOf = new Map<number, number>();
	for (const [index, { parent, frame }] of flame.boxes.entries()) {
		if (parent >= 0) boxOf.set(parent * frames.size + frame, index);
	}
	const sums = {
		before: new Float64Array(flame.boxes.length),
		after: new Float64Array(flame.boxes.length),
	};
	for (let stack = 0; stack < stacks.size; stack++) {
		const path = stacks.frames(stack);
		let box: number | undefined = 0;
		for (let depth = 0; box !== undefined; depth++) {
			for (const side of ['before', 'after'] as const) {
				sums[side][box] = (sums[side][box] as number) + (values[side][stack] as number);
			}
			if (depth === path.length) break;
			const frame: number = path[options.reverse ? path.length - 1 - depth : depth] as number;
			box = boxOf.get(box * frames.size + frame);
		}
	}
	return { flame, values: sums };
}
