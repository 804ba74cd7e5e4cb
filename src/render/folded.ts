/** Folded stacks: "comm;root;…;leaf value", the format of stackcollapse and flamegraph.pl. */
import type { StackRow } from '../aggregate/stacks.js';
import type { Frame, FrameKind } from '../symbolize/stack.js';
import { printable } from './terminal.js';

export interface FoldedOptions {
	/** What values are divided by: 1000 for microseconds. */
	readonly divisor: number;
	/** A frame "-" between the user's and the kernel's. */
	readonly delimited: boolean;
	/** Mark kernel, JIT and inlined frames, as stackcollapse-perf.pl --all does. */
	readonly annotated: boolean;
}

export const FRAME_LETTERS: Readonly<Record<FrameKind, string>> = {
	user: 'u',
	kernel: 'k',
	jit: 'j',
	inlined: 'i',
};

/** Characters handed over at a time: all stacks of a large machine are more than a string holds. */
const PIECE_LENGTH = 1 << 16;

/**
 * One line for each stack, in the order given, in pieces of many lines; lines that read the same are
 * added up.
 */
export function* renderFolded(
	rows: readonly StackRow[],
	options: FoldedOptions,
): Generator<string> {
	const values = new Map<string, number>();
	for (const row of rows) {
		const line = foldedFrames(row, options);
		values.set(line, (values.get(line) ?? 0) + row.value / options.divisor);
	}
	let piece = '';
	for (const [line, value] of values) {
		// Less than one would be none: a line that is there counts.
		piece += `${line} ${Math.max(1, Math.round(value))}\n`;
		if (piece.length < PIECE_LENGTH) continue;
		yield piece;
		piece = '';
	}
	yield piece;
}

function foldedFrames(row: StackRow, { delimited, annotated }: FoldedOptions): string {
	const parts = row.key.kind === undefined ? [] : [`${row.key.kind}`];
	parts.push(foldedName(`${row.key.comm ?? ''}${row.key.tid ? `-${row.key.tid}` : ''}`));
	let kernel = false;
	for (const frame of row.frames) {
		if (delimited && frame.kind === 'kernel' && !kernel) parts.push('-');
		kernel ||= frame.kind === 'kernel';
		parts.push(foldedName(frame.name) + (annotated ? annotation(frame) : ''));
	}
	return parts.join(';');
}

/** flamegraph.pl's marks: _[k] kernel, _[j] JIT, _[i] inlined. */
export function annotation({ kind }: Frame): string {
	return kind === 'user' ? '' : `_[${FRAME_LETTERS[kind]}]`;
}

/** Semicolons part frames, so that none may be in a name. */
function foldedName(name: string): string {
	return printable(name).replaceAll(';', ':');
}
