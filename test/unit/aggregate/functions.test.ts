import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameTable } from '../../../src/aggregate/frame-table.js';
import { functionTotals } from '../../../src/aggregate/functions.js';
import { StackTable } from '../../../src/aggregate/stack-table.js';

/** Sums by name of stacks as [frames, value]. */
function totalsOf(recording: readonly (readonly [readonly string[], number])[]) {
	const frames = new FrameTable();
	const stacks = new StackTable();
	for (const [names, value] of recording) {
		const path = names.map((name) => frames.intern(name));
		stacks.add(path, path.length, value);
	}
	const { self, total } = functionTotals(frames, stacks, stacks.values());
	return Object.fromEntries(
		Array.from(self, (own, frame) => [frames.name(frame), [own, total[frame]]]),
	);
}

test('self is of stacks that end there, total of all that pass', () => {
	const totals = totalsOf([
		[['main', 'a'], 3],
		[['main', 'a', 'b'], 4],
		[['main'], 1],
		[['other', 'b'], 0.5],
	]);
	assert.deepEqual(totals, { main: [1, 8], a: [3, 7], b: [4.5, 4.5], other: [0, 0.5] });
});

test('a function that calls itself counts once', () => {
	assert.deepEqual(totalsOf([[['f', 'g', 'f', 'f'], 2]]), { f: [2, 2], g: [0, 2] });
});

test('nothing is counted at stacks without frames, or without a value', () => {
	assert.deepEqual(
		totalsOf([
			[[], 5],
			[['a'], 0],
		]),
		{ a: [0, 0] },
	);
});

test('values go up and down: differences are summed as well', () => {
	assert.deepEqual(
		totalsOf([
			[['a', 'b'], -2],
			[['a', 'c'], 5],
		]),
		{ a: [0, 3], b: [-2, -2], c: [5, 5] },
	);
});

test('self adds up to the sum of all stacks, and no total is more than that', () => {
	const name = fc.constantFrom('a', 'b', 'c', 'd');
	const stack = fc.tuple(fc.array(name, { minLength: 1, maxLength: 6 }), fc.nat(1000));
	fc.assert(
		fc.property(fc.array(stack, { maxLength: 20 }), (recording) => {
			const sum = recording.reduce((all, [, value]) => all + value, 0);
			const totals = Object.entries(totalsOf(recording)) as [string, [number, number]][];
			assert.equal(
				totals.reduce((all, [, [self]]) => all + self, 0),
				sum,
			);
			for (const [each, [, total]] of totals) {
				const passing = recording.filter(([names]) => names.some((name) => name === each));
				assert.equal(
					total,
					passing.reduce((all, [, value]) => all + value, 0),
				);
			}
		}),
	);
});
