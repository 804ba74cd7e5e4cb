/** What every kind of wait is for, in words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WAIT_KINDS } from '../../../../src/aggregate/wait-kind-rules.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import { objectText } from '../../../../src/render/wait-object.js';
import {
	heldBy,
	holderText,
	holderWords,
	waited,
	waits,
	waitsFor,
} from '../../../../src/tools/why/phrases.js';
import { childOf, file, futex, pipe, stack, tcp, unix } from './support.js';

const without = (kind: string, frames = '') =>
	waitsFor(kind, { of: undefined, object: '', frames: stack(frames) });
const of = (kind: string, object: WaitObject) =>
	waitsFor(kind, { of: object, object: objectText(object), frames: [] });

/** Each kind without an object; what it is for is not known. */
const WITHOUT: Readonly<Record<(typeof WAIT_KINDS)[number], string>> = {
	'disk read': 'for the disk, to read files',
	'disk write': 'until the disk has written files',
	disk: 'for the disk',
	'page fault': 'for pages of mapped files to be read from the disk',
	'swap-in': 'for memory that was swapped out',
	'memory reclaim':
		'until the kernel has freed memory: the limit of its cgroup, or of the machine, is reached',
	'file lock': 'for the file lock on a file',
	'file server': 'for the server of a remote file system',
	'socket receive': 'for data from a socket',
	'socket send': 'until the peer takes what it sends',
	'socket accept': 'for connections',
	'socket connect': 'for a connection to a server',
	'unix socket': 'for data from a unix socket',
	pipe: 'for data from a pipe',
	poll: 'for events',
	io_uring: 'for requests of io_uring',
	lock: 'for the lock of another thread',
	condition: 'for another thread, at the condition variable',
	futex: 'for another thread, at a futex',
	'kernel lock': 'for a lock inside the kernel',
	sleep: 'for time to pass',
	child: 'for its child process to end',
	signal: 'for a signal',
	stopped: 'as a signal, a debugger or a freezer has stopped it',
	event: 'for an event',
	terminal: 'for the terminal',
	IPC: 'for a semaphore or a message of another process',
	'virtual CPU': 'until its guest has work',
	'kernel thread': 'for work of the kernel',
};

test('every kind of wait has a phrase of its own, also where its object is not known', () => {
	const phrases = WAIT_KINDS.map((kind) => without(kind));
	assert.deepEqual(
		phrases,
		WAIT_KINDS.map((kind) => WITHOUT[kind]),
	);
	assert.equal(new Set(phrases).size, phrases.length);
	// What stands for kinds that nobody has a phrase for.
	for (const [at, kind] of WAIT_KINDS.entries()) assert.notEqual(phrases[at], `for: ${kind}`);
});

test('with an object, the phrase names it once', () => {
	const told = [
		of('disk read', file('/srv/data')),
		of('disk write', file('/srv/data')),
		of('disk', file('/srv/data')),
		of('page fault', file('/lib/libc.so')),
		of('file lock', file('/run/lock')),
		of('file server', file('/nfs/a')),
		of('socket receive', tcp()),
		of('socket send', tcp()),
		of('socket connect', tcp()),
		of('socket accept', tcp({ remote: '' })),
		of('unix socket', unix({ other_end: [{ pid: 5, comm: 'db' }] })),
		of('pipe', pipe('read')),
		of('pipe', pipe('write')),
		of('poll', tcp()),
		of('poll', unix()),
		of('poll', pipe('read')),
		of('lock', futex('table_lock')),
		of('condition', futex('jobs')),
		of('futex', futex('word')),
		of('child', childOf('cc1', 123)),
		of('event', { type: 'event', name: 'eventfd' }),
		of('terminal', { type: 'device', path: '/dev/pts/0' }),
	];
	assert.deepEqual(told, [
		'for the disk, to read /srv/data',
		'until the disk has written /srv/data',
		'for the disk /srv/data',
		'for pages of /lib/libc.so to be read from the disk',
		'for the file lock on /run/lock',
		'for the server of /nfs/a',
		'for data from tcp 10.0.0.2:9',
		'until tcp 10.0.0.2:9 takes what it sends',
		'for a connection to tcp 10.0.0.2:9',
		'for connections to tcp at 10.0.0.1:80',
		'for data from unix socket /run/s ↔ db (5)',
		'for data from pipe read',
		'until somebody reads from the pipe',
		'for data from tcp 10.0.0.2:9',
		'for data from unix socket /run/s',
		'for events of pipe read',
		'for the lock table_lock',
		'for another thread, at the condition variable jobs',
		'for another thread, at a futex word',
		'for its child cc1 (123) to end',
		'for the event eventfd',
		'for the terminal /dev/pts/0',
	]);
});

test('a wait of no kind says where in the kernel it is, if that is known', () => {
	assert.equal(without('other: strange_wait'), 'in the kernel, in strange_wait');
	assert.equal(without('other: no kernel stack'), 'for what is not known (it has no kernel stack)');
	for (const kind of ['lock', 'poll', 'disk'])
		assert.notEqual(without(`other: ${kind}`), without(kind));
	assert.equal(without('CPU quota'), 'for: CPU quota');
});

test('a lock inside the kernel is that of the memory mappings where a function says so', () => {
	const mmap = 'for the lock of its own memory mappings (mmap_lock)';
	const other = 'for a lock inside the kernel';
	assert.equal(without('kernel lock', 'main | vm_mmap_pgoff rwsem_down_write_slowpath'), mmap);
	assert.equal(without('kernel lock', 'main | exc_page_fault lock_mm_and_find_vma'), mmap);
	assert.equal(without('kernel lock', 'main | do_unlinkat rwsem_down_write_slowpath'), other);
	// A function of the program may be called anything.
	assert.equal(without('kernel lock', 'vm_mmap_pgoff | mutex_lock'), other);
});

test('who sleeps waits for nothing', () => {
	const what = { of: undefined, object: '', frames: [] };
	assert.equal(waits('sleep', what), 'sleeps');
	assert.equal(waited('sleep', what), 'slept');
	assert.equal(waits('poll', what), 'waits for events');
	assert.equal(waited('poll', what), 'waited for events');
});

test('who has a lock, and what that one does as far as it is known', () => {
	const writer = { tid: 712, comm: 'writer', function: 'flush', share: 1 };
	const unknown = { ...writer, function: '' };
	for (const holder of [writer, unknown]) assert.equal(heldBy(holder), ', held by writer (712)');
	assert.equal(holderText(writer), 'Meanwhile writer (712) is mostly in flush.');
	assert.equal(holderWords(writer), 'writer (712), mostly in flush');
	assert.equal(holderText(unknown), '');
	assert.equal(holderWords(unknown), 'writer (712)');
	for (const words of [heldBy, holderText, holderWords]) assert.equal(words(undefined), '');
	const half = { ...writer, share: 0.506 };
	assert.equal(heldBy(half), ', for 51 % of that held by writer (712)');
	assert.equal(holderWords(half), 'writer (712), for 51 % of that, mostly in flush');
	const strange = { tid: 3, comm: ', held by x\n', function: '', share: 1 };
	assert.equal(heldBy(strange), ', held by , held by x\\x0a (3)');
	assert.equal(holderWords({ ...strange, comm: '' }), '[no name] (3)');
});
