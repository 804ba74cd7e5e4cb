import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { profileTotal, type StackProfile } from '../../../../src/aggregate/stack-profile.js';
import {
	changeOf,
	type Difference,
	differenceOf,
	factorOf,
	fateOf,
	functionChanges,
	largestChanges,
	mayBeChance,
	type Normalization,
	sharesOf,
	sideOf,
} from '../../../../src/converters/diff/difference.js';
import { layoutDifference } from '../../../../src/converters/diff/flame.js';
import { anyCounts, type Counts, profileOfStacks } from '../../profiles.js';

function difference(
	before: StackProfile,
	after: StackProfile,
	normalization: Normalization = 'total',
): Difference {
	const sides = { before: sideOf('before', before), after: sideOf('after', after) };
	const factor = factorOf(sides, normalization) ?? assert.fail('no factor');
	return differenceOf({ before, after }, { sides, normalization, factor });
}

function between(before: Counts, after: Counts, normalization?: Normalization): Difference {
	return difference(profileOfStacks(before), profileOfStacks(after), normalization);
}

/** [self before, self after, total before, total after] by name. */
function byName(of: Difference): Record<string, number[]> {
	return Object.fromEntries(
		functionChanges(of).map(({ name, self, total }) => [
			name,
			[self.before, self.after, total.before, total.after],
		]),
	);
}

function stacksOf({ frames, stacks, values }: Difference): Record<string, [number, number]> {
	return Object.fromEntries(
		Array.from(values.before, (before, stack) => [
			Array.from(stacks.frames(stack), (frame) => frames.name(frame)).join(';'),
			[before, values.after[stack] as number],
		]),
	);
}

test('before is brought to the total of after; what is gone and what is new are both there', () => {
	const both = between({ 'main;f': 30, 'main;old;deep': 10 }, { 'main;f': 60, 'main;new': 20 });
	assert.equal(both.factor, 2);
	assert.deepEqual(stacksOf(both), {
		'main;f': [60, 60],
		'main;old;deep': [20, 0],
		'main;new': [0, 20],
	});
	assert.deepEqual(byName(both), {
		main: [0, 0, 80, 80],
		f: [60, 60, 60, 60],
		old: [0, 0, 20, 0],
		deep: [20, 0, 20, 0],
		new: [0, 20, 0, 20],
	});
	const names = (of: 'self' | 'total') =>
		largestChanges(functionChanges(both), of).map(({ name }) => name);
	assert.deepEqual(names('self'), ['deep', 'new']);
	assert.deepEqual(names('total'), ['deep', 'new', 'old']);
});

test('a function that calls itself counts once, on both sides', () => {
	const both = between({ 'main;f;f;f': 4 }, { 'main;f;g;f': 3, 'main;f': 1 });
	assert.deepEqual(byName(both), { main: [0, 0, 4, 4], f: [4, 4, 4, 4], g: [0, 0, 0, 3] });
});

test('the factor: of totals, of durations, none; unknown where there is nothing to divide', () => {
	const side = (total: number, duration_s?: number) =>
		sideOf('x', profileOfStacks({ f: total }, duration_s === undefined ? {} : { duration_s }));
	const factor = (...[before, after, how]: [[number, number?], [number, number?], Normalization]) =>
		factorOf({ before: side(...before), after: side(...after) }, how);
	assert.equal(factor([7, 2], [21, 5], 'total'), 3);
	assert.equal(factor([7, 2], [21, 5], 'duration'), 2.5);
	assert.equal(factor([7, 2], [21, 5], 'none'), 1);
	assert.equal(factor([0], [21], 'total'), undefined);
	assert.equal(factor([7], [0], 'total'), undefined);
	assert.equal(factor([7], [21, 5], 'duration'), undefined);
	assert.equal(factor([0], [21], 'none'), 1);
});

test('a frame that one side knows to be the kernel is the same one, and stays the kernel', () => {
	for (const [before, after] of [
		[{ 'main;read_[k]': 1 }, { 'main;read': 1 }],
		[{ 'main;read': 1 }, { 'main;read_[k]': 1 }],
	] as const) {
		const both = between(before, after);
		assert.deepEqual(stacksOf(both), { 'main;read': [1, 1] });
		const kinds = functionChanges(both).map(({ name, kind }) => [name, kind]);
		assert.deepEqual(kinds, [
			['main', 'user'],
			['read', 'kernel'],
		]);
	}
});

test('where both know, a name in the kernel is not the same name outside', () => {
	const both = between(
		{ 'memcpy;x_[k]': 3, 'memcpy_[k]': 1 },
		{ 'memcpy;x_[k]': 2, 'memcpy_[k]': 2 },
	);
	const memcpys = functionChanges(both).filter(({ name }) => name === 'memcpy');
	assert.deepEqual(
		memcpys.map(({ kind, self }) => [kind, self.before, self.after]),
		[
			['user', 0, 0],
			['kernel', 1, 2],
		],
	);
});

test('a part that is shown is compared by the factor of the whole', () => {
	const [before, after] = [profileOfStacks({ f: 50, g: 50 }), profileOfStacks({ f: 150, g: 50 })];
	const sides = { before: sideOf('b', before), after: sideOf('a', after) };
	const part = differenceOf(
		{ before: profileOfStacks({ f: 50 }), after: profileOfStacks({ f: 150 }) },
		{ sides, normalization: 'total', factor: factorOf(sides, 'total') ?? 0 },
	);
	const [f] = functionChanges(part);
	assert.deepEqual(f?.self, { before: 100, after: 150 });
	assert.deepEqual(sharesOf(f.self, part), { before: 0.5, after: 0.75 });
});

