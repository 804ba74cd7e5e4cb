/** What a result says of its run: who was traced, by all filters that there are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Filter } from '../../../src/bpf/filter.js';
import { circumstancesOf } from '../../../src/run/circumstances.js';
import { filterWords } from '../../../src/run/filter-words.js';

const EVERYBODY: Filter = {
	...{ pids: [], tids: [], comms: [], cgroups: [], cpus: [] },
	...{ userThreads: false, kernelThreads: false, follow: false },
};

test('each filter is said by its own name, in JSON and in words; those that are not given are not there', () => {
	assert.deepEqual(circumstancesOf(EVERYBODY, []).filters, {});
	for (const [filter, said, words] of [
		[{ pids: [7] }, { pids: [7] }, ' of process 7'],
		[{ tids: [8] }, { tids: [8] }, ' of thread 8'],
		[{ comms: ['a', 'b'] }, { comms: ['a', 'b'] }, ', only threads named a or b'],
		[{ cgroups: ['/x'] }, { cgroups: ['/x'] }, ', only in cgroup /x'],
		[{ cpus: [0] }, { cpus: [0] }, ', only on CPU 0'],
		[{ userThreads: true }, { user_threads: true }, ', only threads of user processes'],
		[{ kernelThreads: true }, { kernel_threads: true }, ', only kernel threads'],
		[{ follow: true }, { follow: true }, ', with children'],
	] as const) {
		const { filters } = circumstancesOf({ ...EVERYBODY, ...filter }, []);
		assert.deepEqual(filters, said);
		assert.equal(filterWords(filters), words);
	}
	const more = { grep: ['/tcp/'] };
	const { command, filters } = circumstancesOf(
		{ ...EVERYBODY, pids: [7] },
		['why', '-p', '7'],
		more,
	);
	assert.deepEqual(command, ['tstrace', 'why', '-p', '7']);
	assert.deepEqual(filters, { pids: [7], ...more });
});
