import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTheirFrames } from '../../../../src/runtimes/python/alignment.js';
import { LAYOUT, LAYOUT_3_9, LAYOUT_3_10 } from './memory.js';

const { evalStart: LOOP, evalEnd } = LAYOUT_3_9;
const IN_C = evalEnd;
/** Leaf first: a C frame of the interpreter's, another one's, and so on. */
const LOOPS = [LOOP + 1, IN_C, evalEnd - 1, LOOP, IN_C];

const placed = (
	functions: Readonly<Record<number, string>>,
	{ layout = LAYOUT_3_9, offsets = LOOPS } = {},
) =>
	Object.fromEntries(
		inTheirFrames(
			layout,
			offsets,
			new Map(Object.entries(functions).map(([i, of]) => [Number(i), of])),
		),
	);

test('one function less than C frames: each belongs to the one further out', () => {
	assert.deepEqual(placed({ 0: 'caller', 2: 'root' }), { 2: 'caller', 3: 'root' });
	// The leaf is what the loop has called.
	const called = { offsets: [IN_C, LOOP, LOOP, IN_C] };
	assert.deepEqual(placed({ 1: 'root' }, called), { 2: 'root' });
});

test('what is where it belongs stays there', () => {
	const all = { 0: 'leaf', 2: 'caller', 3: 'root' };
	assert.deepEqual(placed(all), all);
	// It waits: no function of its thread begins or ends.
	const waiting = { 2: 'leaf' };
	assert.deepEqual(placed(waiting, { offsets: [IN_C, IN_C, LOOP, LOOP, IN_C] }), waiting);
	// Another one is missing: that has another reason.
	assert.deepEqual(placed({ 2: 'caller', 3: 'root' }), { 2: 'caller', 3: 'root' });
	assert.deepEqual(placed({ 0: 'leaf' }), { 0: 'leaf' });
	// There was no room for the last one.
	const cut = { 0: 'leaf', 1: 'caller' };
	assert.deepEqual(placed(cut, { offsets: [LOOP, LOOP, LOOP] }), cut);
	assert.deepEqual(placed({}, { offsets: [] }), {});
});

test('other versions say which C frame runs a function', () => {
	for (const layout of [LAYOUT, LAYOUT_3_10])
		assert.deepEqual(placed({ 0: 'caller', 2: 'root' }, { layout }), { 0: 'caller', 2: 'root' });
});
