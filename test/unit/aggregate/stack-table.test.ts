import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameTable } from '../../../src/aggregate/frame-table.js';
import { FRAME_KINDS } from '../../../src/aggregate/stack.js';
import { StackTable } from '../../../src/aggregate/stack-table.js';

test('frames: a number for each name and kind, however many', () => {
	const table = new FrameTable();
	const names = Array.from({ length: 20_000 }, (_, i) => `function_${i}`);
	const numbers = names.map((name) => table.intern(name));
	assert.equal(new Set(numbers).size, names.length);
	assert.deepEqual(
		names.map((name) => table.intern(name)),
		numbers,
	);
	assert.notEqual(table.intern('function_1', 'kernel'), table.intern('function_1'));
	assert.deepEqual(table.frame(table.intern('function_1', 'kernel')), {
		name: 'function_1',
		kind: 'kernel',
	});
	assert.equal(table.size, names.length + 1);
});

test('frames: every name comes back', () => {
	fc.assert(
		fc.property(fc.array(fc.string({ unit: 'grapheme' })), (names) => {
			const table = new FrameTable();
			const numbers = names.map((name) => table.intern(name));
			assert.deepEqual(
				numbers.map((number) => table.name(number)),
				names,
			);
			assert.equal(table.size, new Set(names).size);
		}),
	);
});

test('stacks: each kept once, in the order they came, values by column', () => {
	fc.assert(
		fc.property(
			fc.array(fc.tuple(fc.array(fc.integer({ min: 0, max: 3 })), fc.integer({ min: 0, max: 9 }))),
			(adds) => {
				const table = new StackTable(2);
				const first = new Map<string, number>();
				const second = new Map<string, number>();
				for (const [path, value] of adds) {
					table.add(path, path.length, value);
					table.add(path, path.length, 2 * value, 1);
					first.set(path.join(), (first.get(path.join()) ?? 0) + value);
					second.set(path.join(), (second.get(path.join()) ?? 0) + 2 * value);
				}
				const paths = Array.from({ length: table.size }, (_, i) => table.frames(i).join());
				assert.deepEqual(paths, [...first.keys()]);
				assert.deepEqual([...table.values()], [...first.values()]);
				assert.deepEqual([...table.values(1)], [...second.values()]);
			},
		),
	);
});

test('stacks: more frames than a chunk holds', () => {
	const table = new StackTable();
	const path = new Int32Array(60_000).fill(7);
	for (let i = 0; i < 50; i++) {
		path[0] = i;
		table.add(path, path.length, i);
	}
	assert.equal(table.size, 50);
	assert.equal(table.frameAt(40, 0), 40);
	assert.equal(table.frameAt(40, 59_999), 7);
	assert.equal(table.frames(49).length, 60_000);
});

test('tables say when there is too much for them', () => {
	const frames = new FrameTable(10);
	frames.intern('12345');
	frames.intern('67890');
	assert.equal(frames.intern('12345'), 0);
	assert.throws(() => frames.intern('x'), /names of its frames take more than 10 bytes/);
	const stacks = new StackTable(1, 4);
	stacks.add([1, 2], 2, 1);
	stacks.add([2, 1], 2, 1);
	stacks.add([1, 2], 2, 1);
	assert.throws(() => stacks.add([3], 1, 1), /2 different stacks of 4 frames/);
	assert.deepEqual([...stacks.values()], [2, 1]);
});

test('frames: each kind comes back, and is another frame', () => {
	const table = new FrameTable();
	const kinds = FRAME_KINDS;
	const numbers = kinds.map((kind) => table.intern('f', kind));
	assert.deepEqual(
		numbers.map((number) => table.kind(number)),
		kinds,
	);
	assert.deepEqual(
		numbers.map((number) => table.frame(number)),
		kinds.map((kind) => ({ name: 'f', kind })),
	);
});

test('stacks: one that begins like another is another', () => {
	const table = new StackTable();
	for (const path of [[1, 2], [1], [], [1, 2, 3], [1, 3]]) table.add(path, path.length, 1);
	table.add([1, 2, 3, 4], 3, 1);
	assert.deepEqual([...table.values()], [1, 1, 1, 2, 1]);
	const depths = Array.from({ length: table.size }, (_, stack) => table.depth(stack));
	assert.deepEqual(depths, [2, 1, 0, 3, 2]);
	assert.deepEqual([table.frameAt(3, 0), table.frameAt(3, 2)], [1, 3]);
	assert.deepEqual([...table.frames(3)], [1, 2, 3]);
});

test('stacks: the bound holds for the frames of all of them, wherever they are kept', () => {
	const DEPTH = 60_000;
	const stacks = new StackTable(1, 1_900_000);
	assert.throws(() => {
		for (let i = 0; i < 40; i++) stacks.add(new Int32Array(DEPTH).fill(i), DEPTH, 1);
	}, /different stacks of/);
	assert.ok(stacks.size > 25, `${stacks.size}`);
});
