/** Stacks of any source, before they are drawn or written in a format. Pure values: no I/O. */

import { FrameTable } from './frame-table.js';
import { remembered } from './remembered.js';
import { apartOf, type Key } from './row-key.js';
import type { Frame } from './stack.js';
import { pathsBy } from './stack-paths.js';
import {
	CALLER_FRAME,
	CUT_FRAME,
	type StackRow,
	userLeafOf,
	WAKER_FRAME,
	type Waker,
} from './stack-rows.js';
import { StackTable } from './stack-table.js';
import type { StackTool } from './stack-tool.js';

/** Whose stacks are: so many names at most are kept. */
const MOST_ADDED = 1 << 14;

/** What is known of a recording; tstrace's own results say all of it, folded stacks nothing. */
export interface Origin {
	/** Whose result it is: the name of a tool of ours, or "perf". */
	readonly tool?: string;
	/** What one row of values is: perf's event, "off-CPU time". */
	readonly event?: string;
	/** Of values: 'ns', 'samples', 'bytes', …; undefined: nobody knows. */
	readonly unit?: string;
	readonly start?: string;
	readonly duration_s?: number;
	readonly host?: string;
	readonly kernel?: string;
	/** As it was typed. */
	readonly command?: readonly string[];
	readonly filters?: Readonly<Record<string, unknown>>;
	readonly period_ns?: number;
	readonly frequency_hz?: number;
	/** Events from one sample to the next, where that is fixed and not the frequency. */
	readonly period?: number;
}

/** Stacks with what was counted there, all in one unit. */
export interface StackProfile {
	readonly frames: FrameTable;
	readonly stacks: StackTable;
	readonly origin: Origin;
	/** What is known of the tool that the origin names, where that is one of ours. */
	readonly tool?: StackTool | undefined;
	/** Its folded stacks show kinds of frames by marks such as _[k], as they did where it came from. */
	readonly marked: boolean;
	/** How many samples were added up; undefined: nobody knows. */
	readonly samples?: number;
	/** Its file says that it is the one to show, of several. */
	readonly preferred?: boolean;
}

/** What a stack in a profile is made of. */
type Line = Pick<StackRow, 'key' | 'frames' | 'cut' | 'callerMissing' | 'waker'>;

/** `delimited`: with a frame "-" between the user's and the kernel's; `process`: see `ownersOf`. */
interface LineOptions {
	readonly delimited?: boolean;
	readonly process?: boolean;
}

/** The rows as stacks whose root is whose they are. */
export function profileOf(
	rows: Iterable<Line & Pick<StackRow, 'value'>>,
	origin: Origin,
	options: LineOptions = {},
): StackProfile {
	const frames = new FrameTable();
	const stacks = new StackTable();
	const pathOf = pathsBy(remembered(({ name, kind }: Frame) => frames.intern(name, kind)));
	for (const row of rows) {
		const path = pathOf(lineOf(row, options));
		stacks.add(path, path.length, row.value);
	}
	return { frames, stacks, origin, marked: false };
}

/** All frames that stand for a row in a profile, and so in a line of folded stacks. */
export function lineOf(
	row: Line,
	{ delimited = false, process = false }: LineOptions = {},
): Frame[] {
	const line = ownersOf(row.key, process).map(added);
	if (row.cut) line.push(added(CUT_FRAME));
	addFrames(line, row, delimited);
	for (const frame of row.waker ? wakerPath(row.waker) : []) line.push(frame);
	return line;
}

/** One that no walk has found. Each name's is the same one, so that it is looked up once. */
const added = remembered((name: string): Frame => ({ name, kind: 'user' }), MOST_ADDED);

function addFrames(
	line: Frame[],
	row: Pick<StackRow, 'frames' | 'callerMissing'>,
	delimited: boolean,
): void {
	const leaf = row.callerMissing ? userLeafOf(row.frames) : -1;
	let inKernel = false;
	for (const [at, frame] of row.frames.entries()) {
		const isKernel = frame.kind === 'kernel';
		if (delimited && isKernel && !inKernel) line.push(added('-'));
		inKernel ||= isKernel;
		if (at === leaf) line.push(added(CALLER_FRAME));
		line.push(frame);
	}
}

/**
 * Who woke the one that waited, behind a frame "--": the waker's stack from its leaf on, which did it, and its name at
 * last. As bcc has it. Behind that what it did meanwhile: it was blocked there, and by its name comes who ended that.
 */
function wakerPath({ key, did, frames, cut, callerMissing, waker }: Waker): Frame[] {
	const leaf = callerMissing ? userLeafOf(frames) : -1;
	const owner = `${key.comm ?? ''}${key.tid ? `-${key.tid}` : ''}`;
	return [
		added(WAKER_FRAME),
		...frames
			.flatMap((frame, i) => (i === leaf ? [added(CALLER_FRAME), frame] : [frame]))
			.toReversed(),
		...(cut ? [added(CUT_FRAME)] : []),
		added(owner),
		...(did && did !== 'was blocked' ? [added(`[${did}]`)] : []),
		...(waker ? wakerPath(waker) : []),
	];
}

/**
 * What stacks are apart by; the thread's name, with its number if threads are apart. `process`: with the number of
 * the process, where threads are together.
 */
function ownersOf(key: Key, process: boolean): string[] {
	const { comm, pid, tid } = key;
	const number = tid ? `-${tid}` : process && pid !== undefined ? `-${pid}` : '';
	return [...apartOf(key), `${comm ?? ''}${number}`];
}

/** The sum of what was counted at all stacks. */
export function profileTotal({ stacks }: StackProfile): number {
	return stacks.values().reduce((sum, value) => sum + value, 0);
}

/**
 * Adds all stacks of a profile to a table, in a column of it. `intern` gives a frame its number there;
 * `root` is put below each stack.
 */
export function addStacks(
	to: StackTable,
	{ frames, stacks }: StackProfile,
	intern: (frame: Frame) => number,
	{ root = [], column = 0 }: { root?: readonly number[]; column?: number } = {},
): void {
	const numbers = Array.from({ length: frames.size }, (_, frame) => intern(frames.frame(frame)));
	for (const [stack, value] of stacks.values().entries()) {
		const path = [...root];
		for (const frame of stacks.frames(stack)) path.push(numbers[frame] as number);
		to.add(path, path.length, value, column);
	}
}
