import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Histogram } from '../../../src/aggregate/histogram.js';
import { histogramOf } from '../support.js';

const added = fc.array(
	fc.record({ bucket: fc.integer({ min: 0, max: 3 }), count: fc.integer({ min: 1, max: 9 }) }),
);

test('each bucket has the sum of what was added, in whatever order, at once or as histograms', () => {
	fc.assert(
		fc.property(added, added, (own, others) => {
			const histogram = new Histogram();
			const other = new Histogram();
			const sums = new Map<number, number>();
			for (const { bucket, count } of own) histogram.addBucket(bucket, count);
			for (const { bucket, count } of others) other.addBucket(bucket, count);
			histogram.add(other);
			for (const { bucket, count } of [...own, ...others])
				sums.set(bucket, (sums.get(bucket) ?? 0) + count);
			const expected = [...sums].sort(([a], [b]) => a - b);
			assert.deepEqual(
				histogram.buckets(),
				expected.map(([bucket, count]) => ({ bucket, count })),
			);
			assert.equal(
				histogram.count,
				expected.reduce((sum, [, count]) => sum + count, 0),
			);
		}),
	);
});

test('the sum, the smallest and the largest are of all that was added, in whatever order', () => {
	const filled = (...values: readonly number[]) => histogramOf(values);
	for (const [own, other] of [
		[filled(5, 900), filled(20, 70)],
		[filled(20, 70), filled(5, 900)],
		[new Histogram(), filled(5, 20, 70, 900)],
		[filled(5, 20, 70, 900), new Histogram()],
	] as const) {
		own.add(other);
		assert.deepEqual([own.count, own.sum_ns, own.min_ns, own.max_ns], [4, 995, 5, 900]);
	}
});
