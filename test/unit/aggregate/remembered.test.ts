import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remembered } from '../../../src/aggregate/remembered.js';

test('each is asked for once, however often it comes, and without a bound none is forgotten', () => {
	const asked: number[] = [];
	const twice = remembered((n: number) => {
		asked.push(n);
		return 2 * n;
	});
	for (let i = 0; i < 3; i++) for (let n = 0; n < 1000; n++) assert.equal(twice(n), 2 * n);
	assert.equal(asked.length, 1000);
});

test('ever new ones: no more than the bound are kept, and all are right', () => {
	const MOST = 100;
	let asked = 0;
	// What is still kept can be told by those that are not asked for again.
	const twice = remembered((n: number) => {
		asked++;
		return 2 * n;
	}, MOST);
	for (let n = 0; n < 10 * MOST; n++) assert.equal(twice(n), 2 * n);
	assert.equal(asked, 10 * MOST);
	for (let n = 0; n < 10 * MOST; n++) assert.equal(twice(n), 2 * n);
	assert.ok(asked >= 20 * MOST - MOST, `${asked} asked for`);
	// And as many as that are.
	const few = remembered((n: number) => ++asked && n, MOST);
	asked = 0;
	for (let i = 0; i < 5; i++) for (let n = 0; n < MOST; n++) few(n);
	assert.equal(asked, MOST);
});
