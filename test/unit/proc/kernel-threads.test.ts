import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { TstraceError } from '../../../src/errors.js';
import {
	isKernelThread,
	kernelThreadName,
	refuseKernelThreads,
} from '../../../src/proc/kernel-threads.js';
import { whyNotAllowed } from '../../../src/tools/memleak/heap/probed-files.js';
import { fakeProc, NOBODY } from './fake-proc.js';

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

test('a kernel thread that was chosen is refused, by its number and name; an idle thread is one', (t) => {
	const flags = (is: boolean) => (is ? 2129984 : 4194304);
	const stat = (pid: number, name: string, is: boolean) => ({
		[`/proc/${pid}/stat`]: `${pid} (${name}) S 2 0 0 0 -1 ${flags(is)} 0 0 0\n`,
	});
	const [thread, program] = [NOBODY, NOBODY + 1];
	fakeProc(t, { files: { ...stat(thread, 'kswapd0', true), ...stat(program, 'app', false) } });
	for (const chosen of [
		{ pids: [program, thread], tids: [] },
		{ pids: [], tids: [program, thread] },
	])
		assert.throws(
			() => refuseKernelThreads(chosen, 'it makes no system calls'),
			(error) => {
				assert.ok(error instanceof TstraceError);
				assert.equal(
					error.message,
					`${thread} (kswapd0) is a kernel thread: it makes no system calls`,
				);
				return true;
			},
		);
	// One that has ended is for others to tell of.
	refuseKernelThreads({ pids: [program, NOBODY + 2], tids: [] }, '');
	const are = [0, thread, program, NOBODY + 2].map(isKernelThread);
	assert.deepEqual(are, [true, true, false, false]);
});
