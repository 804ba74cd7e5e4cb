import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forgottenPid } from '../../../src/run/forgotten-pid.js';

const nameOf = (pid: number) => (pid === 31_960 ? 'redis-server' : undefined);

test('a number that a process has and that is a long time may be meant as that process', () => {
	assert.equal(
		forgottenPid(31_960, ['why', '31960'], nameOf),
		'31960 is a time here, 9 hours; for process 31960 (redis-server): -p 31960',
	);
});

test('a shorter time is in minutes', () => {
	assert.match(
		forgottenPid(600, ['why', '600'], () => 'app') ?? '',
		/^600 is a time here, 10 minutes;/,
	);
});

test('a time with a unit, a short one, and a number that no process has are what they say', () => {
	assert.equal(forgottenPid(31_960, ['why', '31960s'], nameOf), undefined);
	assert.equal(forgottenPid(31_961, ['why', '31961'], nameOf), undefined);
	assert.equal(
		forgottenPid(299, ['why', '299'], () => 'app'),
		undefined,
	);
	assert.equal(
		forgottenPid(undefined, ['why'], () => 'app'),
		undefined,
	);
});
