import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { renderGroups } from '../../../src/render/histogram.js';
import { MICROSECONDS, MILLISECONDS, type TimeUnit } from '../../../src/render/units.js';
import { HOSTILE, histogramOf } from '../support.js';

const options = {
	unit: MICROSECONDS,
	style: { colour: false, width: 80 },
	noun: 'wait',
	top: 0,
};

/** The rows of a rendered histogram. */
function rowsOf(text: string): Array<{ low: number; high: number; count: number; stars: number }> {
	return [...text.matchAll(/^ *(\d+) -> (\d+) *: (\d+) *\|(\**) *\|$/gm)].map((match) => ({
		low: Number(match[1]),
		high: Number(match[2]),
		count: Number(match[3]),
		stars: match[4]?.length ?? 0,
	}));
}

test('looks like the histograms of bcc, with a line of percentiles below', async () => {
	const values = [500, 1500, 3000, 3999, 4000, 70_000, 70_000];
	const text = await renderGroups([{ key: {}, histogram: histogramOf(values) }], options);
	assert.equal(
		text,
		`
     usecs               : count    distribution
         0 -> 1          : 2        |****************************************|
         2 -> 3          : 2        |****************************************|
         4 -> 7          : 1        |********************                    |
         8 -> 15         : 0        |                                        |
        16 -> 31         : 0        |                                        |
        32 -> 63         : 0        |                                        |
        64 -> 127        : 2        |****************************************|
p50 3.98  p90 70.0  p99 70.0  p99.9 70.0  max 70.0 usecs
7 waits, 153 us in all
`,
	);
});

test('every value is in the row of its microseconds', async () => {
	const value = fc.integer({ min: 0, max: 2 ** 39 });
	await fc.assert(
		fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 50 }), async (values) => {
			const group = { key: {}, histogram: histogramOf(values) };
			for (const row of rowsOf(await renderGroups([group], options))) {
				const inRow = values.filter((ns) => {
					const usecs = Math.floor(ns / 1000);
					return usecs >= row.low && usecs <= row.high;
				});
				assert.equal(row.count, inRow.length, `${row.low} -> ${row.high} of ${values}`);
			}
		}),
	);
});

test('milliseconds, when asked for', async () => {
	const histogram = histogramOf([3_500_000, 9_000_000]);
	const text = await renderGroups([{ key: {}, histogram }], { ...options, unit: MILLISECONDS });
	assert.match(text, /msecs/);
	assert.deepEqual(
		rowsOf(text).map(({ low, count }) => [low, count]),
		[
			[0, 0],
			[2, 1],
			[4, 0],
			[8, 1],
		],
	);
});

test('percentiles are in the unit of the rows, up to a million of it', async () => {
	const lineOf = async (unit: TimeUnit, ...values: readonly number[]) => {
		const groups = [{ key: {}, histogram: histogramOf(values) }];
		return /^p50 .*$/m.exec(await renderGroups(groups, { ...options, unit }))?.[0];
	};
	assert.equal(
		await lineOf(MICROSECONDS, 1500, 2_500_000),
		'p50 1.50  p90 2,500  p99 2,500  p99.9 2,500  max 2,500 usecs',
	);
	assert.equal(
		await lineOf(MICROSECONDS, 1500, 999_999_000),
		'p50 1.50  p90 999,999  p99 999,999  p99.9 999,999  max 999,999 usecs',
	);
	assert.equal(
		await lineOf(MICROSECONDS, 1500, 1_250_000_000),
		'p50 1.50 us  p90 1.25 s  p99 1.25 s  p99.9 1.25 s  max 1.25 s',
	);
	assert.equal(
		await lineOf(MILLISECONDS, 1_500_000, 2_500_000_000),
		'p50 1.50  p90 2,500  p99 2,500  p99.9 2,500  max 2,500 msecs',
	);
});

test('groups: largest total first, the rest counted, never silently left out', async () => {
	const groups = [10, 3000, 200].map((ns, pid) => ({ key: { pid }, histogram: histogramOf([ns]) }));
	const text = await renderGroups(groups, { ...options, top: 1 });
	assert.match(text, /^\npid = 1\n/);
	assert.doesNotMatch(text, /pid = 0/);
	assert.match(text, /2 more with 2 waits, 210 ns in all; --top 0 shows them/);
	// Of a single one, its histogram says all that the table would.
	assert.doesNotMatch(text, /in all +p50/);
});

test('--top 0: all groups, however many; and nothing is said to be left out', async () => {
	const groups = Array.from({ length: 30 }, (_, pid) => ({
		key: { pid },
		histogram: histogramOf([pid]),
	}));
	const text = await renderGroups(groups, options);
	const shown = Array.from(text.matchAll(/^pid = (\d+)$/gm), ([, pid]) => Number(pid));
	assert.deepEqual(shown, groups.map(({ key }) => key.pid).reverse());
	assert.doesNotMatch(text, / more with /);
});

