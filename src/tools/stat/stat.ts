/** stat: counts what the kernel and the processor count anyway, as perf stat does. */
import type { Filter } from '../../bpf/filter.js';
import { UsageError } from '../../errors.js';
import { durationParser, wholeNumber } from '../../options/parsers.js';
import { flag, listed, parsed, type ValuesOf } from '../../options/typed-option.js';
import { onlineCpus } from '../../perf/cpus.js';
import { type CountedEvent, parseEventList } from '../../perf/event-list.js';
import { processLives } from '../../proc/lives.js';
import { type CommonChoices, definePlainTool } from '../../tool.js';
import { CSV_HEADER, csvLines } from './csv.js';
import { defaultEvents } from './events.js';
import type { StatFindings } from './findings.js';
import { CountReader } from './reader.js';
import { joined } from './repeated.js';
import { rounded } from './rounded.js';
import { remarksOf, type Seen } from './rules.js';
import { renderCounts, renderInterval } from './table.js';
import { isOfCpus, openTarget, refuseFilters, refusePmus } from './target.js';

interface Settings {
	readonly events: readonly CountedEvent[];
	readonly inherit: boolean;
	readonly repeat: number | undefined;
	/** Of --interval. */
	readonly interval_s: number | undefined;
	/** There is to be a result for each interval, be it by --interval or by a number. */
	readonly intervals: boolean;
	readonly csv: boolean;
	readonly of: Seen['of'];
	/** Seen.choice, while these live. */
	readonly choice: string;
	readonly pids: readonly number[];
}

const MOST_RUNS = 1_000_000;
/** perf's -I takes 10 ms at the least, too. */
const LEAST_INTERVAL_MS = 10;
const MOST_INTERVAL_MS = 86_400_000;

const options = () => ({
	event: listed(
		'-e, --event <event>',
		'what to count: cycles:u,page-faults,sched:sched_switch,{a,b}',
		(text: string, before: readonly string[] = []) => [...before, text],
	),
	detailed: flag('-d, --detailed', 'also count hits and misses of caches and TLBs').conflicts(
		'event',
	),
	interval: parsed(
		'-I, --interval <ms>',
		'a result every MS milliseconds (or 2s), as rows',
		durationParser('ms', LEAST_INTERVAL_MS, MOST_INTERVAL_MS),
	),
	repeat: parsed(
		'-r, --repeat <n>',
		'run COMMAND N times: mean and standard deviation',
		wholeNumber(MOST_RUNS),
	),
	allCpus: flag('-a, --all-cpus', 'count on all CPUs, as without -p, -t and COMMAND').conflicts([
		'pid',
		'tid',
		'cgroup',
		'container',
	]),
	inherit: flag(
		'-i, --no-inherit',
		'leave out threads and processes that are created later',
	).conflicts('follow'),
	csv: flag('--csv', 'print comma-separated values').conflicts(['json', 'timestamps']),
});

type Values = ValuesOf<ReturnType<typeof options>>;

