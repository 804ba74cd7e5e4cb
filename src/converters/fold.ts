/** fold: stacks as folded text. */
import { Argument } from 'commander';
import { FrameTable } from '../aggregate/frame-table.js';
import { keepStacks } from '../aggregate/keep-stacks.js';
import { type FrameKind, LANGUAGE_KINDS } from '../aggregate/stack.js';
import { addStacks, type StackProfile } from '../aggregate/stack-profile.js';
import { StackTable } from '../aggregate/stack-table.js';
import { defineConverter } from '../converter.js';
import { TstraceError, UsageError } from '../errors.js';
import type { ReadOptions } from '../input/format-reader.js';
import { readProfiles } from '../input/read-files.js';
import { chosenEventName, eventOptions, inputsOf } from '../options/recordings.js';
import { stackFilterOptions } from '../options/stack-filter.js';
import { flag, type ValuesOf } from '../options/typed-option.js';
import { ALL_MARKS, renderFolded } from '../render/folded.js';

/** Options that say how perf script text is read, which other recordings have nothing to answer with. pprof has addresses too. */
const OF_PERF_ONLY = ['pid', 'tid', 'inline'] as const;
const PERF = 'perf';

const options = () => ({
	pid: flag('--pid', 'add the process number to the thread name (perf script -F +pid)'),
	tid: flag('--tid', 'add the process and the thread number to the thread name'),
	kernel: flag('--kernel', 'mark kernel frames with _[k]'),
	jit: flag('--jit', 'mark frames of JavaScript, Python and perf maps with _[j]'),
	all: flag('--all', 'the same as --kernel --jit'),
	inline: flag('--inline', 'ask addr2line which functions were inlined'),
	addrs: flag('--addrs', 'show the address of frames without a name'),
	...eventOptions(),
	...stackFilterOptions(),
});

export const fold = defineConverter({
	name: 'fold',
	summary: 'convert perf script text or JSON to folded stacks',
	description:
		'Writes folded stacks: one line for each stack, as stackcollapse-perf.pl does. Reads perf script text, ' +
		'folded stacks, results of tstrace --json, pprof or speedscope, from FILEs or standard input.',
	usage: '[options] [FILE…]',
	examples: [
		['perf script | tstrace fold > cpu.folded', ''],
		['tstrace fold --all -e cycles perf.txt', ''],
	],
	arguments: () => [new Argument('[files...]', 'recordings; none, or -: standard input')],
	options,

	async convert(files, values, here) {
		const paths = inputsOf(files);
		const profiles = await readProfiles(paths, reading(values), here.notify);
		const unanswered = OF_PERF_ONLY.filter((name) => values[name]);
		if (unanswered.length > 0 && profiles.every(({ origin }) => origin.tool !== PERF)) {
			here.notify(
				`--${unanswered.join(', --')} ${unanswered.length > 1 ? 'have' : 'has'} no effect: only perf script text has this information`,
			);
		}
		const profile = keepStacks(rooted(profiles, here.notify), values);
		if (profile.stacks.size === 0) {
			throw new TstraceError('nothing to write: no stack matches the options');
		}
		return renderFolded(profile, { divisor: 1, marks: marksOf(values, profile), sorted: true });
	},
});

type FoldValues = ValuesOf<ReturnType<typeof options>>;

/** Throws UsageError for options that contradict each other. */
function reading(values: FoldValues): ReadOptions {
	const { pid, tid, addrs, inline } = values;
	if (pid && tid) throw new UsageError('give either --pid or --tid; --tid writes both numbers');
	return {
		identify: tid ? 'tid' : pid ? 'pid' : 'none',
		addresses: addrs,
		inline,
		arrowMarks: true,
		event: chosenEventName(values),
	};
}

/** perf's own inlined frames bear no mark, as in stackcollapse-perf.pl. Marks that were there stay. */
function marksOf(
	{ all, kernel, jit }: Pick<FoldValues, 'all' | 'kernel' | 'jit'>,
	{ origin, marked }: StackProfile,
): ReadonlySet<FrameKind> {
	if (marked || (all && origin.tool !== PERF)) return ALL_MARKS;
	const marks = new Set<FrameKind>();
	if (kernel || all) marks.add('kernel');
	if (jit || all) for (const kind of LANGUAGE_KINDS) marks.add(kind);
	return marks;
}

/** As one; where there are several events, each stack's root is its event, as they cannot be added up. */
function rooted(profiles: readonly StackProfile[], notify: (notice: string) => void): StackProfile {
	const [first, ...others] = profiles;
	if (!first) {
		throw new TstraceError('the input is empty: it has no stacks; was anything recorded?');
	}
	if (others.length === 0) return first;
	const names = profiles.map(({ origin }) => origin.event ?? 'no name');
	notify(
		`the input has ${profiles.length} events; each stack begins with the name of its event: ` +
			`${names.join(', ')}; --event NAME writes only one`,
	);
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (const [index, profile] of profiles.entries()) {
		const root = [frames.intern(names[index] as string)];
		addStacks(stacks, profile, ({ name, kind }) => frames.intern(name, kind), { root });
	}
	return { ...first, frames, stacks, marked: profiles.some(({ marked }) => marked) };
}
