/** What may go to a terminal, and how wide. */
import { styleText } from 'node:util';

/** Makes text printed by strangers harmless: control characters become visible. */
export function printable(text: string): string {
	// C0, DEL, C1, and the marks that reorder or hide text (Unicode TR 36).
	return text.replace(
		/[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu,
		(character) => {
			const code = character.charCodeAt(0);
			return code < 256
				? `\\x${code.toString(16).padStart(2, '0')}`
				: `\\u${code.toString(16).padStart(4, '0')}`;
		},
	);
}

/** How to draw on a certain output. */
export interface Style {
	readonly colour: boolean;
	readonly width: number;
	/** Of the terminal, where there is one: what does not fit in it is broken. */
	readonly columns?: number;
}

/** Colour on terminals only, and never with NO_COLOR set (no-color.org); 80 columns at most. */
export function styleFor(stream: { isTTY?: boolean; columns?: number }): Style {
	const terminal = stream.isTTY === true;
	// A terminal of unknown size says 0.
	const columns = (terminal && stream.columns) || undefined;
	const width = Math.max(50, Math.min(80, columns ?? 80));
	const colour = terminal && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
	return { colour, width, ...(columns && { columns }) };
}

export type Colour = 'bold' | 'cyan' | 'green' | 'red' | 'yellow';

/** Draws text in a colour of node's util.styleText, or leaves it as it is. */
export function paint(style: Style, colour: Colour, text: string): string {
	// It would look at stdout and NO_COLOR once more, in its own way; the style has decided.
	return style.colour ? styleText(colour, text, { validateStream: false }) : text;
}

/** Breaks a line between words, so that it fits; what follows the first line is indented. */
export function wrapped(text: string, indent: string, width = 80): string {
	const lines: string[] = [];
	for (const word of text.split(' ')) {
		const line = lines.at(-1);
		if (line === undefined) lines.push(word);
		else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
		else lines.push(indent + word);
	}
	return lines.join('\n');
}

/** Cut in the middle, which of long names, as C++ and Rust have them, says least. */
export function shortened(name: string, width: number): string {
	const characters = [...name];
	if (characters.length <= width) return name;
	const head = Math.ceil((width - 1) / 2);
	return `${characters.slice(0, head).join('')}…${characters.slice(head + 1 - width).join('')}`;
}

/** A thread may call itself "", which in a sentence is a gap. */
export const named = (comm: string) => comm || '[no name]';
