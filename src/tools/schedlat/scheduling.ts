/** How the scheduler treated threads, added up: by thread, process or name. */
import { percentiles } from '../../aggregate/hdr.js';
import { Latencies } from './latencies.js';

/** What the scheduler counts; of one interval, or since a thread began. */
export interface Counters {
	readonly run_ns: number;
	readonly switches: number;
	readonly preempted: number;
	readonly migrations: number;
}

export const NO_COUNTERS: Counters = { run_ns: 0, switches: 0, preempted: 0, migrations: 0 };

export interface ThreadTime {
	/** In the caller's PID namespace; 0: it cannot be seen from there. */
	readonly pid: number;
	readonly tid: number;
	readonly comm: string;
	/** The name of the process's first thread. */
	readonly process: string;
	readonly counters: Counters;
	/** How long it waits already as the interval ends; 0: it does not. */
	readonly waiting_ns: number;
	/** Whether it waits for CPU quota, and not for a CPU. */
	readonly throttled: boolean;
	readonly latencies: Latencies;
}

export type ThreadGrouping = 'thread' | 'process' | 'comm';

/** One line of the table. Times are ns. */
export interface SchedulingRow {
	readonly key: Readonly<Record<string, string | number>>;
	readonly runtime: number;
	readonly switches: number;
	readonly wakeups: number;
	readonly preempted: number;
	readonly migrations: number;
	/** Waits that ended: how many, and the sum of their latencies. */
	readonly delays: number;
	readonly delay: number;
	/** How long CPU quotas were used up; no latency contains it. */
	readonly throttled: number;
	readonly avg: number;
	readonly p50: number;
	readonly p99: number;
	readonly max: number;
	/** When the longest wait ended, by CLOCK_MONOTONIC; 0: no wait ended. */
	readonly max_end_ns: number;
	/** How long somebody waits already for a CPU, and for CPU quota, at the end. */
	readonly waiting: number;
	readonly throttled_now: number;
}

export const SORT_KEYS = [
	'runtime',
	'switches',
	'wakeups',
	'preempted',
	'migrations',
	'throttled',
	'avg',
	'p50',
	'p99',
	'max',
] as const;
export type SortKey = (typeof SORT_KEYS)[number];

/** What was read of a thread. */
export interface Reading extends Counters {
	/** The part of its run time that the kernel has counted; the clock gives the rest while it runs. */
	readonly counted_ns: number;
}

/** Whether it is another thread, which took the number of the first by exec: it has counted less. See man 2 execve. */
const isAnother = (later: Reading, earlier: Reading) =>
	later.counted_ns < earlier.counted_ns ||
	later.switches < earlier.switches ||
	later.preempted < earlier.preempted ||
	later.migrations < earlier.migrations;

/**
 * What is counted of a thread, in the light of what was before. If a hypervisor had taken its CPU away,
 * the clock had more than the kernel has counted later.
 */
export function atLeast(later: Reading, earlier: Reading): Reading {
	if (later.run_ns >= earlier.run_ns || isAnother(later, earlier)) return later;
	return { ...later, run_ns: earlier.run_ns };
}

/** `later`, by `atLeast`, less `earlier`; of another thread, all it has counted. */
export function since(later: Reading, earlier: Reading): Counters {
	if (isAnother(later, earlier)) return later;
	return {
		run_ns: later.run_ns - earlier.run_ns,
		switches: later.switches - earlier.switches,
		preempted: later.preempted - earlier.preempted,
		migrations: later.migrations - earlier.migrations,
	};
}

function keyOf({ pid, tid, comm, process }: ThreadTime, by: ThreadGrouping): SchedulingRow['key'] {
	if (by === 'comm') return { comm };
	return by === 'process' ? { pid, comm: process } : { pid, tid, comm };
}

/** Processes outside of our PID namespace all have number 0: their names tell them apart. */
const processId = ({ pid, process }: ThreadTime): string => `${pid} ${pid === 0 ? process : ''}`;

interface Sum {
	key: SchedulingRow['key'];
	counters: Counters;
	waiting_ns: number;
	throttled_now_ns: number;
	readonly latencies: Latencies;
}

/** A row for each group, in order of `sort`, largest first. */
export async function schedulingRows(
	threads: readonly ThreadTime[],
	by: ThreadGrouping,
	sort: SortKey,
): Promise<SchedulingRow[]> {
	const sums = new Map<string, Sum>();
	for (const [index, thread] of threads.entries()) {
		// Each thread has its row already; two can have had the same number one after the other.
		const id = by === 'thread' ? `${index}` : by === 'process' ? processId(thread) : thread.comm;
		let sum = sums.get(id);
		if (!sum) {
			sum = {
				key: keyOf(thread, by),
				counters: NO_COUNTERS,
				waiting_ns: 0,
				throttled_now_ns: 0,
				latencies: new Latencies(),
			};
			sums.set(id, sum);
		}
		sum.counters = plus(sum.counters, thread.counters);
		if (thread.throttled) sum.throttled_now_ns = Math.max(sum.throttled_now_ns, thread.waiting_ns);
		else sum.waiting_ns = Math.max(sum.waiting_ns, thread.waiting_ns);
		sum.latencies.add(thread.latencies);
	}
	const rows: SchedulingRow[] = [];
	for (const sum of sums.values()) rows.push(await rowOf(sum));
	return rows.sort((a, b) => b[sort] - a[sort] || b.runtime - a.runtime);
}

/** All rows together, without percentiles, which do not add up. */
export function totalsOf(rows: readonly SchedulingRow[]) {
	const sum = (name: (typeof ADDED)[number]) => rows.reduce((all, row) => all + row[name], 0);
	const totals = Object.fromEntries(ADDED.map((name) => [name, sum(name)])) as Record<
		(typeof ADDED)[number],
		number
	>;
	return { ...totals, max: rows.reduce((max, row) => Math.max(max, row.max), 0) };
}

const ADDED = [
	'runtime',
	'switches',
	'wakeups',
	'preempted',
	'migrations',
	'delays',
	'delay',
	'throttled',
] as const;

function plus(a: Counters, b: Counters): Counters {
	return {
		run_ns: a.run_ns + b.run_ns,
		switches: a.switches + b.switches,
		preempted: a.preempted + b.preempted,
		migrations: a.migrations + b.migrations,
	};
}

async function rowOf({
	key,
	counters,
	waiting_ns,
	throttled_now_ns,
	latencies,
}: Sum): Promise<SchedulingRow> {
	const { histogram, wakeups, throttled_ns, longestEnd_ns } = latencies;
	const { p50, p99 } = await percentiles(histogram);
	const { run_ns, switches, preempted, migrations } = counters;
	return {
		key,
		runtime: run_ns,
		switches,
		wakeups,
		preempted,
		migrations,
		delays: histogram.count,
		delay: histogram.sum_ns,
		throttled: throttled_ns,
		avg: histogram.count === 0 ? 0 : histogram.sum_ns / histogram.count,
		p50,
		p99,
		max: histogram.max_ns,
		max_end_ns: longestEnd_ns,
		waiting: waiting_ns,
		throttled_now: throttled_now_ns,
	};
}
