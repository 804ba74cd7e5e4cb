/** runqlat's help says what kinds of waits --split shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runqlat as layout } from '../../../src/generated/runqlat.js';
import { runqlat } from '../../../src/tools/runqlat.js';

test('--split: every kind that the kernel counts is in the help, by the name of the result', () => {
	const { description } = runqlat.options().split;
	const { WAIT_KINDS, ...kinds } = layout.enums.wait_kind;
	for (const [name, number] of Object.entries(kinds)) {
		if (number >= WAIT_KINDS) continue;
		const word = name.replace('WAIT_', '').toLowerCase();
		assert.match(description, new RegExp(`\\b${word}\\b`));
	}
});
