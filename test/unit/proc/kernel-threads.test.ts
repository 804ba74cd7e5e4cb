import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { kernelThreadName } from '../../../src/proc/kernel-threads.js';
import { whyNotAllowed } from '../../../src/tools/memleak/heap/probed-files.js';

test('kernel threads are told by their flags, whatever their names are', () => {
	assert.equal(kernelThreadName('2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0'), 'kthreadd');
	assert.equal(
		kernelThreadName('9 (kworker/0:1) a) b) I 2 0 0 0 -1 69238880 0'),
		'kworker/0:1) a) b',
	);
	assert.equal(
		kernelThreadName('7 (2 (x) S 0 0 0 0 -1 2129984 0) S 1 7 7 0 -1 4194304 9'),
		undefined,
	);
	assert.equal(kernelThreadName(readFileSync('/proc/self/stat', 'latin1')), undefined);
	assert.equal(kernelThreadName(''), undefined);
});

test('who may not look into a process is told what is missing, and nobody what is there', () => {
	assert.match(whyNotAllowed(false, false), /run tstrace as root, or add CAP_SYS_PTRACE/);
	assert.match(whyNotAllowed(true, false), /this root has no CAP_SYS_PTRACE/);
	for (const isRoot of [true, false]) {
		assert.match(whyNotAllowed(isRoot, true), /though you have CAP_SYS_PTRACE/);
		assert.doesNotMatch(whyNotAllowed(isRoot, true), /as root|add/);
	}
});
