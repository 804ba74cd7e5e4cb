/** The frames of a stack, as JSON has them. */
import { remembered } from '../aggregate/remembered.js';
import type { Frame } from '../aggregate/stack.js';
import { FRAME_LETTERS } from './folded.js';

/**
 * Frames are names, and what kind each is of stands beside them, a letter each: see FRAME_LETTERS. Of functions of a
 * runtime's language `sources` has what their names are made of, by the number of the frame.
 */
export function framesOf(frames: readonly Frame[]): object {
	const sources = frames.flatMap((each, frame) => {
		const source = sourceOf(each);
		return source ? [{ frame, ...source }] : [];
	});
	return {
		frames: frames.map(({ name }) => name),
		kinds: frames.map(letterOf).join(''),
		...(sources.length > 0 ? { sources } : {}),
	};
}

/**
 * The fields of `framesOf` as text, without the braces. `textOf`: of a value. Stacks share frames: the text of each is
 * made once.
 */
export function framesTextBy(
	textOf: (value: object | string) => string,
): (frames: readonly Frame[]) => string {
	const nameText = remembered(({ name }: Frame) => textOf(name));
	/** What stands behind the frame's number; empty: nothing is known. */
	const sourceText = remembered((frame: Frame) => {
		const source = sourceOf(frame);
		return source ? `,${textOf(source).slice(1)}` : '';
	});
	return (frames) => {
		const sources: string[] = [];
		for (let at = 0; at < frames.length; at++) {
			const text = frames[at]?.source ? sourceText(frames[at] as Frame) : '';
			if (text) sources.push(`{"frame":${at}${text}`);
		}
		const known = sources.length > 0 ? `,"sources":[${sources.join()}]` : '';
		return `"frames":[${frames.map(nameText).join()}],"kinds":"${frames.map(letterOf).join('')}"${known}`;
	};
}

const letterOf = ({ kind }: Frame): string => FRAME_LETTERS[kind];

function sourceOf({ source }: Frame): object | undefined {
	if (source?.file === undefined) return undefined;
	const { name, file, line, executingLine } = source;
	return {
		...{ name, file },
		...(line === undefined ? {} : { line }),
		...(executingLine === undefined ? {} : { executing_line: executingLine }),
	};
}
