import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForPrograms, STACK_FORMATS } from '../../../src/render/stack-formats.js';

test('of all formats a terminal gets folded stacks alone', () => {
	assert.deepEqual(
		STACK_FORMATS.filter((format) => !isForPrograms(format)),
		['folded'],
	);
});
