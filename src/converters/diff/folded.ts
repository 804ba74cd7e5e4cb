/** A difference as difffolded.pl writes it: "root;…;leaf before after". */

import { ALL_MARKS, foldedName, NO_MARKS } from '../../render/folded.js';
import type { Difference } from './difference.js';

const DIGITS = 3;

/** A line for each stack, before multiplied with the factor as difffolded.pl -n does it. */
export function* renderDifferenceFolded(difference: Difference): Generator<string> {
	const { frames, stacks, values, sides } = difference;
	const marks = sides.before.marked || sides.after.marked ? ALL_MARKS : NO_MARKS;
	const names = Array.from({ length: frames.size }, (_, frame) =>
		foldedName(frames.frame(frame), marks),
	);
	for (let stack = 0; stack < stacks.size; stack++) {
		const before = values.before[stack] as number;
		const after = values.after[stack] as number;
		if (before === 0 && after === 0) continue;
		const path = Array.from(stacks.frames(stack), (frame) => names[frame]);
		yield `${path.join(';')} ${countText(before)} ${countText(after)}\n`;
	}
}

/** Never "0" for what is there, nor an exponent, which flamegraph.pl does not read. */
function countText(value: number): string {
	const least = 10 ** -DIGITS;
	return value > 0 && value < least ? `${least}` : `${Number(value.toFixed(DIGITS))}`;
}
