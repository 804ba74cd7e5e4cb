import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Filter } from '../../../src/bpf/filter.js';
import { circumstancesOf } from '../../../src/run/circumstances.js';
import { filterWords, unmatchedComms } from '../../../src/run/filter-words.js';

const ALL: Filter = {
	pids: [],
	tids: [],
	comms: [],
	cgroups: [],
	cpus: [],
	userThreads: false,
	kernelThreads: false,
	follow: false,
};

const wordsOf = (filter: Partial<Filter>, more = {}) =>
	filterWords(circumstancesOf({ ...ALL, ...filter }, [], more).filters);

test('every filter is in the line that says tracing has begun', () => {
	assert.equal(wordsOf({}), '');
	assert.equal(wordsOf({ pids: [1, 2], tids: [3] }), ' of process 1, process 2, thread 3');
	assert.equal(wordsOf({ pids: [1], follow: true }), ' of process 1, with children');
	assert.equal(wordsOf({ comms: ['nginx', 'php*'] }), ', only threads named nginx or php*');
	assert.equal(
		wordsOf({ cgroups: ['/a'], cpus: [0, 2] }),
		', only in cgroup /a, only on CPU 0 or 2',
	);
	assert.equal(wordsOf({ userThreads: true }), ', only threads of user processes');
	assert.equal(wordsOf({ kernelThreads: true }), ', only kernel threads');
	assert.equal(
		wordsOf({}, { grep: ['/^tcp_/'], exclude: ['/idle/'], hide_idle: true }),
		', only stacks with /^tcp_/, without stacks with /idle/, without idle threads',
	);
});

test('a new filter cannot be forgotten', () => {
	const filled: Filter = {
		pids: [1],
		tids: [2],
		comms: ['c'],
		cgroups: ['g'],
		cpus: [5],
		userThreads: true,
		kernelThreads: true,
		follow: true,
	};
	const text = filterWords(circumstancesOf(filled, []).filters);
	for (const [name, value] of Object.entries(filled)) {
		const without = { ...filled, [name]: Array.isArray(value) ? [] : false };
		assert.notEqual(filterWords(circumstancesOf(without, []).filters), text, name);
	}
});

test('names that no thread has, and the one that was meant', () => {
	assert.deepEqual(unmatchedComms([], ALL), []);
	const before = process.title;
	process.title = 'h7-unmatched';
	try {
		const pids = [process.pid];
		assert.deepEqual(unmatchedComms(['h7-unmatched', 'h7-*'], { ...ALL, pids }), []);
		const [near] = unmatchedComms(['h7-unmatcheb'], { ...ALL, pids });
		assert.equal(
			near,
			`no thread of process ${pids} has the name h7-unmatcheb; did you mean h7-unmatched?`,
		);
		// Each letter is at another place, but it is one edit away.
		const [shifted] = unmatchedComms(['7-unmatched'], { ...ALL, pids });
		assert.match(shifted ?? '', /did you mean h7-unmatched\?$/);
		const [far] = unmatchedComms(['zzz'], { ...ALL, pids });
		assert.match(far ?? '', /has the name zzz; there are .*h7-unmatched/);
		const [glob] = unmatchedComms(['zzz*'], ALL);
		assert.equal(glob, 'no thread has a name like zzz*; ps -eLo comm lists all names');
	} finally {
		process.title = before;
	}
});