test('bars are as long as their share of the longest, and parts of a star are left out', async () => {
	const histogram = many([100, 1000], [99, 3000], [2, 5000]);
	const text = await renderGroups([{ key: {}, histogram }], options);
	assert.deepEqual(
		rowsOf(text).map(({ stars }) => stars),
		[40, 39, 0],
	);
});

test('several groups: a table at the end, a line for each, within the width', async () => {
	const groups = [
		{ key: { pid: 7, comm: 'x'.repeat(100) }, histogram: histogramOf([5000, 5000]) },
		{ key: { pid: 8, comm: 'y' }, histogram: histogramOf([1000]) },
	];
	const lines = (await renderGroups(groups, options)).trimEnd().split('\n').slice(-3);
	assert.equal(lines[0], '   waits   in all      p50      p99      max');
	assert.match(
		lines[1] ?? '',
		/^ {7}2 {2}10\.0 us {2}5\.00 us {2}5\.00 us {2}5\.00 us {2}pid = 7 .*…$/,
	);
	assert.equal(lines[1]?.length, 80);
	assert.match(lines[2] ?? '', / {2}pid = 8 {2}comm = y$/);
});

test('no control character of a name comes out, and no line is wider than 80', async () => {
	for (const comm of HOSTILE) {
		const groups = [{ key: { pid: 4194304, comm }, histogram: histogramOf([1, 2 ** 39]) }];
		const text = await renderGroups(groups, options);
		assert.doesNotMatch(text, /[^\P{Cc}\n]|\u202e/u);
		for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
	}
});

test('says so when there was nothing', async () => {
	assert.equal(await renderGroups([], options), '\nno waits were seen\n');
	const empty = [{ key: {}, histogram: histogramOf([]) }];
	assert.equal(await renderGroups(empty, options), '\nno waits were seen\n');
});

/** So many values of each length. */
const many = (...parts: readonly (readonly [count: number, ns: number])[]) =>
	histogramOf(parts.flatMap(([count, ns]) => Array.from({ length: count }, () => ns)));

/** A number as it was printed, within what a bucket is wide. */
function near(printed: string | undefined, truth: number): void {
	const value = Number(printed?.replace(/,/g, ''));
	assert.ok(Math.abs(value / truth - 1) <= 0.016, `${printed}, not ${truth}`);
}

test('each percentile is printed as what it is', async () => {
	const us = 1000;
	const histogram = many(
		...[[800, 10 * us] as const, [150, 200 * us] as const],
		...[[45, 3000 * us] as const, [4, 40_000 * us] as const, [1, 500_000 * us] as const],
	);
	const text = await renderGroups([{ key: {}, histogram }], options);
	const [, ...printed] =
		/^p50 (\S+) {2}p90 (\S+) {2}p99 (\S+) {2}p99\.9 (\S+) {2}max (\S+) usecs$/m.exec(text) ?? [];
	for (const [i, truth] of [10, 200, 3000, 40_000, 500_000].entries()) near(printed[i], truth);
});

test('several groups: each number of their table is below its heading; the largest sum is first', async () => {
	const mixed = many([90, 5000], [9, 50_000], [1, 800_000]);
	const groups = [
		{ key: { pid: 1 }, histogram: many([1, 1_600_000]) },
		{ key: { pid: 2 }, histogram: mixed },
		{ key: { pid: 3 }, histogram: histogramOf([]) },
	];
	const lines = (await renderGroups(groups, options)).trimEnd().split('\n').slice(-3);
	assert.deepEqual(
		lines.map((line) => line.replace(/^.*pid = /, '')),
		['2', '1', '3'],
	);
	const [count, sum, p50, p99, max] = (lines[0] ?? '').trim().split(/ {2,}/);
	assert.deepEqual([count, sum, max], ['100', '1.70 ms', '800 us']);
	near(p50?.replace(' us', ''), 5);
	near(p99?.replace(' us', ''), 50);
});

test('one is one', async () => {
	const text = async (...values: number[]) =>
		renderGroups([{ key: {}, histogram: histogramOf(values) }], options);
	assert.match(await text(5000), /\n1 wait, 5\.00 us in all\n$/);
	assert.match(await text(5000, 5000), /\n2 waits, 10\.0 us in all\n$/);
});

test('bars are no wider than a narrow terminal has room for', async () => {
	for (const width of [50, 60, 80]) {
		const style = { colour: false, width };
		const text = await renderGroups([{ key: {}, histogram: many([7, 5000]) }], {
			...options,
			style,
		});
		const rows = text.split('\n').filter((line) => line.includes(' -> '));
		assert.deepEqual(new Set(rows.map((row) => row.length)), new Set([Math.min(width, 78)]));
	}
});
