import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Latencies } from '../../../../src/tools/schedlat/latencies.js';
import {
	atLeast,
	type Counters,
	NO_COUNTERS,
	type Reading,
	schedulingRows,
	since,
	type ThreadTime,
	totalsOf,
} from '../../../../src/tools/schedlat/scheduling.js';

function counters(run_ns: number, switches = 0): Counters {
	return { ...NO_COUNTERS, run_ns, switches };
}

/** Latencies of 10, 20, … ns, the longest of which ended at `end_ns`. */
function latencies(count: number, end_ns: number): Latencies {
	const all = new Latencies();
	for (let i = 1; i <= count; i++) {
		all.addBucket(10 * i, 1);
		const [sum_ns, min_ns, max_ns] = [10 * i, 10 * i, 10 * i];
		all.addTotals({ wakeups: 1, sum_ns, throttled_ns: i, min_ns, max_ns, end_ns });
	}
	return all;
}

function thread(tid: number, comm: string, run_ns: number, each: Latencies): ThreadTime {
	return {
		pid: 7,
		tid,
		comm,
		process: 'first',
		counters: counters(run_ns, 2),
		waiting_ns: tid,
		throttled: false,
		latencies: each,
	};
}

const THREADS = [
	thread(7, 'first', 100, latencies(2, 1000)),
	thread(8, 'other', 300, latencies(4, 2000)),
	thread(9, 'other', 200, new Latencies()),
];

test('threads have rows of their own, the largest first', async () => {
	const rows = await schedulingRows(THREADS, 'thread', 'runtime');
	assert.deepEqual(
		rows.map(({ key }) => key.tid),
		[8, 9, 7],
	);
	const byMaximum = await schedulingRows(THREADS, 'thread', 'max');
	assert.deepEqual(
		byMaximum.map(({ max }) => max),
		[40, 20, 0],
	);
	assert.equal(byMaximum[0]?.avg, 25);
	assert.equal(byMaximum[2]?.avg, 0);
	assert.equal(byMaximum[2]?.max_end_ns, 0);
});

test('a wait of no time is a wait: it has an end', async () => {
	const longest = new Latencies();
	longest.addBucket(0, 1);
	const none = { sum_ns: 0, throttled_ns: 0, min_ns: 0, max_ns: 0 };
	longest.addTotals({ wakeups: 1, ...none, end_ns: 4000 });
	const threads = [thread(8, 'other', 300, longest), thread(9, 'other', 200, new Latencies())];
	for (const by of ['thread', 'process', 'comm'] as const) {
		const [row] = await schedulingRows(threads, by, 'runtime');
		assert.deepEqual([row?.delays, row?.max, row?.max_end_ns], [1, 0, 4000], by);
	}
});

test('processes outside of our PID namespace, which have no number, are apart by their names', async () => {
	const outside = ['one', 'two', 'one'].map((process, i) => {
		return { ...thread(i, 'any', 100 * (i + 1), new Latencies()), pid: 0, process };
	});
	const rows = await schedulingRows([...outside, ...THREADS], 'process', 'runtime');
	assert.deepEqual(
		rows.map(({ key, runtime }) => [key.pid, key.comm, runtime]),
		[
			[7, 'first', 600],
			[0, 'one', 400],
			[0, 'two', 200],
		],
	);
});

test('by process and by name rows are sums; the longest wait keeps its time', async () => {
	const [row, ...others] = await schedulingRows(THREADS, 'process', 'runtime');
	assert.equal(others.length, 0);
	assert.deepEqual(row?.key, { pid: 7, comm: 'first' });
	assert.equal(row.runtime, 600);
	assert.equal(row.switches, 6);
	assert.equal(row.wakeups, 6);
	assert.equal(row.delay, 130);
	assert.equal(row.max, 40);
	assert.equal(row.max_end_ns, 2000);
	assert.equal(row.waiting, 9);
	const byName = await schedulingRows(THREADS, 'comm', 'runtime');
	assert.deepEqual(
		byName.map(({ key, runtime }) => [key.comm, runtime]),
		[
			['other', 500],
			['first', 100],
		],
	);
});

test('throttled time is no latency: the thread does not wait for a CPU', async () => {
	const [seventh, eighth] = THREADS;
	assert.ok(seventh && eighth);
	const threads = [seventh, { ...eighth, waiting_ns: 50, throttled: true }];
	const [row] = await schedulingRows(threads, 'process', 'throttled');
	assert.equal(row?.waiting, 7);
	assert.equal(row.throttled_now, 50);
	// 1 + 2, and 1 + 2 + 3 + 4 ns.
	assert.equal(row.throttled, 13);
	assert.equal(row.delay, 130);
	assert.equal(totalsOf([row]).throttled, 13);
	const sorted = await schedulingRows(THREADS, 'thread', 'throttled');
	assert.deepEqual(
		sorted.map(({ throttled }) => throttled),
		[10, 3, 0],
	);
});

test('totals are sums, of the maximum the largest', async () => {
	const totals = totalsOf(await schedulingRows(THREADS, 'thread', 'avg'));
	assert.equal(totals.runtime, 600);
	assert.equal(totals.delays, 6);
	assert.equal(totals.max, 40);
});

/** Of `run_ns`, the kernel has counted `counted_ns`. */
function reading(run_ns: number, switches: number, counted_ns = run_ns): Reading {
	return { ...counters(run_ns, switches), counted_ns };
}

test('differences; a thread that took another number by exec begins anew', () => {
	assert.deepEqual(since(reading(500, 9), reading(200, 4)), counters(300, 5));
	for (const another of [reading(100, 9), reading(100, 3), reading(300, 3)]) {
		assert.deepEqual(atLeast(another, reading(200, 4)), another);
		assert.deepEqual(since(another, reading(200, 4)), another);
	}
});

test('another thread is known by any of what it has counted less of, whatever it has more of', () => {
	const before = { run_ns: 50, counted_ns: 50, switches: 5, preempted: 5, migrations: 5 };
	const later = { run_ns: 90, counted_ns: 90, switches: 9, preempted: 9, migrations: 9 };
	for (const field of ['counted_ns', 'switches', 'preempted', 'migrations'] as const) {
		const another = { ...later, [field]: 4 };
		assert.deepEqual(since(another, before), another, field);
		assert.deepEqual(since({ ...later, [field]: before[field] }, before).run_ns, 40, field);
	}
});

test('run time that was stolen after all is not run again before it counts', () => {
	const [first, second, third] = [reading(200, 4, 150), reading(180, 4), reading(230, 5)];
	const settled = atLeast(second, first);
	assert.equal(settled.run_ns, 200);
	assert.deepEqual(since(settled, first), counters(0, 0));
	assert.deepEqual(since(atLeast(third, settled), settled), counters(30, 1));
});
