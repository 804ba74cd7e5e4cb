import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Flame, type FlameOptions, layoutFlame } from '../../../src/aggregate/flame.js';
import type { StackProfile } from '../../../src/aggregate/stack-profile.js';
import { profileOfStacks } from '../profiles.js';

function flameOf(profile: StackProfile, options: Partial<FlameOptions> = {}): Flame {
	const { frames, stacks } = profile;
	const defaults = {
		weights: stacks.values(),
		minShare: 0,
		order: 'name',
		reverse: false,
	} as const;
	return layoutFlame(frames, stacks, { ...defaults, ...options });
}

/** Each box as a line: where it is, and what it is called. */
function drawn(profile: StackProfile, flame: Flame): string[] {
	return flame.boxes
		.map(({ frame, depth, start, weight, self }) => {
			const name = frame < 0 ? 'all' : profile.frames.name(frame);
			return `${depth} ${start}+${weight} ${name}${self > 0 ? ` self ${self}` : ''}`;
		})
		.sort();
}

const PROFILE = profileOfStacks({ 'a;b;c': 5, 'a;b': 2, 'a;z': 1, 'b;c': 4 });

test('boxes stand on their callers, sorted by name; what ends is at the right', () => {
	assert.deepEqual(drawn(PROFILE, flameOf(PROFILE)), [
		'0 0+12 all',
		'1 0+8 a',
		'1 8+4 b',
		'2 0+7 b self 2',
		'2 7+1 z self 1',
		'2 8+4 c self 4',
		'3 0+5 c self 5',
	]);
});

test('reversed: from the leaf; widest first: by weight', () => {
	assert.deepEqual(drawn(PROFILE, flameOf(PROFILE, { reverse: true, order: 'weight' })), [
		'0 0+12 all',
		'1 0+9 c',
		'1 11+1 z',
		'1 9+2 b',
		'2 0+9 b self 4',
		'2 11+1 a self 1',
		'2 9+2 a self 2',
		'3 0+5 a self 5',
	]);
});

test('what is too small is left out with all that stands on it, and counted', () => {
	const flame = flameOf(PROFILE, { minShare: 2 / 12 });
	// What is just as wide as it may be is there.
	const equal = profileOfStacks({ a: 3, b: 1 });
	assert.equal(flameOf(equal, { minShare: 0.25 }).left_out, 0);
	assert.equal(flame.left_out, 1);
	assert.ok(!drawn(PROFILE, flame).some((line) => line.includes('z')));
	assert.deepEqual(drawn(PROFILE, flame)[3], '2 0+7 b self 2', 'its place stays');
	const highest = profileOfStacks({ 'a;b': 11, 'a;b;c': 1 });
	assert.equal(flameOf(highest, { minShare: 2 / 12 }).depth, 2, 'no box, no room for it');
});

test('what is beside one that is left out stays where it is', () => {
	const profile = profileOfStacks({ a: 1, b: 6, 'c;a': 1, 'c;b': 4 });
	assert.deepEqual(drawn(profile, flameOf(profile, { minShare: 2 / 12 })), [
		'0 0+12 all',
		'1 1+6 b self 6',
		'1 7+5 c',
		'2 8+4 b self 4',
	]);
});

test('other weights than values; stacks of 0 are left out', () => {
	const flame = flameOf(PROFILE, { weights: Float64Array.of(0, 3, 0, 1) });
	assert.deepEqual(drawn(PROFILE, flame), [
		'0 0+4 all',
		'1 0+3 a',
		'1 3+1 b',
		'2 0+3 b self 3',
		'2 3+1 c self 1',
	]);
});

test('depth 5,000; nothing at all', () => {
	const deep = profileOfStacks({ [new Array(5000).fill('f').join(';')]: 1 });
	const flame = flameOf(deep);
	assert.equal(flame.boxes.length, 5001);
	assert.equal(flame.depth, 5000);
	assert.deepEqual(drawn(PROFILE, flameOf(profileOfStacks({}))), ['0 0+0 all']);
});

test('any stacks: a box is as wide as what stands on it and what ends there', () => {
	const names = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 8 });
	const stacks = fc.dictionary(
		names.map((path) => path.join(';')),
		fc.integer({ min: 1, max: 1000 }),
	);
	fc.assert(
		fc.property(stacks, fc.boolean(), fc.double({ min: 0, max: 0.2, noNaN: true }), checkFlame),
	);
});

function checkFlame(counts: Record<string, number>, reverse: boolean, minShare: number): void {
	const { boxes } = flameOf(profileOfStacks(counts), { reverse, minShare });
	const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
	assert.equal(boxes[0]?.weight, total);
	const above = boxes.map(() => 0);
	for (const [index, { parent, weight, start, depth }] of boxes.entries()) {
		if (parent < 0) continue;
		const below = boxes[parent];
		assert.ok(below && parent < index && below.depth === depth - 1);
		assert.ok(start >= below.start && start + weight <= below.start + below.weight);
		assert.ok(weight >= minShare * total);
		above[parent] = (above[parent] ?? 0) + weight;
	}
	for (const [index, { weight, self }] of boxes.entries()) {
		if (minShare === 0) assert.equal((above[index] ?? 0) + self, weight);
		else assert.ok((above[index] ?? 0) + self <= weight);
	}
}

test('side by side: by name as code points are in order, or the widest first, and then by name', () => {
	const profile = profileOfStacks({ b: 2, ä: 9, Z: 4, a: 4, aa: 7, _: 4 });
	const side = (order: 'name' | 'weight') =>
		flameOf(profile, { order })
			.boxes.slice(1)
			.sort((x, y) => x.start - y.start)
			.map(({ frame }) => profile.frames.name(frame))
			.join(' ');
	assert.equal(side('name'), 'Z _ a aa b ä');
	assert.equal(side('weight'), 'ä aa Z _ a b');
});
