/** How many stacks memleak shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackRow } from '../../../../src/aggregate/stack-rows.js';
import { shownOf } from '../../../../src/tools/memleak/options.js';

const row = (value: number, details?: StackRow['details']): StackRow => ({
	key: { comm: 'server' },
	frames: [],
	parts: [value],
	value,
	count: 1,
	variance: 0,
	...(details ? { details } : {}),
});
const UNASKED = { top: 10, topGiven: false };

test('stacks that together hold less than one per cent are not shown one by one', () => {
	const one = [row(9950), ...Array.from({ length: 9 }, () => row(5))];
	assert.equal(shownOf(one, UNASKED), 1);
	assert.equal(shownOf([row(9900), row(50), row(50)], UNASKED), 2, 'one per cent is not less');
	// Each is small, together they are most of it.
	assert.equal(
		shownOf(
			Array.from({ length: 500 }, () => row(1)),
			UNASKED,
		),
		10,
	);
	assert.equal(shownOf([row(1)], UNASKED), 1);
});

test('a small stack is shown if it is suspect, or asked for', () => {
	const stacks = [row(9950), row(5), row(5, { suspect: true }), row(5)];
	assert.equal(shownOf(stacks, UNASKED), 3);
	assert.equal(shownOf(stacks, { top: 10, topGiven: true }), 10);
	assert.equal(shownOf(stacks, { top: 0, topGiven: true }), 0);
});
