/** schedlat: how long each thread ran, and how long it waited for a CPU. */
import { InvalidArgumentError } from 'commander';
import type { TableFindings } from '../../aggregate/report.js';
import { delayedDequeue, schedInfoMissing } from '../../bpf/scheduling/run-queue.js';
import { setRoomInHalves } from '../../bpf/window.js';
import { TstraceError, UsageError } from '../../errors.js';
import { schedlat as layout } from '../../generated/schedlat.js';
import { didYouMean } from '../../nearest.js';
import { topOption, wholeNumber } from '../../options/parsers.js';
import { flag, oneOf, parsedOr } from '../../options/typed-option.js';
import { defineTool, type Plan } from '../../tool.js';
import { SchedulingReader } from './reader.js';
import {
	type SchedulingRow,
	SORT_KEYS,
	type SortKey,
	schedulingRows,
	type ThreadGrouping,
	totalsOf,
} from './scheduling.js';
import { renderScheduling } from './table.js';

type Layout = typeof layout;

interface Settings {
	readonly by: ThreadGrouping;
	readonly sort: SortKey;
	readonly top: number;
	readonly maxThreads: number;
}

/** A thread's latencies are in about so many buckets, most in fewer. */
const BUCKETS_OF_A_THREAD = 8;

const options = () => ({
	pids: flag('-P, --pids', 'a row for each process').conflicts('by'),
	by: oneOf('--by <what>', 'a row for each thread name', ['comm']),
	sort: parsedOr<SortKey>(
		'-s, --sort <key>',
		'sort by this column, largest first',
		parseSortKey,
		'runtime',
	)
		.choices(SORT_KEYS)
		.argParser(parseSortKey),
	top: topOption(20, 'largest rows'),
	maxThreads: parsedOr(
		'--max-threads <n>',
		'room for N threads that end in one second, 1.7 kB each',
		wholeNumber(1 << 20),
		8192,
	),
});

export const schedlat = defineTool<Layout, Settings, TableFindings, ReturnType<typeof options>>({
	name: 'schedlat',
	summary: 'how long each thread runs, and waits for a CPU (run queue latency)',
	description:
		'Shows for each thread its run time, context switches, wake-ups, preemptions and migrations, and ' +
		'how long it waited for a CPU. schedlat has no -C: the kernel counts run time and switches over all ' +
		'CPUs together. For the latency on some CPUs, use runqlat -C.',
	examples: [
		['tstrace schedlat 5 1', 'all threads, for 5 seconds'],
		['tstrace schedlat -s max 5 1', 'the threads that waited longest'],
		['tstrace schedlat -P 5', 'by process, every 5 seconds'],
		['tstrace schedlat --follow -- make -j8', 'a command and its child processes'],
	],
	options,
	kind: 'table',
	layout,
	lacks: ['cpu'],

	settings({ pids, by, sort, top, maxThreads }, { filter }) {
		if (filter.cpus.length > 0)
			throw new UsageError(
				"leave out -C: the kernel counts a thread's run time and switches over all CPUs together; " +
					'runqlat -C shows the latency on some CPUs',
			);
		return {
			by: pids ? 'process' : (by ?? 'thread'),
			sort,
			top,
			maxThreads,
		};
	},

	subject: () => 'run time and run queue latency',

	plan(object, { maxThreads }): Plan<Layout> {
		const missing = schedInfoMissing();
		if (missing !== undefined)
			throw new TstraceError(
				`schedlat needs the kernel's run queue statistics (sched_info): ${missing}; use runqlat, or a kernel with CONFIG_SCHEDSTATS=y`,
			);
		object.setConstants({ has_sched_info: true });
		object.map('ending').setMaxEntries(maxThreads);
		setRoomInHalves(object, 'latencies', maxThreads * BUCKETS_OF_A_THREAD);
		setRoomInHalves(object, 'ended', maxThreads);
		return {
			attach: ['schedlat_switch', ...(delayedDequeue() ? (['schedlat_migrate'] as const) : [])],
			load: ['schedlat_exit', 'schedlat_threads'],
			runOnce: ['seed_slices'],
			because: 'reads run time, switches and latency, which the kernel itself counts',
		};
	},

	reader: (object, { by, sort }) =>
		new SchedulingReader(object, async (threads, epoch_ms): Promise<TableFindings> => {
			const rows = await schedulingRows(threads, by, sort);
			return {
				kind: 'table',
				about: { unit: 'ns', sort, totals: totalsOf(rows) },
				rows: rows.map((row) => jsonRow(row, epoch_ms)),
			};
		}),

	text: ({ top }) => ({
		report: async (findings, style) => renderScheduling(findings, { top, style }),
	}),
});

/** Throws InvalidArgumentError, which names the nearest key if one is close. */
function parseSortKey(text: string): SortKey {
	const key = SORT_KEYS.find((each) => each === text.toLowerCase());
	if (key) return key;
	throw new InvalidArgumentError(
		`there is no key "${text}"${didYouMean(text, SORT_KEYS) || ';'} keys are ${SORT_KEYS.join(', ')}`,
	);
}

/** Times become whole ns, and wall-clock time. */
function jsonRow({ max_end_ns, ...row }: SchedulingRow, epoch_ms: number) {
	const max_at = max_end_ns === 0 ? null : new Date(epoch_ms + max_end_ns / 1e6).toISOString();
	return { ...row, avg: Math.round(row.avg), max_at };
}
