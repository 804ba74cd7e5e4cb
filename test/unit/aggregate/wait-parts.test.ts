/** Parts of waits have the names that users read, and code finds the blocked one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	BLOCKED,
	blockedOf,
	isBlocked,
	onlyBlocked,
	othersOf,
	THROTTLED,
	WAIT_PARTS,
	withBlocked,
} from '../../../src/aggregate/wait-parts.js';

test('names, by their number in the kernel', () => {
	assert.deepEqual(WAIT_PARTS, ['blocked', 'run queue', 'preempted', 'throttled']);
	assert.deepEqual([BLOCKED, THROTTLED], ['blocked', 'throttled']);
});

test('the blocked part, and the others', () => {
	const parts = [5, 0, 7, 9];
	assert.equal(blockedOf({ parts }), 5);
	assert.equal(blockedOf({ parts: [] }), 0);
	assert.deepEqual(othersOf({ parts }), [0, 0, 7, 9]);
	assert.deepEqual(withBlocked(parts, 3), [3, 0, 7, 9]);
	assert.deepEqual(onlyBlocked(4), [4, 0, 0, 0]);
	assert.deepEqual(
		[parts, onlyBlocked(4), [6]].map((each) => isBlocked({ parts: each })),
		[false, true, true],
	);
});
