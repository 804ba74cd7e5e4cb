import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HistogramLogReader } from 'hdr-histogram-js';
import { percentiles } from '../../../src/aggregate/hdr.js';
import { HdrLog } from '../../../src/render/hdr-log.js';
import { histogramOf } from '../support.js';

test('a log can be read back: counts, exact extremes, times and tags', async () => {
	let text = '';
	const log = new HdrLog();
	const start = new Date('2026-01-31T12:00:00Z');
	const histogram = histogramOf([1, 5000, 5000, 123_456_789]);
	text += await log.add({ start, duration_ns: 2e9, key: { pid: 7 }, histogram });
	text += await log.add({ start, duration_ns: 2e9, key: {}, histogram: histogramOf([17]) });

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
		const text = await log.add({ start: new Date(0), duration_ns: 1e9, key: {}, histogram });
		const read = new HistogramLogReader(text).nextIntervalHistogram();
		assert.equal(read?.totalCount, histogram.count);
		// HdrHistogram keeps three digits.
		assert.ok(Math.abs((read?.minNonZeroValue ?? 0) / histogram.min_ns - 1) < 0.001, `${min}`);
		assert.ok(Math.abs((read?.maxValue ?? 0) / histogram.max_ns - 1) < 0.001, `${max}`);
		const { p50, p999 } = await percentiles(histogram);
		assert.ok(p50 >= histogram.min_ns && p999 <= histogram.max_ns);
	}
});

test('the name of a group breaks no line, and none of its fields', async () => {
	const key = { comm: 'a b,c\n\u202ed', pid: 7 };
	const histogram = histogramOf([17]);
	const text = await new HdrLog().add({ start: new Date(0), duration_ns: 1e9, key, histogram });
	assert.equal(new HistogramLogReader(text).nextIntervalHistogram()?.tag, 'comm=a_b_c__d;pid=7');
});

test('the head stands once; the largest value of each interval is there in milliseconds', async () => {
	const log = new HdrLog();
	const start = new Date('2026-01-31T12:00:00.500Z');
	let text = '';
	for (const [second, max_ns] of [123_456_789, 2_000_000].entries())
		text += await log.add({
			start: new Date(start.getTime() + 1000 * second),
			duration_ns: 1e9,
			key: {},
			histogram: histogramOf([5000, max_ns]),
		});
	assert.equal(text.match(/StartTime:/g)?.length, 1);
	assert.equal(text.match(/^"StartTimestamp"/gm)?.length, 1);
	const [, started] = /^#\[StartTime: ([\d.]+) /m.exec(text) ?? [];
	assert.equal(Number(started), start.getTime() / 1000);
	const largest_ms = text
		.split('\n')
		.filter((line) => /^\d/.test(line))
		.map((line) => Number(line.split(',')[2]));
	for (const [i, ms] of [123.456789, 2].entries())
		assert.ok(Math.abs((largest_ms[i] ?? 0) / ms - 1) < 0.001, `${largest_ms}`);
});
