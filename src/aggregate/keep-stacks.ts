/**
 * Which stacks patterns keep, and what of the result is shown then. The rule is one for all: a stack matches where a
 * name in its folded line does, which has whose it is, its functions, and those of its waker.
 */

import type { RuntimeFrames } from '../runtimes/runtime.js';
import { cutNotices } from './cut-notices.js';
import { languageFrames } from './language-view.js';
import { remembered } from './remembered.js';
import type { Frame } from './stack.js';
import { lineOf, type StackProfile } from './stack-profile.js';
import {
	type Grouping,
	groupStacks,
	type LeftOut,
	type StackFindings,
	type StackRow,
} from './stack-rows.js';
import { StackTable } from './stack-table.js';

/** What `--grep` and `--exclude` say. */
export interface StackFilter {
	readonly grep: RegExp | undefined;
	readonly exclude: RegExp | undefined;
}

/** How stacks are put together and shown, as far as it says which there are. */
interface Shown extends StackFilter {
	/** Undefined: what suits the format. */
	readonly by: Grouping | undefined;
	readonly delimited: boolean;
	/** Undefined: both. */
	readonly runtimeFrames?: RuntimeFrames;
}

/** Whether a pattern keeps a line: `wanted`: one in which a name matches, else one without. */
function keeps<Each>(
	pattern: RegExp,
	wanted: boolean,
	nameOf: (each: Each) => string,
): (line: ReadonlyArray<Each>) => boolean {
	const matches = remembered((each: Each) => pattern.test(nameOf(each)));
	return (line) => line.some(matches) === wanted;
}

/** The stacks with a name that matches `grep`, and without one that matches `exclude`. */
export function keepStacks(profile: StackProfile, { grep, exclude }: StackFilter): StackProfile {
	if (!grep && !exclude) return profile;
	const { frames, stacks } = profile;
	const nameOf = (frame: number) => frames.name(frame);
	const rules = [
		...(grep ? [keeps(grep, true, nameOf)] : []),
		...(exclude ? [keeps(exclude, false, nameOf)] : []),
	];
	const kept = new StackTable();
	for (const [stack, value] of stacks.values().entries()) {
		const path = [...stacks.frames(stack)];
		if (rules.every((keep) => keep(path))) kept.add(path, path.length, value);
	}
	return { ...profile, stacks: kept };
}

/** The same of rows, and what that leaves out. */
function keepRows(
	rows: readonly StackRow[],
	{ grep, exclude, by, delimited }: Shown,
): { kept: readonly StackRow[]; leftOut: LeftOut[] } {
	const leftOut: LeftOut[] = [];
	const how = { delimited, process: by === 'process' };
	const take = (rows: readonly StackRow[], by: 'grep' | 'exclude', pattern: RegExp | undefined) => {
		if (!pattern) return rows;
		const keep = keeps(pattern, by === 'grep', ({ name }: Frame) => name);
		const kept: StackRow[] = [];
		const rest: StackRow[] = [];
		for (const row of rows) (keep(lineOf(row, how)) ? kept : rest).push(row);
		leftOut.push({ by, rows: rest });
		return kept;
	};
	return { kept: take(take(rows, 'grep', grep), 'exclude', exclude), leftOut };
}

/**
 * Puts together what is alike, by name, unless it was asked for otherwise; in JSON by process, as programs that read
 * it can add up, but not take apart. Then leaves out what the patterns say.
 */
export function shownStacks(findings: StackFindings, view: Shown, json: boolean): StackFindings {
	const rows =
		view.runtimeFrames === 'language' ? findings.stacks.map(languageFrames) : findings.stacks;
	const grouped = groupStacks(rows, view.by ?? (json ? 'process' : 'comm'));
	const { kept, leftOut } = keepRows(grouped, view);
	return {
		...findings,
		stacks: kept,
		leftOut: [...(findings.leftOut ?? []), ...leftOut],
		notices: [...findings.notices, ...cutNotices(kept)],
	};
}
