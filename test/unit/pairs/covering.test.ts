import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { coveringRows, type Model } from '../../pairs/covering.js';

/** Levels of which some cannot be together, whatever else is there. */
function modelOf(options: readonly number[], apart: readonly (readonly [number, number])[]): Model {
	const clash = (a: number, b: number) =>
		options[a] === options[b] ||
		apart.some(([one, other]) => (one === a && other === b) || (one === b && other === a));
	const allowed = (row: readonly number[]) =>
		row.every((a, i) => row.slice(i + 1).every((b) => !clash(a, b)));
	return { options, allowed, together: (a, b) => (clash(a, b) ? undefined : [a, b]) };
}

/** What rows have: options in twos, and levels. */
function reached(rows: ReadonlyArray<readonly number[]>, options: readonly number[]): Set<string> {
	const all = rows.flatMap((row) =>
		row.flatMap((a) => [`${a}`, ...row.map((b) => `${options[a]} ${options[b]}`)]),
	);
	return new Set(all);
}

test('ten options that agree with each other: one row has all', () => {
	const { rows, apart } = coveringRows(modelOf([...Array(10).keys()], []));
	assert.deepEqual(
		rows.map((row) => [...row].sort((a, b) => a - b)),
		[[...Array(10).keys()]],
	);
	assert.deepEqual(apart, []);
});

test('an option with four values, among flags: four rows, and a pair of options is there once at least', () => {
	const options = [0, 0, 0, 0, 1, 2, 3];
	const { rows } = coveringRows(modelOf(options, []));
	assert.equal(rows.length, 4);
	const has = reached(rows, options);
	for (const each of ['0 1', '0 2', '0 3', '1 2', '1 3', '2 3', '0', '1', '2', '3'])
		assert.ok(has.has(each), each);
});

test('two that cannot be together are in no row, and are named', () => {
	const { rows, apart } = coveringRows(modelOf([0, 1, 2], [[0, 2]]));
	assert.deepEqual(apart, [[0, 2]]);
	assert.ok(rows.every((row) => !(row.includes(0) && row.includes(2))));
	assert.equal(rows.length, 2);
});

test('one that needs a third is there with it', () => {
	const model: Model = {
		options: [0, 1, 2],
		allowed: (row) => !row.includes(0) || row.includes(2),
		together: (a, b) => (a === 0 || b === 0 ? [...new Set([a, b, 2])] : [a, b]),
	};
	const { rows } = coveringRows(model);
	assert.ok(rows.every(model.allowed));
	assert.ok(reached(rows, model.options).has('0 1'));
});

test('whatever cannot be together: all else is covered, no row has what it must not', () => {
	const models = fc
		.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 8 })
		.chain((counts) => {
			const options = counts.flatMap((count, option) => Array(count).fill(option) as number[]);
			const level = fc.nat({ max: options.length - 1 });
			return fc.record({
				options: fc.constant(options),
				apart: fc.array(fc.tuple(level, level), { maxLength: 12 }),
			});
		});
	fc.assert(
		fc.property(models, ({ options, apart }) => {
			const model = modelOf(options, apart);
			const { rows } = coveringRows(model);
			const has = reached(rows, options);
			for (const row of rows) assert.ok(model.allowed(row));
			for (const a of options.keys()) {
				for (const b of options.keys()) {
					if (!model.together(a, b)) continue;
					assert.ok(has.has(`${options[a]} ${options[b]}`) && has.has(`${a}`));
				}
			}
			assert.ok(rows.length <= options.length ** 2);
		}),
	);
});
