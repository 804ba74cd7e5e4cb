/** Places in what is in ascending order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { firstAtLeast, firstIndex } from '../../src/ascending.js';

test('the first that is not below a value, as looking at one after the other finds it', () => {
	const small = fc.integer({ min: 0, max: 20 });
	fc.assert(
		fc.property(fc.array(small), small, (values, value) => {
			const ascending = Float64Array.from(values).sort();
			const found = ascending.findIndex((each) => each >= value);
			assert.equal(firstAtLeast(ascending, value), found < 0 ? ascending.length : found);
		}),
	);
});

test('the first of equal ones; of none their number; as large as indexes are', () => {
	assert.equal(firstAtLeast([1, 2, 2, 2, 3], 2), 1);
	assert.equal(firstAtLeast([], 2), 0);
	assert.equal(firstAtLeast([1], 2), 1);
	assert.equal(firstAtLeast([1, 2], Number.NaN), 2);
	for (const index of [0, 1, 2 ** 31, 2 ** 52]) {
		assert.equal(
			firstIndex(2 ** 53, (i) => i >= index),
			index,
		);
	}
});

test('no index is asked that is not there', () => {
	for (let count = 0; count < 40; count++) {
		for (let first = 0; first <= count; first++) {
			const found = firstIndex(count, (i) => {
				assert.ok(i >= 0 && i < count);
				return i >= first;
			});
			assert.equal(found, first);
		}
	}
});
