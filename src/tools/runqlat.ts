/** runqlat: how long tasks that could run waited for a CPU. */
import { Option } from 'commander';
import type { Findings, Key, LatencyGroup, Lost } from '../aggregate/report.js';
import { runqlat as layout } from '../generated/runqlat.js';
import { cgroupPaths } from '../kit/cgroup.js';
import { UsageError } from '../kit/errors.js';
import { Groups, type KernelGroup, readComm, takeHistogram } from '../kit/latency.js';
import { maxBucketsOption, topOption, usecOption } from '../kit/options.js';
import { defineTool, type Plan, type Reader, type RowSink } from '../kit/tool.js';
import { chooseWay, type Way } from '../kit/waits.js';
import { readU64 } from '../loader/layout.js';
import type { BpfObject } from '../loader/object.js';
import { RingBuffer } from '../loader/ringbuf.js';
import { Window } from '../loader/window.js';
import { renderGroups } from '../render/histogram.js';
import { grouped, printable, type Style } from '../render/terminal.js';
import { clockTime, inUnit, MICROSECONDS, MILLISECONDS } from '../render/units.js';

type Layout = typeof layout;
type GroupBy = keyof typeof layout.enums.group_by;

const BY = { cgroup: 'GROUP_BY_CGROUP', cpu: 'GROUP_BY_CPU', comm: 'GROUP_BY_COMM' } as const;

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

const PROGRAMS: Readonly<Record<Way, ReadonlyArray<Layout['programs'][number]>>> = {
	sched_info: ['switch_sched_info'],
	task_storage: ['wakeup_task_storage', 'wakeup_new_task_storage', 'switch_task_storage'],
	hash: ['wakeup_hash', 'wakeup_new_hash', 'switch_hash'],
};

export const runqlat = defineTool<Layout, Settings>({
	name: 'runqlat',
	summary: 'how long tasks that could run waited for a CPU (run queue latency)',
	description:
		'Shows how long tasks waited on the run queues, from wake-up or preemption until they got a ' +
		'CPU, as a histogram. Without an interval it traces until Ctrl-C.',
	examples: [
		['tstrace runqlat 5', 'a histogram every 5 seconds'],
		['tstrace runqlat -p 1234 --split 10 1', 'a process, preemptions apart'],
		['tstrace runqlat -P 5', 'a histogram for each process'],
		['tstrace runqlat --slower 10000', 'waits of 10 ms and more, one by one'],
		['tstrace runqlat -- make -j8', 'a command, from start to end'],
	],
	options: () => [
		new Option('-P, --pids', 'a histogram for each process').conflicts(['tids', 'pidnss', 'by']),
		new Option('-L, --tids', 'a histogram for each thread').conflicts(['pidnss', 'by']),
		new Option('--pidnss', 'a histogram for each PID namespace').conflicts('by'),
		new Option('--by <what>', 'a histogram for each cgroup, CPU or thread name').choices(
			Object.keys(BY),
		),
		new Option('--split', 'show waits after wake-ups and after preemptions apart'),
		new Option('-m, --milliseconds', 'milliseconds instead of microseconds'),
		topOption(20),
		maxBucketsOption(),
		usecOption('--slower <usec>', 'a line for each wait of USEC microseconds or more'),
	],
	layout,

	settings(values) {
		const settings: Settings = {
			groupBy: groupByOf(values),
			split: values.split === true,
			slower_usec: Number(values.slower ?? 0),
			milliseconds: values.milliseconds === true,
			top: Number(values.top),
			maxBuckets: Number(values.maxBuckets),
		};
		if (settings.slower_usec > 0) {
			for (const option of ['pids', 'tids', 'pidnss', 'by', 'hdr', 'milliseconds', 'split']) {
				if (values[option])
					throw new UsageError(`--slower shows single waits; leave out --${option}`);
			}
		}
		return settings;
	},

	subject({ slower_usec }) {
		return slower_usec > 0
			? `waits of ${grouped(slower_usec)} us and more for a CPU`
			: 'run queue latency';
	},

	plan(object, settings): Plan<Layout> {
		const { way, because } = chooseWay();
		object.setConstants({
			group_by: layout.enums.group_by[settings.groupBy],
			split_kinds: settings.split,
			slower_than_ns: settings.slower_usec * 1000,
		});
		const buckets = settings.groupBy === 'GROUP_BY_NOTHING' ? 1 : settings.maxBuckets;
		object.map('groups_0').setMaxEntries(buckets);
		object.map('groups_1').setMaxEntries(buckets);
		object
			.map('slow_waits')
			.setMaxEntries(settings.slower_usec > 0 ? RING_BYTES : MINIMAL_RING_BYTES);
		return {
			attach: PROGRAMS[way],
			runOnce: way === 'sched_info' ? ['seed_turns'] : [],
			withoutMaps: (['task_storage', 'hash'] as const)
				.filter((each) => each !== way)
				.map((each) => `${each}_waits` as const),
			because: `waits are timed with ${way}: ${because}`,
		};
	},

	reader(object, settings) {
		return settings.slower_usec > 0
			? new SlowWaits(object)
			: settings.groupBy === 'GROUP_BY_NOTHING'
				? new WholeMachine(object, settings)
				: new ByGroup(object, settings);
	},

	text(settings) {
		const unit = settings.milliseconds ? MILLISECONDS : MICROSECONDS;
		return {
			...(settings.slower_usec > 0 ? { header: SLOW_HEADER } : {}),
			row: slowRow,
			report: async (findings, style) =>
				findings.kind === 'latency'
					? renderGroups(findings.groups, { unit, style, noun: 'waits', top: settings.top })
					: '',
		};
	},
});

