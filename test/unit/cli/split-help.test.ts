/** runqlat's help says what kinds of waits --split shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runqlat as layout } from '../../../src/generated/runqlat.js';
import { runqlat } from '../../../src/tools/runqlat.js';

test('--split: every kind that the kernel counts is in the help, by the name of the result', () => {
	const { description } = runqlat.options().split;
	const { QUEUED_KINDS, ...kinds } = layout.enums.run_queue_kind;
	for (const [name, number] of Object.entries(kinds)) {
		if (number >= QUEUED_KINDS) continue;
		const word = name.replace('QUEUED_', '').toLowerCase();
		assert.match(description, new RegExp(`\\b${word}\\b`));
	}
});
