/** runqlat: how long threads that could run waited for a CPU. */

import type { LatencyFindings, RowFindings } from '../aggregate/report.js';
import type { Key } from '../aggregate/row-key.js';
import { readComm } from '../bpf/comm.js';
import { EventRows } from '../bpf/events.js';
import type { KernelGroup } from '../bpf/groups.js';
import { GroupReader, HistogramReader } from '../bpf/latency-readers.js';
import {
	chooseQueueTiming,
	delayedDequeue,
	type QueueTiming,
} from '../bpf/scheduling/run-queue.js';
import { setRoomInHalves } from '../bpf/window.js';
import { UsageError } from '../errors.js';
import { runqlat as layout } from '../generated/runqlat.js';
import { readU64 } from '../loader/layout.js';
import { requireRingBuffer } from '../loader/realtime.js';
import { maxBucketsOption, parseUsec, topOption } from '../options/parsers.js';
import { flag, oneOf, parsed, type ValuesOf } from '../options/typed-option.js';
import { cgroupPaths } from '../proc/cgroup.js';
import { renderGroups } from '../render/histogram.js';
import { grouped } from '../render/numbers.js';
import { printable, shortened } from '../render/terminal.js';
import { clockTime, inUnit, MICROSECONDS, MILLISECONDS } from '../render/units.js';
import { defineTool, type Plan } from '../tool.js';

type Layout = typeof layout;
type GroupBy = keyof typeof layout.enums.group_by;

const BY_WORDS = ['cgroup', 'cpu', 'comm'] as const;
const BY: Readonly<Record<(typeof BY_WORDS)[number], GroupBy>> = {
	cgroup: 'GROUP_BY_CGROUP',
	cpu: 'GROUP_BY_CPU',
	comm: 'GROUP_BY_COMM',
};

interface Settings {
	readonly groupBy: GroupBy;
	readonly split: boolean;
	/** 0: histograms instead of events. */
	readonly slower_usec: number;
	readonly milliseconds: boolean;
	readonly top: number;
	/** For each of the two halves of the table of groups. */
	readonly maxBuckets: number;
}

/** 72 bytes and a header for each event: room for 50,000 that come at once. */
const RING_BYTES = 4 << 20;
const MINIMAL_RING_BYTES = 4096;

const PROGRAMS: Readonly<Record<QueueTiming, ReadonlyArray<Layout['programs'][number]>>> = {
	sched_info: ['switch_sched_info', 'migrate_sched_info'],
	hash: ['wakeup_hash', 'wakeup_new_hash', 'switch_hash'],
};

/** Each kind as `keysOf` names it. */
const SPLIT_HELP =
	'a histogram for each kind of wait: wakeup, preempted, throttled (no CPU quota), ' +
	'since_before (the thread waited already when tracing began), unknown (tstrace did not see when it began)';

const options = () => ({
	pids: flag('-P, --pids', 'a histogram for each process').conflicts(['tids', 'pidnss', 'by']),
	tids: flag('-L, --tids', 'a histogram for each thread').conflicts(['pidnss', 'by']),
	pidnss: flag('--pidnss', 'a histogram for each PID namespace').conflicts('by'),
	by: oneOf('--by <what>', 'a histogram for each cgroup, CPU or thread name', BY_WORDS),
	split: flag('--split', SPLIT_HELP),
	milliseconds: flag('-m, --milliseconds', 'show milliseconds instead of microseconds'),
	top: topOption(20),
	maxBuckets: maxBucketsOption(),
	slower: parsed(
		'--slower <usec>',
		'print each wait of USEC microseconds (or 5ms, 2s) or more',
		parseUsec,
	),
});

export const runqlat = defineTool<
	Layout,
	Settings,
	LatencyFindings | RowFindings,
	ReturnType<typeof options>
>({
	name: 'runqlat',
	summary: 'how long threads wait for a CPU (run queue latency)',
	description:
		'Shows run queue latency as a histogram: how long threads waited, from wake-up or preemption ' +
		'until they got a CPU.',
	examples: [
		['tstrace runqlat 5', 'a histogram every 5 seconds'],
		['tstrace runqlat -p 1234 --split 10 1', 'a process, preemptions separately'],
		['tstrace runqlat -P 5', 'a histogram for each process'],
		['tstrace runqlat --slower 10ms 5', 'waits of 10 ms and more, one by one'],
		['tstrace runqlat -- make -j8', 'a command, from start to end'],
	],
	options,
	kind: 'latency',
	layout,

	settings(values, { hdr, timestamps, ofText }) {
		const settings: Settings = {
			groupBy: groupByOf(values),
			split: values.split,
			slower_usec: values.slower ?? 0,
			milliseconds: values.milliseconds,
			top: values.top,
			maxBuckets: values.maxBuckets,
		};
		if (settings.slower_usec > 0) {
			const { pids, tids, pidnss, by, milliseconds, split } = values;
			const top = ofText.includes('top');
			const histograms = { pids, tids, pidnss, by, hdr, timestamps, milliseconds, split, top };
			for (const [option, given] of Object.entries(histograms)) {
				if (given) throw new UsageError(`--slower shows single waits; leave out --${option}`);
			}
		}
		return settings;
	},

	lines: ({ slower_usec }) => (slower_usec > 0 ? '--slower' : undefined),
	linesHelp: 'with --slower, 5: trace for 5 seconds',

	subject({ slower_usec }) {
		return slower_usec > 0
			? `waits for a CPU (${grouped(slower_usec)} us or more)`
			: 'run queue latency';
	},

	plan(object, settings): Plan<Layout> {
		if (settings.slower_usec > 0) requireRingBuffer('--slower', 'histograms (no --slower)');
		const { name: way, because } = chooseQueueTiming();
		object.setConstants({
			group_by: layout.enums.group_by[settings.groupBy],
			split_kinds: settings.split,
			slower_than_ns: settings.slower_usec * 1000,
		});
		const buckets = settings.groupBy === 'GROUP_BY_NOTHING' ? 1 : settings.maxBuckets;
		setRoomInHalves(object, 'groups', buckets);
		object
			.map('slow_waits')
			.setMaxEntries(settings.slower_usec > 0 ? RING_BYTES : MINIMAL_RING_BYTES);
		return {
			attach: PROGRAMS[way].filter((name) => name !== 'migrate_sched_info' || delayedDequeue()),
			runOnce: way === 'sched_info' ? ['seed_slices'] : [],
			withoutMaps: way === 'hash' ? [] : ['hash_waits'],
			because: `times waits with ${way}: ${because}`,
		};
	},

	reader(object, settings) {
		if (settings.slower_usec > 0) return new EventRows(object.map('slow_waits'), slowWait);
		if (settings.groupBy !== 'GROUP_BY_NOTHING')
			return new GroupReader(object, (groups) => keysOf(groups, settings));
		return new HistogramReader(object, KINDS.length, settings.split ? KINDS : undefined);
	},

	text(settings) {
		const unit = settings.milliseconds ? MILLISECONDS : MICROSECONDS;
		return {
			...(settings.slower_usec > 0 ? { header: SLOW_HEADER } : {}),
			row: slowRow,
			report: async (findings, style) =>
				renderGroups(findings.groups, { unit, style, noun: 'wait', top: settings.top }),
		};
	},
});

