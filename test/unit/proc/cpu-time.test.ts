/** The CPU time of the machine, as /proc/stat has it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuTime, cpuTimeIn } from '../../../src/proc/cpu-time.js';

test('busy is user, nice and system; stolen is by itself; guests are in user already', () => {
	const stat = 'cpu  1 20 300 4000 50000 600000 7000000 80 900 1000\ncpu0 9 9 9 9 9 9 9 9 9 9\n';
	assert.deepEqual(cpuTimeIn(stat), { busy_ns: 321 * 1e7, stolen_ns: 80 * 1e7 });
});

test('a kernel that tells less, or nothing, has zeros', () => {
	assert.deepEqual(cpuTimeIn('cpu  5 0 1 7\n'), { busy_ns: 6 * 1e7, stolen_ns: 0 });
	assert.deepEqual(cpuTimeIn('intr 1 2 3\n'), { busy_ns: 0, stolen_ns: 0 });
});

test('the machine here has been busy', () => {
	assert.ok(cpuTime().busy_ns > 0);
});
