/** fold: stacks as folded text. */
import { Argument, Option } from 'commander';
import { FrameTable } from '../aggregate/frame-table.js';
import { addStacks, type StackProfile } from '../aggregate/stack-profile.js';
import { StackTable } from '../aggregate/stack-table.js';
import { readProfiles } from '../input/read.js';
import type { ReadOptions } from '../input/reader.js';
import { type Converter, chosenEventName, eventOptions, inputsOf } from '../kit/converter.js';
import { UsageError } from '../kit/errors.js';
import { keepStacks, stackFilter, stackFilterOptions } from '../kit/stack-filter.js';
import type { OptionValues } from '../kit/tool.js';
import { TstraceError } from '../loader/errors.js';
import { ALL_MARKS, renderFolded } from '../render/folded.js';
import type { FrameKind } from '../symbolize/stack.js';

/** Options that say how perf script text is read, which other recordings have nothing to answer with. pprof has addresses too. */
const OF_PERF_ONLY = ['pid', 'tid', 'inline'] as const;
const PERF = 'perf';

export const fold: Converter = {
	name: 'fold',
	summary: 'stacks as folded text: perf script, folded or JSON, a line each',
	description:
		'Reads perf script text, folded stacks, results of tstrace --json, pprof or speedscope, from ' +
		'FILEs or standard input, and writes folded stacks: what stackcollapse-perf.pl does, for all of them.',
	usage: '[options] [FILE…]',
	examples: [
		['perf script | tstrace fold > cpu.folded', ''],
		['tstrace fold --all -e cycles perf.txt', ''],
	],
	arguments: () => [
		new Argument('[files...]', 'recordings; without one or with -, standard input'),
	],
	options: () => [
		new Option('--pid', "add the process's number to its name (perf script -F +pid)"),
		new Option('--tid', "add the process's and the thread's number to its name"),
		new Option('--kernel', 'mark frames of the kernel with _[k]'),
		new Option('--jit', 'mark frames that were compiled at run time with _[j]'),
		new Option('--all', 'mark frames by their kind: --kernel --jit'),
		new Option('--inline', 'ask addr2line which functions were inlined'),
		new Option('--addrs', 'frames without a name get their address'),
		...eventOptions(),
		...stackFilterOptions(),
	],

	async convert(files, values, here) {
		const paths = inputsOf(files);
		const profiles = await readProfiles(paths, reading(values), here.notify);
		const unanswered = OF_PERF_ONLY.filter((name) => values[name] === true);
		if (unanswered.length > 0 && profiles.every(({ origin }) => origin.tool !== PERF)) {
			here.notify(`without effect: --${unanswered.join(', --')}; only perf script text tells`);
		}
		const profile = keepStacks(rooted(profiles, here.notify), stackFilter(values));
		if (profile.stacks.size === 0) {
			throw new TstraceError('nothing is left to write: no stack was chosen');
		}
		return renderFolded(profile, { divisor: 1, marks: marksOf(values, profile), sorted: true });
	},
};

/** Throws UsageError for options that contradict each other. */
function reading(values: OptionValues): ReadOptions {
	if (values.pid === true && values.tid === true) {
		throw new UsageError('give one of --pid and --tid; --tid writes both numbers');
	}
	return {
		identify: values.tid === true ? 'tid' : values.pid === true ? 'pid' : 'none',
		addresses: values.addrs === true,
		inline: values.inline === true,
		arrowMarks: true,
		event: chosenEventName(values),
	};
}

/** perf's own inlined frames bear no mark, as in stackcollapse-perf.pl. Marks that were there stay. */
function marksOf(values: OptionValues, { origin, marked }: StackProfile): ReadonlySet<FrameKind> {
	if (marked || (values.all === true && origin.tool !== PERF)) return ALL_MARKS;
	const marks = new Set<FrameKind>();
	if (values.kernel === true || values.all === true) marks.add('kernel');
	if (values.jit === true || values.all === true) marks.add('jit');
	return marks;
}

/** As one; where there are several events, each stack's root is its event, as they cannot be added up. */
function rooted(profiles: readonly StackProfile[], notify: (notice: string) => void): StackProfile {
	const [first, ...others] = profiles;
	if (!first) {
		throw new TstraceError('there are no stacks: the input is empty; was anything recorded?');
	}
	if (others.length === 0) return first;
	const names = profiles.map(({ origin }) => origin.event ?? 'no name');
	notify(
		`there are ${profiles.length} events, and each stack begins with its own: ${names.join(', ')}; ` +
			'--event NAME writes one alone',
	);
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (const [index, profile] of profiles.entries()) {
		const root = [frames.intern(names[index] as string)];
		addStacks(stacks, profile, ({ name, kind }) => frames.intern(name, kind), { root });
	}
	return { ...first, frames, stacks, marked: profiles.some(({ marked }) => marked) };
}