function groupByOf(values: Readonly<Record<string, unknown>>): GroupBy {
	if (values.pids) return 'GROUP_BY_PROCESS';
	if (values.tids) return 'GROUP_BY_THREAD';
	if (values.pidnss) return 'GROUP_BY_PIDNS';
	return BY[values.by as keyof typeof BY] ?? 'GROUP_BY_NOTHING';
}

function kindName(kind: number): string {
	const name = Object.entries(layout.enums.wait_kind).find(([, value]) => value === kind)?.[0];
	return (name ?? 'WAIT_UNKNOWN').replace(/^WAIT_/, '').toLowerCase();
}

/** One histogram, or one for each kind of wait. */
class WholeMachine implements Reader {
	readonly #window: Window;

	constructor(
		private readonly object: BpfObject<Layout>,
		private readonly settings: Settings,
	) {
		this.#window = new Window(object);
	}

	async read(): Promise<Findings> {
		const half = this.#window.swap();
		const kinds = layout.enums.wait_kind.WAIT_KINDS;
		const groups: LatencyGroup[] = [];
		for (let kind = 0; kind < (this.settings.split ? kinds : 1); kind++) {
			const histogram = takeHistogram(
				this.object.map('hists'),
				half * kinds + kind,
				layout.structs.hist,
			);
			if (!this.settings.split) groups.push({ key: {}, histogram });
			else if (histogram.count > 0) groups.push({ key: { kind: kindName(kind) }, histogram });
		}
		return { kind: 'latency', groups };
	}
}

/** A histogram for each process, thread, cgroup, … */
class ByGroup implements Reader {
	readonly #window: Window;
	readonly #groups = new Groups(layout.structs);

	constructor(
		private readonly object: BpfObject<Layout>,
		private readonly settings: Settings,
	) {
		this.#window = new Window(object);
	}

	drain(): void {
		const half = this.#window.swap();
		this.#groups.drain(this.object.map(half === 0 ? 'groups_0' : 'groups_1'));
	}

	lost(): Lost {
		return this.#groups.takeLost();
	}

	async read(): Promise<Findings> {
		this.drain();
		const groups = this.#groups.take();
		const paths =
			this.settings.groupBy === 'GROUP_BY_CGROUP'
				? cgroupPaths(new Set(groups.map((group) => group.id)))
				: new Map<number, string>();
		return {
			kind: 'latency',
			groups: groups.map((group) => ({
				key: {
					...this.#key(group, paths),
					...(this.settings.split ? { kind: kindName(group.kind) } : {}),
				},
				histogram: group.histogram,
			})),
		};
	}

	#key({ tgid, tid, id, comm }: KernelGroup, paths: ReadonlyMap<number, string>): Key {
		switch (this.settings.groupBy) {
			case 'GROUP_BY_PROCESS':
				return { pid: tgid, comm };
			case 'GROUP_BY_THREAD':
				return { pid: tgid, tid, comm };
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
}

/** Single waits, as they end. */
class SlowWaits implements Reader {
	readonly #ring: RingBuffer;
	#rows: Key[] = [];

	constructor(private readonly object: BpfObject<Layout>) {
		this.#ring = new RingBuffer(object.map('slow_waits'));
	}

	stream(sink: RowSink): void {
		this.#ring.watch(this.object.map('slow_waits').fd, () => {
			this.#take();
			sink(this.#rows);
			this.#rows = [];
		});
	}

	async read(): Promise<Findings> {
		this.#take();
		const rows = this.#rows;
		this.#rows = [];
		return { kind: 'rows', rows };
	}

	close(): void {
		this.#ring.close();
	}

	#take(): void {
		// Wall-clock time of CLOCK_MONOTONIC's zero, so that a stepped clock shows as such.
		const epoch_ms = Date.now() - Number(process.hrtime.bigint()) / 1e6;
		this.#ring.read((record) => this.#rows.push(slowWait(record, epoch_ms)));
	}
}

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
		kind: kindName(u32(f.kind)),
		delay_ns: readU64(record, f.delay_ns.offset),
		prev_pid: u32(f.prev_tgid),
		prev_tid: u32(f.prev_tid),
		prev_comm: readComm(record, f.prev_comm.offset),
	};
}

const SLOW_HEADER =
	'TIME         CPU COMM             TID       WAIT(us) PREV COMM        PREV TID\n';

function slowRow(row: Key, _style: Style): string {
	const columns = [
		clockTime(new Date(row.time as string), true),
		`${row.cpu}`.padStart(3),
		printable(`${row.comm}`).padEnd(16),
		`${row.tid}`.padEnd(7),
		inUnit(row.delay_ns as number, MICROSECONDS).padStart(10),
		printable(`${row.prev_comm}`).padEnd(16),
		`${row.prev_tid}`,
	];
	return `${columns.join(' ')}\n`;
}
