/** Stacks as numbers of their frames. Pure values: no I/O, no kernel. */
import type { Frame } from './stack.js';

/**
 * Gives the numbers of a stack's frames, in their order, root first; they are valid until the next stack. Most stacks
 * begin as the one before: of those frames nothing is looked up again.
 */
export function pathsBy(
	numberOf: (frame: Frame) => number,
): (frames: readonly Frame[]) => readonly number[] {
	const path: number[] = [];
	let last: readonly Frame[] = [];
	return (frames) => {
		let at = 0;
		while (at < frames.length && frames[at] === last[at]) at++;
		while (path.length > frames.length) path.pop();
		for (; at < frames.length; at++) path[at] = numberOf(frames[at] as Frame);
		last = frames;
		return path;
	};
}
