import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainLost } from '../../../src/bpf/losses.js';

test('one that was lost, and several', () => {
	assert.deepEqual(explainLost({ waits_unseen: 1, wait_start_unknown: 1, failures_full: 1 }), [
		'1 wait: the kernel reported no switch when it ended (waits_unseen)',
		'1 wait: tstrace did not see when it began; some or all of its time may be missing (wait_start_unknown)',
		'1 failed call: no room for more paths; raise --max-paths, or choose threads (-p) (failures_full)',
	]);
	assert.deepEqual(explainLost({ waits_unseen: 1234 }), [
		'1,234 waits: the kernel reported no switch when they ended (waits_unseen)',
	]);
});

test('every cause of which one was lost begins with its noun in the singular', () => {
	const of = (cause: string) => explainLost({ [cause]: 1 })[0]?.replace(/[:;].*/, '');
	assert.equal(of('wait_table_full'), '1 wait or call');
	assert.equal(of('filter_full'), '1 process');
	assert.equal(of('programs_missed'), '1 program run');
	assert.equal(of('mappings_lost'), '1 mapping record');
	assert.match(
		explainLost({ stacks_truncated: 1 })[0] ?? '',
		/^1 stack: cut, as it is deeper than/,
	);
	assert.equal(
		explainLost({ frees_unseen: 1 })[0],
		'1 free: tstrace did not see it, but its address was allocated again (frees_unseen)',
	);
});
