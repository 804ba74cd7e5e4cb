/** Which ways to follow threads are taken, where the kernel has several. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseOffcpu } from '../../../../src/bpf/scheduling/off-cpu.js';
import { schedInfoMissing } from '../../../../src/bpf/scheduling/run-queue.js';
import { withFiles } from '../../loader/replaced.js';

test('a kernel that has counted no time slice of ours keeps no statistics of run queues', () => {
	const missing = (schedstat: string) =>
		withFiles({ '/proc/self/schedstat': schedstat }, schedInfoMissing);
	// Run time, time on run queues, time slices.
	const kept = missing('5000000 70000 9\n');
	const off = missing('5000000 70000 0\n');
	if (kept === undefined) assert.match(off ?? '', /keeps no run queue statistics/);
	else assert.match(kept, /BTF has no/);
	assert.equal(missing('0 0 9\n'), kept, 'it may be the first');
});

test('where stacks are walked as threads stop, no program runs as they resume', () => {
	process.env.TSTRACE_FORCE = 'switch';
	try {
		const { hook, resumed, because } = chooseOffcpu();
		assert.deepEqual([hook, resumed], ['switch', undefined]);
		assert.match(because, /^walks stacks at switch: forced by TSTRACE_FORCE; /);
	} finally {
		delete process.env.TSTRACE_FORCE;
	}
});