function groupByOf({ pids, tids, pidnss, by }: ValuesOf<ReturnType<typeof options>>): GroupBy {
	if (pids) return 'GROUP_BY_PROCESS';
	if (tids) return 'GROUP_BY_THREAD';
	if (pidnss) return 'GROUP_BY_PIDNS';
	return by ? BY[by] : 'GROUP_BY_NOTHING';
}

/** "wakeup", "preempted", …, by their number in the kernel. */
const KINDS = Object.entries(layout.enums.run_queue_kind)
	.filter(([, number]) => number < layout.enums.run_queue_kind.QUEUED_KINDS)
	.sort(([, a], [, b]) => a - b)
	.map(([name]) => name.replace(/^QUEUED_/, '').toLowerCase());

/** Names groups by what they were grouped by, and by kind if kinds are apart. */
function keysOf(groups: readonly KernelGroup[], { groupBy, split }: Settings): Key[] {
	const paths =
		groupBy === 'GROUP_BY_CGROUP'
			? cgroupPaths(new Set(groups.map((group) => group.id)))
			: new Map<number, string>();
	return groups.map((group) => ({
		...keyOf(group, groupBy, paths),
		...(split ? { kind: KINDS[group.kind] ?? '' } : {}),
	}));
}

function keyOf(group: KernelGroup, by: GroupBy, paths: ReadonlyMap<number, string>): Key {
	const { tgid, tid, id, comm } = group;
	switch (by) {
		case 'GROUP_BY_PROCESS':
			return { pid: tgid, ...(tgid === 0 && id > 0 ? { host_pid: id } : {}), comm };
		case 'GROUP_BY_THREAD':
			return { pid: tgid, tid, ...(tid === 0 && id > 0 ? { host_tid: id } : {}), comm };
		case 'GROUP_BY_PIDNS':
			return { pidns: id };
		case 'GROUP_BY_CGROUP':
			return { cgroup: paths.get(id) ?? `(gone, id ${id})`, cgroup_id: id };
		case 'GROUP_BY_CPU':
			return { cpu: id };
		default:
			return { comm };
	}
}

/** A single wait, as it ended. */
function slowWait(record: DataView, epoch_ms: number): Key {
	const f = layout.structs.slow_wait.fields;
	const u32 = (field: { offset: number }) => record.getUint32(field.offset, true);
	const end_ms = epoch_ms + readU64(record, f.end_ns.offset) / 1e6;
	return {
		time: new Date(end_ms).toISOString(),
		cpu: u32(f.cpu),
		pid: u32(f.tgid),
		tid: u32(f.tid),
		comm: readComm(record, f.comm.offset),
		kind: KINDS[u32(f.kind)] ?? '',
		delay_ns: readU64(record, f.latency_ns.offset),
		throttled_ns: readU64(record, f.throttled_ns.offset),
		prev_pid: u32(f.prev_tgid),
		prev_tid: u32(f.prev_tid),
		prev_comm: readComm(record, f.prev_comm.offset),
	};
}

const SLOW_HEADER =
	'TIME         CPU COMM             TID       WAIT(us) PREV COMM        PREV TID';

/** No name is longer, but one of bytes that a terminal must not have. */
const nameColumn = (comm: unknown) => shortened(printable(`${comm}`), 16).padEnd(16);

function slowRow(row: Key): string {
	// Where it waited for quota more than for a CPU, nobody was in the way.
	const throttled = Number(row.throttled_ns) * 2 > Number(row.delay_ns);
	const columns = [
		clockTime(new Date(row.time as string), true),
		`${row.cpu}`.padStart(3),
		nameColumn(row.comm),
		`${row.tid}`.padEnd(7),
		inUnit(row.delay_ns as number, MICROSECONDS).padStart(10),
		...(throttled ? ['(throttled)'] : [nameColumn(row.prev_comm), `${row.prev_tid}`]),
	];
	return `${columns.join(' ')}\n`;
}
