/** Whether what the chosen threads create is counted, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Filter } from '../../../../src/bpf/filter.js';
import { openTarget } from '../../../../src/tools/stat/target.js';

const EVERYBODY: Filter = {
	...{ pids: [], tids: [], comms: [], cgroups: [], cpus: [] },
	...{ userThreads: true, kernelThreads: true, follow: false },
};

function inherits(filter: Partial<Filter>, wanted = true): boolean | undefined {
	const subjects = { filter: { ...EVERYBODY, ...filter }, command: undefined, words: [] };
	const target = openTarget(subjects, wanted);
	target.close();
	return target.counted.inherit;
}

test('-p is the process with what it creates, -t is this thread, unless --follow says more', () => {
	const own = process.pid;
	assert.equal(inherits({ pids: [own] }), true);
	assert.equal(inherits({ tids: [own] }), false);
	assert.equal(inherits({ tids: [own], follow: true }), true);
	assert.equal(inherits({ pids: [own] }, false), false);
});
