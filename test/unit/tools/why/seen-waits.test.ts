/** Waits for a CPU, one by one: each part of a wait is of its kind, and all parts are all of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeenWaits } from '../../../../src/tools/why/seen-waits.js';

const THREAD = { kernelPid: 912, pid: 11, tid: 12, comm: 'worker' };
const NONE = { throttled_ns: 0, waking_ns: 0, preempted: false };
/** It counts for four of its kind. */
const SAMPLED = { weighed_ns: 4000, count: 4, variance: 160_000 };

test('each part of a wait is of its kind, and counts as the wait does', () => {
	const seen = new SeenWaits();
	const wait = { begin_ns: 5000, end_ns: 6000, ...SAMPLED };
	seen.forCpu(912, { ...wait, ...NONE, throttled_ns: 500, waking_ns: 200 });
	const found = seen.forCpuOf([THREAD]);
	assert.deepEqual(
		found.map(({ kind, value_ns, variance }) => [kind, value_ns, Math.round(variance)]),
		[
			['CPU quota', 2000, 40_000],
			['CPU wake-up', 800, 6400],
			['run queue', 1200, 14_400],
		],
	);
	assert.deepEqual(
		found.map(({ durations }) => durations.max_ns),
		[500, 200, 300],
	);
	assert.ok(found.every(({ count, pid, tid }) => count === 4 && pid === 11 && tid === 12));
});

test('parts are no more than the wait, whatever the kernel says', () => {
	const seen = new SeenWaits();
	const wait = { begin_ns: 0, end_ns: 1000, weighed_ns: 1000, count: 1, variance: 0 };
	seen.forCpu(912, { ...wait, ...NONE, throttled_ns: 900, waking_ns: 900 });
	seen.forCpu(912, { ...wait, ...NONE, throttled_ns: 3000 });
	const values = seen.forCpuOf([THREAD]).map(({ kind, value_ns }) => [kind, value_ns]);
	assert.deepEqual(values, [
		['CPU quota', 1900],
		['CPU wake-up', 100],
	]);
});

test('one that was preempted is not in the run queue; threads are apart; nobody has none', () => {
	const seen = new SeenWaits();
	const wait = { begin_ns: 0, end_ns: 1000, weighed_ns: 1000, count: 1, variance: 0 };
	seen.forCpu(912, { ...wait, ...NONE, preempted: true });
	seen.forCpu(913, { ...wait, ...NONE });
	const kinds = (kernelPid: number) =>
		seen.forCpuOf([{ ...THREAD, kernelPid }]).map(({ kind }) => kind);
	assert.deepEqual([kinds(912), kinds(913), kinds(914)], [['preempted'], ['run queue'], []]);
});

test('the longest waits are of the kind that they were for most of their time', () => {
	const seen = new SeenWaits();
	const wait = (ms: number) => ({
		...{ begin_ns: 0, end_ns: ms * 1e6, weighed_ns: ms * 1e6, count: 1, variance: 0 },
		...NONE,
	});
	seen.forCpu(912, { ...wait(10), waking_ns: 6e6 });
	seen.forCpu(912, { ...wait(20), waking_ns: 6e6 });
	seen.forCpu(912, { ...wait(30), throttled_ns: 16e6, preempted: true });
	const ends = (kind: string) => seen.longest.forCpuOf(912, kind).map(({ end_ns }) => end_ns / 1e6);
	assert.deepEqual([ends('CPU wake-up'), ends('run queue'), ends('CPU quota')], [[10], [20], [30]]);
});
