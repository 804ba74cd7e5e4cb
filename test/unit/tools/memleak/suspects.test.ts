import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GrowthHistory } from '../../../../src/tools/memleak/suspects.js';

const sums = (values: Record<string, number>) => new Map(Object.entries(values));

test('growth is since the interval before; all of it in the first', () => {
	const history = new GrowthHistory<string>(2);
	history.next(sums({ a: 10, b: 5 }));
	assert.deepEqual(history.of(['a']), { growth: 10, suspect: false });
	assert.deepEqual(history.of(['a', 'b']), { growth: 15, suspect: false });
	history.next(sums({ a: 12, b: 1 }));
	assert.deepEqual(history.of(['a']), { growth: 2, suspect: true });
	assert.deepEqual(history.of(['b']), { growth: -4, suspect: false });
	assert.deepEqual(history.of(['a', 'b']), { growth: -2, suspect: false });
	history.next(sums({ a: 12, b: 1 }));
	assert.deepEqual(history.of(['a']), { growth: 0, suspect: false });
	assert.deepEqual(history.of(['of nobody']), { growth: 0, suspect: false });
});

test('two that read the same grow together, by turns too, whatever they were called before', () => {
	const history = new GrowthHistory<bigint>(3);
	for (const [a, b] of [
		[100n, 0n],
		[100n, 100n],
		[200n, 100n],
	] as const) {
		history.next(
			new Map([
				[1n, Number(a)],
				[2n, Number(b)],
			]),
		);
	}
	assert.deepEqual(history.of([1n, 2n]), { growth: 100, suspect: true });
	assert.deepEqual(history.of([2n]), { growth: 0, suspect: false });
});

test('the same as adding up what is taken together in each interval', () => {
	const series = fc.array(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 3, maxLength: 3 }));
	fc.assert(
		fc.property(series, fc.integer({ min: 1, max: 4 }), (intervals, after) => {
			const history = new GrowthHistory<number>(after);
			const totals = [0];
			for (const values of intervals) {
				history.next(new Map(values.entries()));
				totals.push(values.reduce((sum, value) => sum + value, 0));
				const grew = totals.slice(1).map((total, i) => total - (totals[i] as number));
				assert.deepEqual(history.of([0, 1, 2]), {
					growth: grew.at(-1),
					suspect: grew.length >= after && grew.slice(-after).every((by) => by > 0),
				});
			}
		}),
	);
});
