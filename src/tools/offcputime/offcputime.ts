/** offcputime: where threads wait, and how long. */

import { parseStates, type StateMask } from '../../abi/states.js';
import { type StackFindings, type StackRow, splitStacks } from '../../aggregate/stack-rows.js';
import { waitFrames } from '../../aggregate/summary-frames.js';
import { mainKind, splitByKind, waitKind } from '../../aggregate/wait-kinds.js';
import { chooseOffcpu, type ResumedHook } from '../../bpf/offcpu.js';
import { StackSums } from '../../bpf/sums.js';
import { UsageError } from '../../errors.js';
import { offcputime as layout } from '../../generated/offcputime.js';
import { parseUsec } from '../../options/parsers.js';
import { filtersOf } from '../../options/stack-filter.js';
import {
	GROUPINGS,
	type StackView,
	shownStacks,
	stackOptions,
	stackSettings,
	stackText,
	stackView,
} from '../../options/stack-view.js';
import { flag, oneOf, parsed, parsedOr } from '../../options/typed-option.js';
import { unwindTables } from '../../symbolize/unwind-tables.js';
import { defineTool, type Plan } from '../../tool.js';
import { doctor } from './doctor.js';
import { renderKinds } from './kinds-table.js';
import { MAX_PERIOD_USEC, PARTS, type WaitSettings, Waits } from './waits.js';

type Layout = typeof layout;

const DEFAULT_PERIOD_USEC = 1000;

interface Settings extends WaitSettings, StackView {
	readonly min_usec: number;
	/** 0: no limit. */
	readonly max_usec: number;
	readonly states: StateMask;
	readonly split: boolean;
	readonly byKind: boolean;
}

/** Of bpf/offcputime.bpf.c. */
const RESUMED_PROGRAMS: Readonly<Record<ResumedHook, (typeof layout)['programs'][number]>> = {
	sched_exit_tp: 'offcputime_resumed',
	finish_task_switch: 'offcputime_finish',
	'finish_task_switch.isra.0': 'offcputime_finish_isra',
};

const options = () => ({
	period: parsedOr(
		'--period <usec>',
		'of waits shorter than USEC microseconds, record only some, and estimate the rest',
		parseUsec,
		DEFAULT_PERIOD_USEC,
	).conflicts('exact'),
	exact: flag('--exact', 'record every wait; costs more if threads wait often'),
	min: parsed('--min <usec>', 'only waits of USEC microseconds (or 5ms, 2s) or more', parseUsec),
	max: parsed('--max <usec>', 'only waits of USEC microseconds (or 5ms, 2s) or less', parseUsec),
	state: parsed(
		'--state <states>',
		'only waits in these states: letters as in ps, such as SD, or a mask',
		parseStates,
	),
	split: flag(
		'--split',
		'show blocked, run queue, preempted and throttled time as separate stacks',
	),
	edges: flag('--no-edges', 'leave out waits that began before tracing, or that end after tracing'),
	hideIdle: flag('--hide-idle', 'leave out threads that seem to have no work (a guess)'),
	by: oneOf(
		'--by <what>',
		'one entry for each thread name (comm), process, thread, or kind of wait',
		[...GROUPINGS, 'kind'] as const,
	).conflicts('tids'),
	...stackOptions(),
});

