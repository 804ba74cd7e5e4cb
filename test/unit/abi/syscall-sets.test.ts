/** Sets of system calls, against what their names say, and the tables of calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALL_SETS, type CallSet, callsOfSet } from '../../../src/abi/syscall-sets.js';
import { ia32, x64 } from '../../../src/generated/syscalls.js';
import { SIGNATURES, SIGNATURES_OF_32_BIT } from '../../../src/tools/trace/signatures.js';

const SETS = Object.keys(CALL_SETS) as CallSet[];

const words = (text: string) => text.split(' ');

/** Calls that nobody would look for anywhere else. */
const MEMBERS: Readonly<Record<CallSet, readonly string[]>> = {
	file: ['open', 'openat', 'execve', 'stat', 'unlinkat', 'rename'],
	network: ['socket', 'connect', 'accept4', 'sendto', 'recvmsg'],
	process: words(
		'fork vfork clone clone3 execve execveat exit exit_group wait4 waitid kill tkill tgkill',
	),
	memory: words(
		'mmap munmap mremap mprotect pkey_mprotect brk madvise mincore mlock mlock2 mlockall munlock ' +
			'munlockall msync mbind move_pages',
	),
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

/** Newer than strace 6.1, which the sets are of. */
const NEWER =
	'fchmodat2 setxattrat getxattrat listxattrat removexattrat open_tree_attr cachestat'.split(' ');
/** Of arm and PowerPC. */
const OF_OTHERS = ['arm_fadvise64_64', 'sync_file_range2'];

/** Whether arguments or the result are of that kind: see SIGNATURES. */
const has = (words: readonly string[], pattern: RegExp) => words.some((word) => pattern.test(word));
const signatures = [...SIGNATURES, ...SIGNATURES_OF_32_BIT].filter(
	([name]) => !NEWER.includes(name) && !OF_OTHERS.includes(name),
);

test('calls are in the set of paths if they get a path, and only then', () => {
	const file = callsOfSet('file');
	// One gives a path; the other one may get one, as its second argument says.
	const others = ['getcwd', 'fsconfig'];
	assert.ok(signatures.length > 300);
	for (const [name, words] of signatures) {
		const isWanted = has(words, /^path$/) || others.includes(name);
		assert.equal(file.includes(name), isWanted, name);
	}
});

test('calls that get or give a descriptor are in the set of descriptors, or of the network', () => {
	const known = new Set([...callsOfSet('desc'), ...callsOfSet('network')]);
	for (const [name, words] of signatures) {
		// As strace has it, it is in no set.
		if (name === 'close_range' || !has(words, /^(=?fd|at|pollfds|fdset|out\/fd)\b/)) continue;
		assert.ok(known.has(name), name);
	}
});

test('all calls for messages, semaphores and shared memory of System V are in their set', {
	skip: process.arch !== 'x64' && 'the tables of x86 may not have been there at the build',
}, () => {
	const all = [...new Set([...Object.values(x64), ...Object.values(ia32)])];
	const found = all.filter((name) => /^(ipc$|(msg|sem|shm)[a-z])/.test(name)).sort();
	assert.deepEqual(callsOfSet('ipc'), found);
});
