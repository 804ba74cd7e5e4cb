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
