/** Sets of system calls, against what their names say, and the tables of calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALL_SETS, type CallSet, callsOfSet } from '../../../src/abi/syscall-sets.js';
import { ia32, x64 } from '../../../src/generated/syscalls.js';

const SETS = Object.keys(CALL_SETS) as CallSet[];

/** Calls that nobody would look for anywhere else. */
const MEMBERS: Readonly<Record<CallSet, readonly string[]>> = {
	file: ['open', 'openat', 'execve', 'stat', 'unlinkat', 'rename'],
	network: ['socket', 'connect', 'accept4', 'sendto', 'recvmsg'],
	process: ['fork', 'clone', 'clone3', 'execve', 'exit_group', 'wait4', 'kill'],
	memory: ['mmap', 'munmap', 'mprotect', 'brk', 'madvise'],
	ipc: ['msgsnd', 'semop', 'shmat'],
	desc: ['read', 'write', 'close', 'epoll_wait', 'ioctl', 'openat', 'fsync'],
};

test('each set has the calls that its name says, and not those of others', () => {
	for (const set of SETS) {
		const calls = callsOfSet(set);
		for (const call of MEMBERS[set]) assert.ok(calls.includes(call), `${set}: ${call}`);
	}
	assert.ok(!callsOfSet('network').includes('read'));
	assert.ok(!callsOfSet('file').includes('read'), 'it has a descriptor, no path');
	assert.ok(!callsOfSet('desc').includes('stat'), 'it has a path, no descriptor');
});

test('calls with a path in a folder have the descriptor of that folder, too', () => {
	const desc = callsOfSet('desc');
	const inFolders = callsOfSet('file').filter(
		(call) => /at2?$/.test(call) && !/^(creat|l?stat|old\w*stat)$/.test(call),
	);
	assert.ok(inFolders.length > 15);
	assert.deepEqual(
		inFolders.filter((call) => !desc.includes(call)),
		[],
	);
});

test('names are in ascending order, each once, and are calls of x86', {
	skip: process.arch !== 'x64' && 'the tables of x86 may not have been there at the build',
}, () => {
	const known = new Set([...Object.values(x64), ...Object.values(ia32)]);
	for (const set of SETS) {
		const calls = callsOfSet(set);
		assert.deepEqual(calls, [...new Set(calls)].sort(), set);
		const strange = calls.filter((call) => !known.has(call));
		assert.deepEqual(strange, [], set);
	}
});
