/** Folded stacks: "root;…;leaf value", the format of stackcollapse and flamegraph.pl. */
import type { StackProfile } from '../aggregate/stack-profile.js';
import type { Frame, FrameKind } from '../symbolize/stack.js';
import { printable } from './terminal.js';

export interface FoldedOptions {
	/** What values are divided by: 1000 for microseconds. */
	readonly divisor: number;
	/** Kinds of frames to mark, as stackcollapse-perf.pl --all does. */
	readonly marks: ReadonlySet<FrameKind>;
	/** Sorted, as stackcollapse-perf.pl does it; else in the order the stacks were met. */
	readonly sorted: boolean;
}

export const FRAME_LETTERS: Readonly<Record<FrameKind, string>> = {
	user: 'u',
	kernel: 'k',
	jit: 'j',
	inlined: 'i',
};

export const ALL_MARKS: ReadonlySet<FrameKind> = new Set<FrameKind>(['kernel', 'jit', 'inlined']);
export const NO_MARKS: ReadonlySet<FrameKind> = new Set();

/** Characters handed over at a time: all stacks of a large machine are more than a string holds. */
const PIECE_LENGTH = 1 << 16;

/** One line for each stack, in pieces of many lines. Stacks of which nothing was counted are left out. */
export function* renderFolded(
	{ frames, stacks }: StackProfile,
	{ divisor, marks, sorted }: FoldedOptions,
): Generator<string> {
	const names: string[] = [];
	const nameOf = (frame: number): string => {
		names[frame] ??= foldedName(frames.frame(frame), marks);
		return names[frame];
	};
	const values = stacks.values();
	const lines = function* (): Generator<string> {
		for (const [stack, value] of values.entries()) {
			const names = Array.from(stacks.frames(stack), nameOf);
			if (value !== 0) yield `${names.join(';')} ${countText(value, divisor)}\n`;
		}
	};
	let piece = '';
	for (const line of sorted ? [...lines()].sort() : lines()) {
		piece += line;
		if (piece.length < PIECE_LENGTH) continue;
		yield piece;
		piece = '';
	}
	yield piece;
}

/** What was divided is rounded. Less than one would be none: a stack that is there counts. */
function countText(value: number, divisor: number): string {
	return `${divisor === 1 ? value : Math.max(1, Math.round(value / divisor))}`;
}

/** flamegraph.pl's marks: _[k] kernel, _[j] JIT, _[i] inlined. */
export function annotation({ kind }: Pick<Frame, 'kind'>): string {
	return kind === 'user' ? '' : `_[${FRAME_LETTERS[kind]}]`;
}

/** Semicolons part frames, so that none may be in a name. */
export function foldedName(frame: Frame, marks: ReadonlySet<FrameKind>): string {
	const name = printable(frame.name).replaceAll(';', ':');
	return marks.has(frame.kind) ? name + annotation(frame) : name;
}
