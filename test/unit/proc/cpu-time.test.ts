/** The CPU time of the machine, as /proc/stat has it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyShare, cpuTime, cpuTimeIn, cpuTimeSince } from '../../../src/proc/cpu-time.js';

test('busy is user, nice and system; stolen is by itself; guests are in user already', () => {
	const stat = 'cpu  1 20 300 4000 50000 600000 7000000 80 900 1000\ncpu0 9 9 9 9 9 9 9 9 9 9\n';
	assert.deepEqual(cpuTimeIn(stat), {
		...{ all_ns: 7_654_401 * 1e7, idle_ns: 54_000 * 1e7, busy_ns: 321 * 1e7, stolen_ns: 80 * 1e7 },
	});
});

test('a kernel that tells less, or nothing, has zeros', () => {
	const some = { all_ns: 13 * 1e7, idle_ns: 7 * 1e7, busy_ns: 6 * 1e7, stolen_ns: 0 };
	assert.deepEqual(cpuTimeIn('cpu  5 0 1 7\n'), some);
	const none = { all_ns: 0, idle_ns: 0, busy_ns: 0, stolen_ns: 0 };
	assert.deepEqual(cpuTimeIn('intr 1 2 3\n'), none);
});

test('the machine here has been busy', () => {
	assert.ok(cpuTime().busy_ns > 0);
});

test('between two moments, and for how much of it the CPUs were busy', () => {
	const before = cpuTimeIn('cpu  100 10 30 800 50 4 5 1 70 7\n');
	const now = cpuTimeIn('cpu  160 10 30 820 70 4 5 4 0 0\n');
	const since = cpuTimeSince(before, now);
	assert.deepEqual(since, {
		...{ all_ns: 103 * 1e7, idle_ns: 40 * 1e7, busy_ns: 60 * 1e7, stolen_ns: 3 * 1e7 },
	});
	assert.equal(busyShare(since), 1 - 40 / 103);
	assert.equal(busyShare(cpuTimeSince(before, before)), undefined);
	// Idle time of a CPU can go back a little, and then be more than all: proc_stat(5), iowait.
	assert.equal(busyShare({ ...since, all_ns: 10, idle_ns: 11 }), 0);
	assert.equal(busyShare({ ...since, all_ns: 10, idle_ns: -1 }), 1);
});
