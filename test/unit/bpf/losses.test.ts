import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainLost } from '../../../src/bpf/losses.js';

test('one that was lost, and several', () => {
	assert.deepEqual(explainLost({ waits_unseen: 1, wait_start_unknown: 1, failures_full: 1 }), [
		'1 wait: the kernel reported no switch when it ended (waits_unseen)',
		'1 wait: its start was not seen; only the last part is counted (wait_start_unknown)',
		'1 failed call: no room for more paths; raise --max-paths, or choose threads (-p) (failures_full)',
	]);
	assert.deepEqual(explainLost({ waits_unseen: 1234 }), [
		'1,234 waits: the kernel reported no switch when they ended (waits_unseen)',
	]);
});
