/** Which objects a kind of wait can be for, and their sums. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	fittingObjects,
	mergeObjects,
	type ObjectShare,
	type WaitObject,
} from '../../../src/aggregate/wait-object.js';

const share = (object: WaitObject, value: number, count = 3, variance = 5): ObjectShare => ({
	object,
	value,
	count,
	variance,
});
const file: WaitObject = { type: 'file', path: '/a' };
const mapped: WaitObject = { type: 'file', path: '/b', mapped: true };
const unknown: WaitObject = { type: 'unknown', why: 'one of several' };
const child: WaitObject = { type: 'child', pid: 7, comm: 'make' };

test('what a call is about is no object of a wait for something else', () => {
	const all = [share(file, 10), share(mapped, 20), share(unknown, 30), share(child, 40)];
	const of = (kind: string) => fittingObjects(kind, all).map(({ object }) => object);
	assert.deepEqual(of('disk read'), [unknown, file]);
	assert.deepEqual(of('page fault'), [unknown, mapped]);
	assert.deepEqual(of('child'), [child, unknown]);
	assert.deepEqual(of('memory reclaim'), []);
	assert.deepEqual(of('other: anything'), []);
});

test('the same object is added up: values, counts and variances; the largest comes first', () => {
	const sums = mergeObjects([
		share(file, 10, 1, 2),
		share(child, 25),
		share({ ...file }, 20, 4, 8),
	]);
	assert.deepEqual(sums, [share(file, 30, 5, 10), share(child, 25)]);
});
