import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SampleRecord } from '../../../../src/perf/records.js';
import { SampleCounter } from '../../../../src/tools/profile/sample-counter.js';

const sampleIn = (user: readonly number[]) =>
	({
		type: 'sample',
		pid: 7,
		tid: 7,
		time_ns: 1,
		cpu: 0,
		period: 1,
		kernel: [],
		user,
	}) as unknown as SampleRecord;

test('a thread that is new has its own name, not that of the one whose number it got', () => {
	const options = { maxStacks: 9, byThread: true, kernel: true, user: true, wanted: () => true };
	const counter = new SampleCounter(options);
	const { pid, title } = process;
	const sample = { ...sampleIn([1]), pid, tid: pid };
	const about = { pid, tid: pid, time_ns: 1 };
	const nameOf = () => counter.stacks().map(({ comm }) => comm);
	counter.follow({ type: 'comm', comm: 'before', exec: false, ...about });
	counter.add(sample);
	assert.deepEqual(nameOf(), ['before']);
	process.title = 'tells its name';
	try {
		// Others that are new change nothing.
		counter.follow({ type: 'fork', parentPid: 1, ...about, pid: pid + 1, tid: pid + 1 });
		counter.add(sample);
		assert.deepEqual(nameOf(), ['before']);
		counter.follow({ type: 'fork', parentPid: 1, ...about });
		counter.add(sample);
		assert.deepEqual(nameOf(), ['before', 'tells its name']);
	} finally {
		process.title = title;
	}
});

test('samples of stacks that have no room are lost, each of them, and said once', () => {
	const options = { maxStacks: 2, byThread: false, kernel: true, user: true, wanted: () => true };
	const counter = new SampleCounter(options);
	for (const stack of [1, 2, 3, 1, 3, 4]) counter.add(sampleIn([stack]));
	assert.deepEqual(
		counter.stacks().map(({ user, count }) => [user, count]),
		[
			[[1], 2],
			[[2], 1],
		],
	);
	assert.deepEqual(counter.lost(), { samples_without_room: 3 });
	assert.deepEqual(counter.lost(), {});
	counter.add(sampleIn([5]));
	assert.deepEqual(counter.lost(), { samples_without_room: 1 });
});
