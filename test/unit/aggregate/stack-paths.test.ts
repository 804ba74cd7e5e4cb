import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Frame } from '../../../src/aggregate/stack.js';
import { pathsBy } from '../../../src/aggregate/stack-paths.js';

const FRAMES: readonly Frame[] = ['a', 'b', 'c'].map((name) => ({ name, kind: 'user' }));
const numberOf = (frame: Frame) => 10 + FRAMES.indexOf(frame);

test('paths: the number of each frame, whichever stack came before', () => {
	fc.assert(
		fc.property(fc.array(fc.array(fc.constantFrom(...FRAMES))), (stacks) => {
			const pathOf = pathsBy(numberOf);
			for (const frames of stacks) assert.deepEqual([...pathOf(frames)], frames.map(numberOf));
		}),
	);
});

test('paths: frames with which the stack before began are not looked up again', () => {
	const asked: Frame[] = [];
	const pathOf = pathsBy((frame) => asked.push(frame));
	const [a, b, c] = FRAMES as [Frame, Frame, Frame];
	for (const frames of [[a, b], [a, b, c], [a], [a, c]]) pathOf(frames);
	assert.deepEqual(asked, [a, b, c, c]);
});
