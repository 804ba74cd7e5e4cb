import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BUCKETS, bucketOf, lowOf, middleOf } from '../../../src/aggregate/buckets.js';
import { histogramOf } from '../support.js';

const anyValue = fc.oneof(
	fc.nat({ max: 4096 }),
	fc.integer({ min: 0, max: 40 }).chain((bits) => fc.integer({ min: 0, max: 2 ** bits })),
	fc.maxSafeInteger().map(Math.abs),
);

test('a value lies in its bucket', () => {
	fc.assert(
		fc.property(anyValue, (value) => {
			const bucket = bucketOf(value);
			assert.ok(Number.isInteger(bucket) && bucket >= 0 && bucket < BUCKETS);
			assert.ok(lowOf(bucket) <= value);
			if (value < 2 ** 40) assert.ok(value < lowOf(bucket + 1));
		}),
	);
});

test('every bucket begins with a value that belongs in it, and they follow without a gap', () => {
	for (let bucket = 0; bucket < BUCKETS; bucket++) {
		assert.equal(bucketOf(lowOf(bucket)), bucket);
		if (bucket > 0) assert.equal(bucketOf(lowOf(bucket) - 1), bucket - 1);
	}
	assert.equal(lowOf(BUCKETS), 2 ** 40);
});

test('the middle of a bucket is at most 1/128 away from any value in it', () => {
	fc.assert(
		fc.property(fc.integer({ min: 1, max: 2 ** 40 - 1 }), (value) => {
			const error = Math.abs(middleOf(bucketOf(value)) - value) / value;
			assert.ok(error <= 1 / 128, `${value}: ${error}`);
		}),
	);
});

test('1000 * 2^k ns is where a bucket begins, so that rows in microseconds are exact', () => {
	for (let value = 1000; value < 2 ** 40; value *= 2) {
		assert.equal(lowOf(bucketOf(value)), value);
	}
});

test('a histogram says where its buckets begin and end, the smallest first', () => {
	const values = [123_456_789, 1500, 1500, 17];
	const ranges = histogramOf(values).ranges();
	assert.deepEqual(
		ranges.map(([, , count]) => count),
		[1, 2, 1],
	);
	for (const [i, value] of [17, 1500, 123_456_789].entries()) {
		const [low = 0, high = 0] = ranges[i] ?? [];
		assert.ok(low <= value && value < high, `${low} ${value} ${high}`);
		assert.equal(high, lowOf(bucketOf(value) + 1));
	}
});
