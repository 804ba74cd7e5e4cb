/** Stacks of any source, before they are drawn or written in a format. Pure values: no I/O. */

import type { FrameTable } from './frame-table.js';
import type { Frame } from './stack.js';
import type { StackTable } from './stack-table.js';
import type { StackTool } from './stack-tool.js';

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
