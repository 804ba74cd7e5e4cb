/** Whether what was chosen by number has ended, as /proc tells it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { type Filter, subjectsEnded } from '../../../src/bpf/filter.js';

const NOBODY: Filter = {
	pids: [],
	tids: [],
	comms: [],
	cgroups: [],
	cpus: [],
	userThreads: false,
	kernelThreads: false,
	follow: false,
};

test('tracing goes on as long as one of those that were chosen lives', () => {
	const ended = spawnSync(process.execPath, ['--version']).pid;
	for (const kind of ['pids', 'tids'] as const) {
		const haveEnded = (...numbers: readonly number[]) =>
			subjectsEnded({ ...NOBODY, [kind]: numbers });
		assert.equal(haveEnded(process.pid), false);
		assert.equal(haveEnded(ended), true);
		assert.equal(haveEnded(ended, process.pid), false);
		assert.equal(haveEnded(process.pid, ended), false);
		assert.equal(haveEnded(ended, ended), true);
	}
	// Kinds of filters narrow each other: when all of one kind have ended, nothing is left.
	assert.equal(subjectsEnded({ ...NOBODY, pids: [process.pid], tids: [ended] }), true);
	assert.equal(subjectsEnded({ ...NOBODY, comms: ['bash'] }), false, 'who has a name may come');
});
