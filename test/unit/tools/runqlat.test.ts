import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runqlat } from '../../../src/tools/runqlat.js';

const SLOW = {
	groupBy: 'GROUP_BY_NOTHING',
	split: false,
	slower_usec: 1000,
	milliseconds: false,
	top: 20,
	maxBuckets: 1,
} as const;
const WAIT = {
	time: new Date(2026, 0, 2, 3, 4, 5, 6).toISOString(),
	cpu: 1,
	pid: 70,
	tid: 71,
	comm: 'worker',
	kind: 'preempted',
	delay_ns: 10e6,
	throttled_ns: 0,
	prev_pid: 80,
	prev_tid: 81,
	prev_comm: 'hog',
};

test('a slow wait says who was in the way, unless it was for quota most of the time', () => {
	const line = (throttled_ns: number) => runqlat.text(SLOW).row?.({ ...WAIT, throttled_ns });
	const begin = '03:04:05.006   1 worker           71          10,000 ';
	assert.equal(line(0), `${begin}hog              81\n`);
	assert.equal(line(4.9e6), `${begin}hog              81\n`);
	assert.equal(line(5.1e6), `${begin}(throttled)\n`);
	assert.equal(line(10e6), `${begin}(throttled)\n`);
});
