/** Threads that wait for each other's mutexes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadlocks } from '../../../src/aggregate/deadlocks.js';

const waits = (...pairs: readonly (readonly [tid: number, owner: number])[]) =>
	pairs.map(([tid, owner]) => ({ tid, comm: `t${tid}`, owner }));
const circlesOf = (...pairs: readonly (readonly [number, number])[]) =>
	deadlocks(waits(...pairs)).map((circle) => circle.map(({ tid }) => tid));

test('who waits for a thread that runs is in no circle', () => {
	assert.deepEqual(circlesOf([1, 2], [2, 3], [4, 3]), []);
});

test('each circle is told once, without those who only wait for one in it', () => {
	assert.deepEqual(circlesOf([9, 1], [1, 2], [2, 3], [3, 1], [8, 3]), [[1, 2, 3]]);
	assert.deepEqual(circlesOf([1, 2], [2, 1], [5, 6], [6, 5]), [
		[1, 2],
		[5, 6],
	]);
});

test('a thread that locks its own mutex again is a circle of one', () => {
	assert.deepEqual(circlesOf([1, 1], [2, 1]), [[1]]);
});