export const stat = definePlainTool<Settings, StatFindings, ReturnType<typeof options>>({
	name: 'stat',
	summary: 'counts CPU time, switches, page faults, cycles, cache misses',
	description:
		'Counts events of a process, a command, a cgroup or the whole machine, and says in words what the counts ' +
		'mean. It needs no BPF: ordinary users can count their own processes. Child processes that are created ' +
		'later are counted, too.',
	examples: [
		['tstrace stat -- make', 'a command and its child processes'],
		['tstrace stat -p 1234 5 1', 'a process, for 5 seconds'],
		['tstrace stat -r 10 -- ./bench', 'ten runs of a command: mean, deviation'],
		['tstrace stat -e raw_syscalls:sys_enter 1', 'system calls of all CPUs, every second'],
	],
	options,
	kind: 'table',
	lacks: ['comm', 'userThreads', 'kernelThreads'],
	otherNames: { '--field-separator': '--csv', '--all': '--all-cpus' },

	settings(values, common) {
		const { filter, hasCommand } = common;
		refuse(values, common);
		const { event, detailed, inherit, repeat, interval, csv } = values;
		const ofCpus = isOfCpus(filter, hasCommand);
		const events =
			event.length > 0 ? parseEventList(event.join(',')) : defaultEvents({ ofCpus, detailed });
		refusePmus(events, filter, hasCommand);
		return {
			events,
			inherit,
			repeat,
			interval_s: interval === undefined ? undefined : interval / 1000,
			intervals: common.intervals || interval !== undefined,
			csv,
			of: filter.cgroups.length > 0 ? 'cgroup' : ofCpus ? 'cpus' : 'program',
			choice: hasCommand ? ' -- COMMAND' : choiceOf(filter),
			pids: filter.pids,
		};
	},

	interval: ({ interval_s }) =>
		interval_s === undefined ? undefined : { option: '--interval', s: interval_s },

	repeated: { times: ({ repeat = 1 }) => repeat, joined },

	subject({ events, repeat }) {
		const times = repeat === undefined || repeat === 1 ? '' : `, ${repeat} times`;
		const [only] = events;
		return (only && events.length === 1 ? only.text : `${events.length} events`) + times;
	},

	withoutBpf: {
		reader: ({ events, inherit }, subjects) =>
			new CountReader(events, openTarget(subjects, inherit)),
		because: 'the kernel counts events in any case',
		unseen: "the kernel's time for counting",
	},

	text(settings) {
		let isFirst = true;
		return {
			async report(findings, style) {
				const heading = isFirst;
				isFirst = false;
				if (settings.csv) return (heading ? CSV_HEADER : '') + csvLines(findings);
				return settings.intervals
					? renderInterval(findings, style, heading)
					: renderCounts(findings, style);
			},
			shown(findings, json) {
				const shown = withRemarks(findings, settings);
				return json ? rounded(shown) : shown;
			},
		};
	},
});

function refuse({ event, repeat, interval, csv, allCpus }: Values, common: CommonChoices): void {
	const { filter, hasCommand, intervals, format } = common;
	refuseFilters(filter);
	if (event.includes('')) throw new UsageError('-e: give names of events, such as page-faults');
	if (repeat !== undefined && !hasCommand)
		throw new UsageError('--repeat needs a COMMAND to run: add -- COMMAND');
	if (repeat !== undefined && (intervals || interval !== undefined))
		throw new UsageError(
			`give either --repeat or ${interval === undefined ? 'an interval' : '--interval'}: of several ` +
				'runs there is one result',
		);
	if (allCpus && hasCommand)
		throw new UsageError(
			'give either --all-cpus or a COMMAND: of a COMMAND, stat counts only that',
		);
	if (hasCommand && filter.cgroups.length > 0)
		throw new UsageError(
			'give either a cgroup (--cgroup, --container) or a COMMAND: of a COMMAND, stat counts only that',
		);
	if (csv && format !== undefined && format !== 'text')
		throw new UsageError(`give either --csv or ${format}: a result has one format`);
}

/** What to repeat in front of another tool's numbers. */
function choiceOf({ pids, tids, cgroups }: Filter): string {
	const [path] = cgroups;
	if (pids.length > 0) return ` -p ${pids.join(',')}`;
	if (tids.length > 0) return ` -t ${tids.join(',')}`;
	return path === undefined ? '' : ` --cgroup ${path}`;
}

function withRemarks(findings: StatFindings, { of, pids, ...rest }: Settings): StatFindings {
	const { about, rows } = findings;
	const { elapsed_s, busy_share, machine_busy_share } = about;
	// The next one of that program has another number.
	const choice = pids.length > 0 && !pids.some(processLives) ? ' -p PID' : rest.choice;
	const busy = { busy_share, machine_busy_share };
	const seen = { rows, elapsed_s, ...busy, of, choice, cpus: onlineCpus().length };
	return { ...findings, about: { ...about, remarks: remarksOf(seen) } };
}