export const offcputime = defineTool<Layout, Settings, StackFindings, ReturnType<typeof options>>({
	name: 'offcputime',
	summary: 'where threads wait, and how long (off-CPU time by stack)',
	description:
		'Shows the stacks where threads were off the CPU, and for how long: blocked, on a run queue, ' +
		'preempted, or throttled (the CPU quota was used up).',
	examples: [
		['tstrace offcputime -p 1234 5', 'a process, for 5 seconds'],
		['tstrace offcputime -p 1234 5 > out.folded', 'folded stacks for a flame graph'],
		['tstrace offcputime --by kind 10', 'the machine: disks, locks, sockets, …'],
		['tstrace offcputime --state D 10', 'uninterruptible sleep: disks'],
		['tstrace offcputime --hide-idle 10', 'the machine, without idle threads'],
		['tstrace offcputime --split -p 1234 5', 'each kind of wait separately'],
		['tstrace offcputime --follow -- make', 'a command and its child processes'],
	],
	options,
	kind: 'stacks',
	stackTool: {
		use: 'to draw',
		title: 'Off-CPU Time Flame Graph',
		palette: 'io',
		pprofType: 'off-CPU',
		// As bcc's offcputime has it.
		folded: { unit: 'us', divisor: 1000 },
	},
	layout,
	doctor,
	otherNames: { '-m': '--min', '-M': '--max' },

	settings(values) {
		const byKind = values.by === 'kind';
		const grouped = { ...values, by: values.by === 'kind' ? undefined : values.by };
		const settings: Settings = {
			...stackSettings(grouped),
			...stackView(grouped),
			byKind,
			period_usec: values.exact ? 0 : values.period,
			min_usec: values.min ?? 0,
			max_usec: values.max ?? 0,
			states: values.state ?? { mask: 0, letters: false },
			split: values.split,
			edges: values.edges,
			hideIdle: values.hideIdle,
		};
		if (byKind && settings.split)
			throw new UsageError(
				'give either --split or --by kind: kinds of waits are separate entries anyway',
			);
		if (byKind && !settings.kernel)
			throw new UsageError(
				'give either --by kind or --user-stacks: kernel frames say what a thread waited for',
			);
		if (settings.hideIdle && !settings.edges)
			throw new UsageError(
				'give either --hide-idle or --no-edges: --hide-idle needs the waits that --no-edges ignores',
			);
		if (settings.max_usec > 0 && settings.min_usec > settings.max_usec)
			throw new UsageError(`--min ${settings.min_usec} is more than --max ${settings.max_usec}`);
		if (settings.period_usec > MAX_PERIOD_USEC)
			throw new UsageError('--period can be at most one second: 1000000, or 1s');
		return settings;
	},

	subject({ period_usec }) {
		return period_usec === 0
			? 'off-CPU time (every wait)'
			: `off-CPU time (waits below ${period_usec} us are sampled)`;
	},

	filters: (settings) => ({
		...filtersOf(settings),
		...(settings.hideIdle ? { hide_idle: true } : {}),
	}),

	plan(object, settings, subjects, note): Plan<Layout> {
		const way = chooseOffcpu();
		// Only a single thread can be called idle.
		const byThread = settings.byThread || settings.hideIdle;
		new StackSums(object).configure({ ...settings, byThread });
		object.setConstants({
			shortest_ns: settings.min_usec * 1000,
			longest_ns: settings.max_usec * 1000,
			state_mask: settings.states.mask,
			state_exclusive: settings.states.letters,
			threads_in_hash: way.threadsInHash,
			has_sched_info: way.hasSchedInfo,
			switch_has_state: way.switchHasState,
			walk_at_switch: way.resumed === undefined,
		});
		return {
			attach: [
				...(way.resumed ? [RESUMED_PROGRAMS[way.resumed]] : []),
				...way.others,
				'offcputime_switch',
			],
			runOnce: settings.edges ? ['seed_waiting'] : [],
			load: settings.edges ? ['end_waiting'] : [],
			withoutMaps: [way.threadsInHash ? 'off_cpus' : 'off_cpus_by_pid'],
			because: way.because,
			tables: unwindTables(object, settings, subjects, note),
		};
	},

	reader: (object, settings, subjects, _note, tables) =>
		new Waits(object, settings, subjects, tables),

	text(settings) {
		const text = stackText(settings, {
			verb: 'waited',
			label: (row) => (settings.kernel ? mainKind(row, { parts: PARTS }) : ''),
			telling: ({ frames }) => waitFrames(frames),
		});
		return {
			none: 'no waits were seen',
			...text,
			report: (findings, style) =>
				settings.byKind
					? Promise.resolve(renderKinds(findings, { ...settings, style }))
					: text.report(findings, style),
			shown(findings, json) {
				if (settings.byKind)
					return shownStacks({ ...findings, stacks: splitByKind(findings) }, settings, json);
				const stacks = settings.split && !json ? splitStacks(findings) : findings.stacks;
				const shown = shownStacks({ ...findings, stacks }, settings, json);
				return json && settings.kernel ? { ...shown, stacks: shown.stacks.map(withKind) } : shown;
			},
		};
	},
});

/** For programs: what the blocked part of a row was for. */
function withKind(row: StackRow): StackRow {
	if (row.parts[0] === 0) return row;
	return { ...row, details: { ...row.details, wait_kind: waitKind(row.frames) } };
}
