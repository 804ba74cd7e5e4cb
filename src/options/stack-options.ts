/** How stacks are recorded and shown: the options, what they say, and what of the stacks is shown then. */
import { cutNotices } from '../aggregate/cut-notices.js';
import { remembered } from '../aggregate/remembered.js';
import {
	type Grouping,
	groupStacks,
	type LeftOut,
	type StackFindings,
	type StackRow,
} from '../aggregate/stack-rows.js';
import { MAX_DEPTH, type StackSettings } from '../bpf/stacks/stacks.js';
import { renderStacks, type StackTextOptions } from '../render/stacks.js';
import type { Style } from '../render/terminal.js';
import type { NamingSettings } from '../symbolize/naming.js';
import { topOption, wholeNumber } from './parsers.js';
import { type StackFilter, stackFilterOptions } from './stack-filter.js';
import { flag, oneOf, oneOfOr, parsedOr, type TypedOption, type ValuesOf } from './typed-option.js';

/** What all stack tools have. */
export function stackOptions() {
	return {
		userStacks: flag('-U, --user-stacks', 'only user frames').conflicts('kernelStacks'),
		kernelStacks: flag('-K, --kernel-stacks', 'only kernel frames'),
		tids: flag('-L, --tids', 'show each thread of a process separately'),
		...stackFilterOptions(),
		delimited: flag('-d, --delimited', 'print a line -- between kernel and user frames'),
		annotated: flag('--annotated', 'mark kernel, JIT and inlined frames: _[k], _[j], _[i]'),
		top: topOption(10, 'largest stacks'),
		maxStacks: parsedOr(
			'--max-stacks <n>',
			'room for N different stacks',
			wholeNumber(1 << 22),
			32_768,
		),
		maxDepth: parsedOr(
			'--max-depth <n>',
			'record at most N frames of a stack',
			wholeNumber(MAX_DEPTH),
			MAX_DEPTH,
		),
		unwind: oneOfOr(
			'--unwind <how>',
			'walk user stacks by unwind tables, or by frame pointers (fp) alone',
			UNWIND_WAYS,
			'tables',
		),
		debuginfod: flag(
			'--no-debuginfod',
			'do not fetch symbols from the servers in DEBUGINFOD_URLS, or use their cache',
		),
	};
}

const UNWIND_WAYS: readonly StackSettings['unwind'][] = ['tables', 'fp'];

export const GROUPINGS: readonly Grouping[] = ['comm', 'process', 'thread'];

/** What one entry of a result is. */
export function groupingOption(): TypedOption<Grouping | undefined> {
	return oneOf(
		'--by <what>',
		'one entry for each thread name (comm), process or thread; -L is --by thread',
		GROUPINGS,
	).conflicts('tids');
}

/** What `stackOptions`, and `groupingOption` where there is one, say. */
export interface StackView extends StackFilter {
	readonly delimited: boolean;
	readonly annotated: boolean;
	readonly top: number;
	/** Undefined: what suits the format. */
	readonly by: Grouping | undefined;
}

type StackValues = ValuesOf<ReturnType<typeof stackOptions>>;
interface Grouped {
	readonly by?: Grouping | undefined;
}

/** How stacks are shown. */
export function stackView(
	values: Pick<StackValues, 'annotated' | 'delimited' | 'top' | 'tids' | 'grep' | 'exclude'> &
		Grouped,
): StackView {
	const { annotated, delimited, top, tids, by, grep, exclude } = values;
	return { annotated, delimited, top, by: tids ? 'thread' : by, grep, exclude };
}

/** How stacks are recorded and named. */
export function stackSettings(
	values: Pick<StackValues, 'maxStacks' | 'maxDepth' | 'tids' | 'unwind' | 'debuginfod'> &
		Partial<Pick<StackValues, 'userStacks' | 'kernelStacks'>> &
		Grouped,
): StackSettings & NamingSettings {
	const { maxStacks, maxDepth, tids, by, unwind, debuginfod } = values;
	return {
		maxStacks,
		maxDepth,
		kernel: values.userStacks !== true,
		user: values.kernelStacks !== true,
		byThread: tids || by === 'thread',
		unwind,
		debuginfod,
	};
}

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

/** The text of a tool whose entries are stacks, and how they leave as anything else. */
export function stackText(
	settings: StackView,
	words: Pick<StackTextOptions, 'verb' | 'label' | 'telling' | 'blockedFor'>,
) {
	return {
		report: async (findings: StackFindings, style: Style) =>
			renderStacks(findings, { ...settings, style, ...words }),
		shown: (findings: StackFindings, json: boolean) => shownStacks(findings, settings, json),
		stacks: { ...settings, process: settings.by === 'process' },
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
