/** timehist: every context switch, one by one. */
import { isatty } from 'node:tty';
import type { RowFindings } from '../../aggregate/report.js';
import { EventBatches } from '../../bpf/events.js';
import { chooseInterrupts } from '../../bpf/scheduling/interrupts.js';
import { chooseOffcpu } from '../../bpf/scheduling/off-cpu.js';
import { UsageError } from '../../errors.js';
import { timehist as layout } from '../../generated/timehist.js';
import { requireRingBuffer } from '../../loader/realtime.js';
import { wholeNumber } from '../../options/parsers.js';
import { flag, parsed, parsedOr, type ValuesOf } from '../../options/typed-option.js';
import { onlineCpus } from '../../perf/cpus.js';
import { defineTool, type Plan } from '../../tool.js';
import { TimehistFormatter, type TimehistView, timehistHeader } from './lines.js';
import { renderThreadTotals } from './totals-table.js';

type Layout = typeof layout;
type Program = Layout['programs'][number];

/** 72 bytes for a switch, with its header: room for 233,000, which is 2 s at 100,000 a second. */
const RING_KB = 16 << 10;
const MAX_RING_KB = 1 << 20;
const MAX_STACK = 16;
const SHOWN_STACK = 5;
/** As perf's; and on a terminal narrower than its lines are with that. */
const NAME_WIDTH = 30;
const MIN_NAME_WIDTH = 16;
const WIDTH_BESIDE_NAME = 64;
/** What only lines have. */
const OF_LINES = ['wakeups', 'migrations', 'next', 'callGraph', 'cpuVisual', 'wallClock'] as const;
/** What there is no place for in JSON. */
const ONLY_TEXT = ['summary', 'summaryOnly', 'cpuVisual', 'wallClock'] as const;

interface Settings extends TimehistView {
	readonly ring_kb: number;
	readonly wakeups: boolean;
	readonly migrations: boolean;
}

const options = () => ({
	wakeups: flag('-w, --wakeups', 'also print wake-ups: woken thread, and what woke it'),
	migrations: flag('-M, --migrations', 'also print migrations: moved thread, and what moved it'),
	next: flag('-n, --next', 'show which thread gets the CPU next'),
	callGraph: flag('-g, --call-graph', 'show the kernel functions where the thread left the CPU'),
	maxDepth: parsed(
		'--max-depth <n>',
		`with -g: show at most N functions (default: ${SHOWN_STACK})`,
		wholeNumber(MAX_STACK),
	),
	summary: flag('--summary', 'also print a table of threads at the end').conflicts('summaryOnly'),
	summaryOnly: flag('-S, --summary-only', 'print only the table of threads'),
	cpuVisual: flag('--cpu-visual', 'print a column for each CPU: s is a switch, m a migration'),
	wallClock: flag('--wall-clock', 'show the time of day instead of seconds since boot'),
	ringKb: parsedOr(
		'--ring-kb <kb>',
		'buffer KB kilobytes of events in the kernel, rounded up to a power of two',
		wholeNumber(MAX_RING_KB),
		RING_KB,
	),
});

