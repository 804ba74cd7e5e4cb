import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { percentiles } from '../../../src/aggregate/hdr.js';
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
