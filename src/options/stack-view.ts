/** What of the stacks that were found is shown, and as which entries. */
import { cutNotices } from '../aggregate/cut-notices.js';
import { remembered } from '../aggregate/remembered.js';
import {
	groupStacks,
	type LeftOut,
	type StackFindings,
	type StackRow,
} from '../aggregate/stack-rows.js';
import type { StackView } from './parsers.js';
import type { StackFilter } from './stack-filter.js';

/**
 * Leaves out what the patterns say, and puts together what is alike: by name, unless it was asked for
 * otherwise; in JSON by process, as programs that read it can add up, but not take apart.
 */
export function shownStacks(
	findings: StackFindings,
	view: Pick<StackView, 'by' | 'grep' | 'exclude'>,
	json: boolean,
): StackFindings {
	const { kept, leftOut } = selected(findings.stacks, view);
	const stacks = groupStacks(kept, view.by ?? (json ? 'process' : 'comm'));
	return {
		...findings,
		stacks,
		leftOut: [...(findings.leftOut ?? []), ...leftOut],
		notices: [...findings.notices, ...cutNotices(stacks)],
	};
}

/** By what is in a frame's name. */
function selected(
	rows: readonly StackRow[],
	{ grep, exclude }: StackFilter,
): { kept: readonly StackRow[]; leftOut: LeftOut[] } {
	const leftOut: LeftOut[] = [];
	const take = (rows: readonly StackRow[], by: 'grep' | 'exclude', pattern: RegExp | undefined) => {
		if (!pattern) return rows;
		const wanted = by === 'grep';
		const matches = remembered((name: string) => pattern.test(name));
		const kept: StackRow[] = [];
		const rest: StackRow[] = [];
		for (const row of rows) {
			(row.frames.some(({ name }) => matches(name)) === wanted ? kept : rest).push(row);
		}
		leftOut.push({ by, rows: rest });
		return kept;
	};
	return { kept: take(take(rows, 'grep', grep), 'exclude', exclude), leftOut };
}