export const timehist = defineTool<Layout, Settings, RowFindings, ReturnType<typeof options>>({
	name: 'timehist',
	summary: 'every context switch: wait time, latency, run time',
	description:
		'Prints a line each time a thread leaves the CPU: how long it had been off the CPU before (wait ' +
		'time), how much of that it was on a run queue (latency), and how long it ran.',
	examples: [
		['tstrace timehist -p 1234 5', 'a process, for 5 seconds'],
		['tstrace timehist -w -n -t 1234', 'a thread: its wakers, and what runs next'],
		['tstrace timehist -g -p 1234', 'with the kernel functions where it waits'],
		['tstrace timehist -S 10', 'only a table of threads, at the end'],
		['tstrace timehist -o out.txt -- make', 'a command, into a file'],
	],
	options,
	kind: 'events',
	layout,
	otherNames: { '-s': '--summary-only', '--max-stack': '--max-depth' },

	settings(values, { format, output }) {
		for (const name of OF_LINES) {
			if (values.summaryOnly && values[name])
				throw new UsageError(`--summary-only shows no lines; leave out --${dashed(name)}`);
		}
		if (values.maxDepth !== undefined && !values.callGraph)
			throw new UsageError('--max-depth limits the functions that -g shows: add -g');
		for (const name of ONLY_TEXT) {
			if (format !== 'json' || !values[name]) continue;
			const instead = name.startsWith('summary') ? '; schedlat writes such a table as JSON' : '';
			throw new UsageError(`--${dashed(name)} is for text, not JSON${instead}`);
		}
		return settingsOf(values, output);
	},

	subject: () => 'context switches',

	plan(object, settings): Plan<Layout> {
		requireRingBuffer('timehist', 'schedlat or offcputime');
		const way = chooseOffcpu();
		object.setConstants({
			threads_in_hash: way.threadsInHash,
			has_sched_info: way.hasSchedInfo,
			switch_has_state: way.switchHasState,
			with_other: hasOther(settings),
			with_stack: settings.stacks,
		});
		object
			.map('events')
			.setMaxEntries(2 ** Math.ceil(Math.log2(Math.max(4, settings.ring_kb))) * 1024);
		const wakeups: Program[] = ['timehist_waking', 'timehist_wakeup_new'];
		const doers = settings.wakeups || settings.migrations ? chooseInterrupts() : undefined;
		if (doers) {
			const { preempt_count_from_rq, in_hardirq } = doers;
			object.setConstants({ preempt_count_from_rq, in_hardirq });
		}
		return {
			attach: [
				...(way.others as readonly Program[]),
				...(doers?.programs ?? []),
				...(settings.wakeups ? wakeups : []),
				...(settings.migrations ? (['timehist_migrate'] as const) : []),
				'timehist_switch',
			],
			runOnce: way.hasSchedInfo ? ['seed_waiting'] : [],
			withoutMaps: [way.threadsInHash ? 'off_cpus' : 'off_cpus_by_pid'],
			because:
				`times waits with ${way.hasSchedInfo ? 'sched_info' : 'time stamps'}; ` +
				`keeps threads in ${way.threadsInHash ? 'a hash' : 'task storage'}` +
				(doers ? `; ${doers.because}` : ''),
		};
	},

	reader: (object, settings) =>
		new EventBatches(object.map('events'), new TimehistFormatter(settings, hasOther(settings))),

	text: (settings) => ({
		...(settings.lines ? { header: timehistHeader(settings) } : {}),
		// All that it finds are rows.
		report: async (none: never) => none,
		totals: renderThreadTotals,
	}),
});

const hasOther = ({ next, wakeups, migrations }: Settings) => next || wakeups || migrations;

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function settingsOf(
	values: ValuesOf<ReturnType<typeof options>>,
	output: string | undefined,
): Settings {
	const visual = values.cpuVisual ? (onlineCpus().at(-1) ?? 0) + 1 : 0;
	return {
		wakeups: values.wakeups,
		migrations: values.migrations,
		next: values.next,
		stacks: values.callGraph,
		maxStack: values.maxDepth ?? SHOWN_STACK,
		lines: !values.summaryOnly,
		summary: values.summary || values.summaryOnly,
		visual,
		wallClock: values.wallClock,
		nameWidth: nameWidth(output, visual),
		ring_kb: values.ringKb,
	};
}

function nameWidth(output: string | undefined, visual: number): number {
	// Asking process.stdout of a pipe would make it non-blocking.
	if ((output !== undefined && output !== '-') || !isatty(1)) return NAME_WIDTH;
	const beside = WIDTH_BESIDE_NAME + (visual && visual + 2);
	const room = (process.stdout.columns || 80) - beside;
	return Math.max(MIN_NAME_WIDTH, Math.min(NAME_WIDTH, room));
}
