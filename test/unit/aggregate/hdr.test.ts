import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HistogramLogReader } from 'hdr-histogram-js';
import { HdrLog, percentiles } from '../../../src/aggregate/hdr.js';
import { histogramOf } from '../support.js';

test('percentiles are within 1.6 % of the true ones, over the whole range', async () => {
	const values = fc.array(
		fc.integer({ min: 1, max: 39 }).chain((bits) => fc.integer({ min: 1, max: 2 ** bits })),
		{ minLength: 1, maxLength: 300 },
	);
	await fc.assert(
		fc.asyncProperty(values, async (list) => {
			const sorted = [...list].sort((a, b) => a - b);
			const p = await percentiles(histogramOf(list));
			for (const [name, percent] of [
				['p50', 50],
				['p90', 90],
				['p99', 99],
				['p999', 99.9],
			] as const) {
				const truth = sorted[Math.ceil((percent / 100) * list.length) - 1] as number;
				const error = Math.abs(p[name] - truth) / truth;
				assert.ok(error <= 0.016, `${name} of ${list}: ${p[name]}, not ${truth}`);
			}
		}),
		{ numRuns: 60 },
	);
});

test('of many values each percentile is its own, and no neighbour of it', async () => {
	// Each a thousandth more than the one before: 99 % and 99.9 % are 9 % apart.
	const values = Array.from({ length: 10_000 }, (_, i) => Math.round(1e4 * 1.001 ** i));
	const p = await percentiles(histogramOf(values));
	const truth = { p50: values[4999], p90: values[8999], p99: values[9899], p999: values[9989] };
	for (const [name, true_ns = 0] of Object.entries(truth)) {
		const error = Math.abs(p[name as keyof typeof p] - true_ns) / true_ns;
		assert.ok(error <= 0.016, `${name}: ${p[name as keyof typeof p]}, not ${true_ns}`);
	}
});

test('nothing counted has percentiles of 0', async () => {
	assert.deepEqual(await percentiles(histogramOf([])), { p50: 0, p90: 0, p99: 0, p999: 0 });
});

test('a log can be read back: counts, exact extremes, times and tags', async () => {
	let text = '';
	const log = new HdrLog();
	const start = new Date('2026-01-31T12:00:00Z');
	const histogram = histogramOf([1, 5000, 5000, 123_456_789]);
	text += await log.add({ start, duration_ns: 2e9, tag: 'pid=7', histogram });
	text += await log.add({ start, duration_ns: 2e9, tag: '', histogram: histogramOf([17]) });

	const reader = new HistogramLogReader(text);
	const first = reader.nextIntervalHistogram();
	assert.equal(first?.totalCount, 4);
	assert.equal(first?.tag, 'pid=7');
	assert.equal(first?.minNonZeroValue, 1);
	assert.ok(Math.abs((first?.maxValue ?? 0) - 123_456_789) / 123_456_789 < 0.001);
	assert.equal(first?.startTimeStampMsec, start.getTime());
	assert.equal(first?.endTimeStampMsec, start.getTime() + 2000);
	const second = reader.nextIntervalHistogram();
	assert.equal(second?.totalCount, 1);
	assert.notEqual(second?.tag, 'pid=7');
	assert.equal(reader.nextIntervalHistogram(), null);
});

test('the smallest and the largest value are as they were, wherever they lie in their buckets', async () => {
	for (const [min, max] of [
		[2_000_001, 900_000_000],
		[2_031_000, 915_000_000],
		[5_000_000, 5_010_000],
	] as const) {
		const log = new HdrLog();
		const histogram = histogramOf([min, min, 3_000_000, max, max].filter((ns) => ns <= max));
		const text = await log.add({ start: new Date(0), duration_ns: 1e9, tag: '', histogram });
		const read = new HistogramLogReader(text).nextIntervalHistogram();
		assert.equal(read?.totalCount, histogram.count);
		// HdrHistogram keeps three digits.
		assert.ok(Math.abs((read?.minNonZeroValue ?? 0) / histogram.min_ns - 1) < 0.001, `${min}`);
		assert.ok(Math.abs((read?.maxValue ?? 0) / histogram.max_ns - 1) < 0.001, `${max}`);
		const { p50, p999 } = await percentiles(histogram);
		assert.ok(p50 >= histogram.min_ns && p999 <= histogram.max_ns);
	}
});
