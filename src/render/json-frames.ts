/** The frames of a stack, as JSON has them. */
import type { Frame } from '../aggregate/stack.js';
import { FRAME_LETTERS } from './folded.js';

/**
 * Frames are names, and what kind each is of stands beside them, a letter each: see FRAME_LETTERS. Of functions of a
 * runtime's language `sources` has what their names are made of, by the number of the frame.
 */
export function framesOf(frames: readonly Frame[]): object {
	const sources = frames.flatMap(({ source }, frame) => {
		if (source?.file === undefined) return [];
		const { name, file, line } = source;
		return [{ frame, name, file, ...(line === undefined ? {} : { line }) }];
	});
	return {
		frames: frames.map(({ name }) => name),
		kinds: frames.map(({ kind }) => FRAME_LETTERS[kind]).join(''),
		...(sources.length > 0 ? { sources } : {}),
	};
}
