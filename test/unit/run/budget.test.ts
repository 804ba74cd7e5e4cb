import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Budget } from '../../../src/run/budget.js';
import { percentAbove } from '../../../src/run/overhead.js';

test('the limit is for each CPU', () => {
	assert.equal(new Budget(undefined, 4).limit_pct, 20);
	assert.equal(new Budget(0.5, 4).limit_pct, 2);
});

test('one measurement above the limit may be a burst, two in a row are not', () => {
	const budget = new Budget(1, 2);
	assert.equal(budget.judge(2), 'fine');
	assert.equal(budget.judge(2.1), 'look again');
	assert.equal(budget.judge(1.9), 'fine');
	assert.equal(budget.judge(2.1), 'look again');
	assert.equal(budget.judge(2.1), 'act');
	assert.equal(budget.judge(2.1), 'look again', 'after something was done');
});

test('where no limit was set, there is one warning', () => {
	const budget = new Budget(undefined, 2);
	assert.deepEqual(
		[11, 11, 11, 11, 11].map((pct) => budget.judge(pct)),
		['look again', 'warn', 'look again', 'fine', 'look again'],
	);
});

test('a cost above the limit reads as above it', () => {
	assert.equal(percentAbove(10.04, 10), 10.04);
	assert.equal(percentAbove(10.0001, 10), 10.0001);
	assert.equal(percentAbove(122.4, 10), 122);
});
