/** Waits that come one by one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepFrom } from '../../../src/waits/records.js';

test('of a wait that began before the window, what is in it counts; of one that was over, nothing', () => {
	const wait = (begin_ns: number, end_ns: number) => ({
		...{ begin_ns, end_ns, weighed_ns: 400, variance: 16, throttled_ns: 40, waking_ns: 8 },
	});
	const across = wait(600, 1000);
	assert.equal(keepFrom(across, 900), true);
	assert.deepEqual(across, {
		...{ begin_ns: 900, end_ns: 1000, weighed_ns: 100, variance: 1 },
		...{ throttled_ns: 10, waking_ns: 2 },
	});
	const within = wait(900, 1000);
	assert.equal(keepFrom(within, 900), true);
	assert.deepEqual(within, wait(900, 1000));
	assert.equal(keepFrom(wait(600, 900), 900), false);
	// No window yet.
	assert.equal(keepFrom(wait(0, 1), 0), true);
});
