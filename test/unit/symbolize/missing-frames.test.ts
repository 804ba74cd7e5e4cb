import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CapturedStack } from '../../../src/aggregate/stack.js';
import { Place } from '../../../src/symbolize/code-place.js';
import { MissingFrames, withinStack } from '../../../src/symbolize/missing-frames.js';

const placesOf = (names: string) =>
	names.split(' ').map((name) => new Place({ name, kind: 'user' }));

const GO = 'runtime.futex.abi0 runtime.schedule';
/** Leaf first; what was walked, and what of it is the stack. */
const STACKS = {
	// Behind them lies what was there before.
	[`${GO} runtime.mcall runtime.newproc.abi0`]: `${GO} runtime.mcall`,
	[`${GO} runtime.mstart.abi0 runtime.clone.abi0 main.main runtime.goexit`]: `${GO} runtime.mstart.abi0 runtime.clone.abi0`,
	// It is still on the stack of the goroutine, and of the thread that makes another one.
	'runtime.mcall runtime.gopark runtime.goexit': 'runtime.mcall runtime.gopark runtime.goexit',
	'runtime.clone runtime.newosproc runtime.mstart':
		'runtime.clone runtime.newosproc runtime.mstart',
	'runtime.futex runtime.mcaller elsewhere': 'runtime.futex runtime.mcaller elsewhere',
};

test('stacks of Go begin with its scheduler or with its thread, whatever lies behind', () => {
	for (const [walked, stack] of Object.entries(STACKS)) {
		assert.equal(
			withinStack(placesOf(walked))
				.map(({ frame }) => frame.name)
				.join(' '),
			stack,
		);
	}
});

test('a stack that begins so is whole, however the walk ended', () => {
	const missing = new MissingFrames();
	for (const userEnd of [undefined, 'guessed', 'at zero', 'no table', 'no way on'] as const) {
		const captured = { userEnd } as CapturedStack;
		const cutOf = (names: string) => missing.of(captured, placesOf(names), 127).cut;
		assert.equal(cutOf(`${GO} runtime.mcall`), undefined, userEnd);
		assert.equal(cutOf(`${GO} runtime.mstart.abi0 runtime.clone.abi0`), undefined, userEnd);
		assert.notEqual(cutOf(`${GO} runtime.systemstack.abi0`), undefined, userEnd);
	}
});