test('a rounding error is no change; new is what was not, gone what is not', () => {
	assert.equal(changeOf({ before: 0.1 + 0.2, after: 0.3 }), 0);
	assert.equal(changeOf({ before: 1, after: 3 }), 2);
	const fates = [
		[0, 1],
		[1, 0],
		[1, 1],
		[0, 0],
	].map(([before = 0, after = 0]) => fateOf({ before, after }));
	assert.deepEqual(fates, ['new', 'gone', '', '']);
});

test('less than two standard errors may be chance; the factor widens them', () => {
	const of = (unit: string | undefined, factor: number) => ({
		...between({ f: 1 }, { f: 1 }),
		unit,
		factor,
	});
	// Of 200 and 250 the error is √450 = 21.2; of 4 × 50 and 250 it is √(16 × 50 + 250) = 32.4.
	assert.equal(mayBeChance({ before: 200, after: 250 }, of('samples', 1)), false);
	assert.equal(mayBeChance({ before: 200, after: 242 }, of('samples', 1)), true);
	assert.equal(mayBeChance({ before: 200, after: 250 }, of('samples', 4)), true);
	assert.equal(mayBeChance({ before: 200, after: 270 }, of('samples', 4)), false);
	assert.equal(mayBeChance({ before: 200, after: 242 }, of('ns', 1)), false);
	assert.equal(mayBeChance({ before: 200, after: 242 }, of(undefined, 1)), false);
});

const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
const near = (a: number, b: number) =>
	assert.ok(Math.abs(a - b) <= 1e-6 * (1 + Math.abs(b)), `${a}, not ${b}`);

test('both sides add up to the total of after, and so do the selfs of functions', () => {
	fc.assert(
		fc.property(anyCounts, anyCounts, (before, after) => {
			const both = between(before, after);
			const total = profileTotal(profileOfStacks(after));
			near(sum(both.values.before), total);
			near(sum(both.values.after), total);
			const changes = functionChanges(both);
			for (const side of ['before', 'after'] as const) {
				near(
					changes.reduce((all, { self }) => all + self[side], 0),
					total,
				);
			}
		}),
	);
});

test('a recording does not differ from itself, nor from twice itself', () => {
	fc.assert(
		fc.property(anyCounts, fc.integer({ min: 1, max: 99 }), (counts, times) => {
			const more = Object.fromEntries(
				Object.entries(counts).map(([stack, value]) => [stack, times * value]),
			);
			const changes = functionChanges(between(counts, more));
			assert.deepEqual(largestChanges(changes, 'self'), []);
			assert.deepEqual(largestChanges(changes, 'total'), []);
		}),
	);
});

test('the other way round every change is the opposite, where nothing is multiplied', () => {
	fc.assert(
		fc.property(anyCounts, anyCounts, (a, b) => {
			const there = byName(between(a, b, 'none'));
			const back = byName(between(b, a, 'none'));
			assert.deepEqual(Object.keys(there).sort(), Object.keys(back).sort());
			for (const [name, [self = 0, selfAfter = 0, total = 0, totalAfter = 0]] of Object.entries(
				there,
			)) {
				assert.deepEqual(back[name], [selfAfter, self, totalAfter, total]);
			}
		}),
	);
});

/** What stands on a box, found stack by stack: before, after, and the larger of both. */
function standing(both: Difference, path: readonly number[], reverse: boolean): number[] {
	const sums = [0, 0, 0];
	for (let stack = 0; stack < both.stacks.size; stack++) {
		const frames = [...both.stacks.frames(stack)];
		if (reverse) frames.reverse();
		if (!path.every((frame, depth) => frames[depth] === frame)) continue;
		const was = both.values.before[stack] as number;
		const is = both.values.after[stack] as number;
		for (const [i, value] of [was, is, Math.max(was, is)].entries()) {
			sums[i] = (sums[i] as number) + value;
		}
	}
	return sums;
}

test('boxes have what stacks that stand on them have, and are as wide as the larger of each', () => {
	fc.assert(
		fc.property(anyCounts, anyCounts, fc.boolean(), (before, after, reverse) => {
			const both = between(before, after);
			const { flame, values } = layoutDifference(both, { minShare: 0, order: 'name', reverse });
			const paths: number[][] = [];
			for (const [index, { parent, frame, weight }] of flame.boxes.entries()) {
				paths.push(parent < 0 ? [] : [...(paths[parent] as number[]), frame]);
				const [was = 0, is = 0, larger = 0] = standing(both, paths[index] as number[], reverse);
				near(values.before[index] as number, was);
				near(values.after[index] as number, is);
				near(weight, larger);
			}
		}),
	);
});

test('boxes: what is gone is as wide as it was', () => {
	const both = between({ 'main;old;deep': 30, 'main;f': 70 }, { 'main;f': 100 });
	const { flame, values } = layoutDifference(both, { minShare: 0, order: 'name', reverse: false });
	const boxes = flame.boxes.map(({ frame, weight }, index) => [
		frame < 0 ? 'all' : both.frames.name(frame),
		weight,
		values.before[index],
		values.after[index],
	]);
	assert.deepEqual(boxes.sort(), [
		['all', 130, 100, 100],
		['deep', 30, 30, 0],
		['f', 100, 70, 100],
		['main', 130, 100, 100],
		['old', 30, 30, 0],
	]);
});
