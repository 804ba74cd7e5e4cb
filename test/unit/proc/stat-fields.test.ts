import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statFields } from '../../../src/proc/stat-fields.js';

test('fields behind a name that has brackets and spaces itself', () => {
	for (const name of ['sh', 'a) Z 1 2 (b', ')', '((', ' ', 'kworker/u8:0 (x)'])
		assert.deepEqual(statFields(`77 (${name}) D 1 77 0`), ['D', '1', '77', '0'], name);
	assert.deepEqual(statFields(''), []);
});
