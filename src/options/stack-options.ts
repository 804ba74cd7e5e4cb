/** How stacks are recorded and shown: the options, and what they say. */
import type { Grouping } from '../aggregate/stack-rows.js';
import { MAX_DEPTH, type StackSettings } from '../bpf/stacks/stacks.js';
import { UsageError } from '../errors.js';
import type { StackView } from '../render/stack-text.js';
import type { RuntimeFrames } from '../runtimes/runtime.js';
import type { NamingSettings } from '../symbolize/naming.js';
import { topOption, wholeNumber } from './parsers.js';
import { stackFilterOptions } from './stack-filter.js';
import { flag, oneOf, oneOfOr, parsedOr, type TypedOption, type ValuesOf } from './typed-option.js';

/** What all stack tools have. */
export function stackOptions() {
	return {
		userStacks: flag('-U, --user-stacks', 'only user frames').conflicts('kernelStacks'),
		kernelStacks: flag('-K, --kernel-stacks', 'only kernel frames'),
		tids: flag('-L, --tids', 'show each thread of a process separately'),
		...stackFilterOptions(),
		delimited: flag('-d, --delimited', 'print a line -- between kernel and user frames'),
		annotated: flag(
			'--annotated',
			'mark frames: _[k] kernel, _[j] JavaScript, Python, JIT, _[i] inlined',
		),
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
		runtimeFrames: oneOfOr(
			'--runtime-frames <which>',
			'of stacks with JavaScript or Python: native frames, functions of it (language), or both',
			RUNTIME_FRAMES,
			'both',
		),
		lines: linesOption(),
		debuginfod: flag(
			'--no-debuginfod',
			'do not fetch symbols from the servers in DEBUGINFOD_URLS, or use their cache',
		),
	};
}

/** Of tools that show user stacks. */
export const linesOption = (when = ''): TypedOption<boolean> =>
	flag('--lines', `${when}of Python functions, show the line that was executing, not their first`);

export const UNWIND_WAYS: readonly StackSettings['unwind'][] = ['tables', 'fp'];

const RUNTIME_FRAMES: readonly RuntimeFrames[] = ['native', 'language', 'both'];

export const GROUPINGS: readonly Grouping[] = ['comm', 'process', 'thread'];

/** What one entry of a result is. */
export function groupingOption(): TypedOption<Grouping | undefined> {
	return oneOf(
		'--by <what>',
		'one entry for each thread name (comm), process or thread; -L is --by thread',
		GROUPINGS,
	).conflicts('tids');
}

type StackValues = ValuesOf<ReturnType<typeof stackOptions>>;
interface Grouped {
	readonly by?: Grouping | undefined;
}

/** How stacks are shown. */
export function stackView(
	values: Pick<
		StackValues,
		'annotated' | 'delimited' | 'top' | 'tids' | 'grep' | 'exclude' | 'runtimeFrames'
	> &
		Grouped,
): StackView {
	const { annotated, delimited, top, tids, by, grep, exclude, runtimeFrames } = values;
	return { annotated, delimited, top, by: tids ? 'thread' : by, grep, exclude, runtimeFrames };
}

/** Throws UsageError where no functions are read that could have lines. */
export function refuseLines({
	lines,
	unwind,
	runtimeFrames,
}: Partial<Pick<StackValues, 'lines' | 'unwind' | 'runtimeFrames'>>): void {
	if (!lines) return;
	const without =
		unwind === 'fp' ? '--unwind fp' : runtimeFrames === 'native' && '--runtime-frames native';
	if (without)
		throw new UsageError(
			`--lines is about functions of Python, and with ${without} tstrace reads none; leave out one of them`,
		);
}

/** How stacks are recorded and named. */
export function stackSettings(
	values: Pick<
		StackValues,
		'maxStacks' | 'maxDepth' | 'tids' | 'unwind' | 'runtimeFrames' | 'lines' | 'debuginfod'
	> &
		Partial<Pick<StackValues, 'userStacks' | 'kernelStacks'>> &
		Grouped,
): StackSettings & NamingSettings {
	const { maxStacks, maxDepth, tids, by, unwind, runtimeFrames, lines, debuginfod } = values;
	refuseLines(values);
	return {
		maxStacks,
		maxDepth,
		kernel: values.userStacks !== true,
		user: values.kernelStacks !== true,
		byThread: tids || by === 'thread',
		unwind,
		runtimeFrames,
		executingLines: lines,
		debuginfod,
	};
}
