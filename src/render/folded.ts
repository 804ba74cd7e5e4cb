/** Folded stacks: "root;…;leaf value", the format of stackcollapse and flamegraph.pl. */

import { type Frame, type FrameKind, isOfLanguage, LANGUAGE_KINDS } from '../aggregate/stack.js';
import type { StackProfile } from '../aggregate/stack-profile.js';
import { inPieces } from './pieces.js';
import { printable } from './terminal.js';

interface FoldedOptions {
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
	javascript: 's',
	python: 'p',
};

export const ALL_MARKS: ReadonlySet<FrameKind> = new Set<FrameKind>([
	'kernel',
	'inlined',
	...LANGUAGE_KINDS,
]);
export const NO_MARKS: ReadonlySet<FrameKind> = new Set();

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
	const counted = function* (): Generator<[stack: string, value: number]> {
		for (const [stack, value] of values.entries()) {
			if (value !== 0) yield [Array.from(stacks.frames(stack), nameOf).join(';'), value];
		}
	};
	const lines = function* (): Generator<string> {
		for (const [stack, value] of sorted ? inOrder(counted()) : counted())
			yield `${stack} ${countText(value, divisor)}\n`;
	};
	yield* inPieces(lines());
}

/** By their text; those that read the same, as their frames differ in kind only, are added up. */
function inOrder(counted: Iterable<[stack: string, value: number]>): [string, number][] {
	const sums = new Map<string, number>();
	for (const [stack, value] of counted) sums.set(stack, (sums.get(stack) ?? 0) + value);
	return [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** What was divided is rounded. Less than one would be none: a stack that is there counts. */
function countText(value: number, divisor: number): string {
	return divisor === 1 ? decimalText(value) : `${Math.max(1, Math.round(value / divisor))}`;
}

/** Without an exponent, which flamegraph.pl does not read. */
function decimalText(value: number): string {
	const [, one, rest = '', zeros] = /^(\d)\.?(\d*)e-(\d+)$/.exec(`${value}`) ?? [];
	return zeros === undefined ? `${value}` : `0.${'0'.repeat(Number(zeros) - 1)}${one}${rest}`;
}

/** flamegraph.pl's marks: _[k] kernel, _[j] a runtime's language, whichever it is, _[i] inlined. */
export function annotation(frame: Pick<Frame, 'kind'>): string {
	const kind = isOfLanguage(frame) ? 'jit' : frame.kind;
	return kind === 'user' ? '' : `_[${FRAME_LETTERS[kind]}]`;
}

/** Semicolons part frames, so that none may be in a name. */
export function foldedName(frame: Frame, marks: ReadonlySet<FrameKind>): string {
	const name = printable(frame.name).replaceAll(';', ':');
	const mark = marks.has(frame.kind) ? annotation(frame) : '';
	// Maps of some JITs have names with their marks already.
	return name.endsWith(mark) ? name : name + mark;
}
