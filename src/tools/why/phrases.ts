/**
 * What a wait is for, in plain words: one rule for each kind, "for the disk, to read /srv/data". A rule's `for` is what
 * follows "waits"; `source` is where the kernel does that. Pure values: no I/O, no kernel.
 */
import type { Frame } from '../../aggregate/stack.js';
import type { WaitObject } from '../../aggregate/wait-object.js';
import { ownerName } from '../../render/wait-object.js';
import type { LockHolder } from './reasons.js';

interface Phrase {
	readonly kind: RegExp;
	/** `what`: the object in words; '': it is not known. */
	readonly for: (what: string, of: WaitObject | undefined, frames: readonly Frame[]) => string;
	readonly source: string;
}

const PHRASES: readonly Phrase[] = [
	{
		kind: /^disk read$/,
		for: (what) => `for the disk, to read ${what || 'files'}`,
		source: 'fs/read_write.c, mm/filemap.c',
	},
	{
		kind: /^disk write$/,
		for: (what) => `until the disk has written ${what || 'files'}`,
		source: 'fs/sync.c, fs/fs-writeback.c',
	},
	{ kind: /^disk$/, for: (what) => `for the disk${about(what)}`, source: 'block/blk-core.c' },
	{
		kind: /^page fault$/,
		for: (what) => `for pages of ${what || 'mapped files'} to be read from the disk`,
		source: 'mm/filemap.c, filemap_fault',
	},
	{
		kind: /^swap-in$/,
		for: () => 'for memory that was swapped out',
		source: 'mm/memory.c, do_swap_page',
	},
	{
		kind: /^memory reclaim$/,
		for: () =>
			'until the kernel has freed memory: the limit of its cgroup, or of the machine, is reached',
		source: 'mm/vmscan.c, mm/memcontrol.c',
	},
	{
		kind: /^file lock$/,
		for: (what) => `for the file lock on ${what || 'a file'}`,
		source: 'fs/locks.c',
	},
	{
		kind: /^file server$/,
		for: (what) => `for the server of ${what || 'a remote file system'}`,
		source: 'fs/fuse, net/sunrpc',
	},
	{
		kind: /^socket receive$/,
		for: (what) => `for data from ${what || 'a socket'}`,
		source: 'net/ipv4/tcp.c, net/core/datagram.c',
	},
	{
		kind: /^socket send$/,
		for: (what) => `until ${what || 'the peer'} takes what it sends`,
		source: 'net/core/stream.c',
	},
	{
		kind: /^socket connect$/,
		for: (what) => `for a connection to ${what || 'a server'}`,
		source: 'net/ipv4/af_inet.c',
	},
	{
		kind: /^socket accept$/,
		for: (what) => `for connections${what ? ` to ${what}` : ''}`,
		source: 'net/ipv4/inet_connection_sock.c',
	},
	{
		kind: /^unix socket$/,
		for: (what) => `for data from ${what || 'a unix socket'}`,
		source: 'net/unix/af_unix.c',
	},
	{
		kind: /^pipe$/,
		for: (what, of) =>
			of?.type === 'pipe' && of.end === 'write'
				? `until somebody reads from the ${what.replace(/^pipe write/, 'pipe')}`
				: `for data from ${what || 'a pipe'}`,
		source: 'fs/pipe.c',
	},
	{
		kind: /^poll$/,
		for: (what, of) =>
			of?.type === 'socket' || of?.type === 'unix socket'
				? `for data from ${what}`
				: `for events${what ? ` of ${what}` : ''}`,
		source: 'fs/eventpoll.c, fs/select.c',
	},
	{ kind: /^io_uring$/, for: () => 'for requests of io_uring', source: 'io_uring/' },
	{
		kind: /^lock$/,
		for: (what) => `for the lock ${what || 'of another thread'}`,
		source: 'kernel/futex, glibc nptl/pthread_mutex_lock.c',
	},
	{
		kind: /^condition$/,
		for: (what) => `for another thread, at the condition variable${about(what)}`,
		source: 'glibc nptl/pthread_cond_wait.c',
	},
	{
		kind: /^futex$/,
		for: (what) => `for another thread, at a futex${about(what)}`,
		source: 'kernel/futex',
	},
	{
		kind: /^kernel lock$/,
		for: (_what, _of, frames) =>
			frames.some(({ name, kind }) => kind === 'kernel' && MEMORY_MAP.test(name))
				? 'for the lock of its own memory mappings (mmap_lock)'
				: 'for a lock inside the kernel',
		source: 'kernel/locking; mm/mmap_lock.c',
	},
	{ kind: /^sleep$/, for: () => 'for time to pass', source: 'kernel/time/hrtimer.c' },
	{
		kind: /^child$/,
		for: (what) => `for its ${what || 'child process'} to end`,
		source: 'kernel/exit.c',
	},
	{
		kind: /^stopped$/,
		for: () => 'as a signal, a debugger or a freezer has stopped it',
		source: 'kernel/signal.c',
	},
	{
		kind: /^event$/,
		for: (what) => (what ? `for the event ${what}` : 'for an event'),
		source: 'fs/eventfd.c, fs/timerfd.c',
	},
	{ kind: /^signal$/, for: () => 'for a signal', source: 'kernel/signal.c' },
	{ kind: /^terminal$/, for: (what) => `for the terminal${about(what)}`, source: 'drivers/tty' },
	{ kind: /^virtual CPU$/, for: () => 'until its guest has work', source: 'virt/kvm' },
	{ kind: /^kernel thread$/, for: () => 'for work of the kernel', source: 'kernel/kthread.c' },
	{
		kind: /^other: no kernel stack$/,
		for: () => 'for what is not known (it has no kernel stack)',
		source: 'src/aggregate/wait-kinds.ts, waitKind',
	},
	{ kind: /^IPC$/, for: () => 'for a semaphore or a message of another process', source: 'ipc/' },
];

/** Functions that take the lock of a process's memory mappings: mm/mmap.c, arch/x86/mm/fault.c. */
const MEMORY_MAP =
	/^(lock_mm_and_find_vma|vm_mmap_pgoff|__vm_munmap|__do_munmap|do_mprotect_pkey|do_madvise|mmap_(read|write)_lock\w*|__do_sys_(brk|mprotect|madvise)|dup_mmap|exc_page_fault|do_user_addr_fault|do_page_fault|do_exit|exit_mm)/;

interface WaitedFor {
	readonly of: WaitObject | undefined;
	readonly object: string;
	readonly frames: readonly Frame[];
}

/** "waits for the disk, to read /srv/data"; who sleeps waits for nothing but time. */
export function waits(kind: string, what: WaitedFor): string {
	return kind === 'sleep' ? 'sleeps' : `waits ${waitsFor(kind, what)}`;
}

/** The same of what is over. */
export function waited(kind: string, what: WaitedFor): string {
	return kind === 'sleep' ? 'slept' : `waited ${waitsFor(kind, what)}`;
}

/** What follows "waits": for one kind of wait. */
export function waitsFor(kind: string, { of, object, frames }: WaitedFor): string {
	const phrase = PHRASES.find((each) => each.kind.test(kind));
	if (phrase) return phrase.for(object, of, frames);
	const [, where] = /^other: (.*)$/.exec(kind) ?? [];
	return where ? `in the kernel, in ${where}` : `for: ${kind}`;
}

/** From this share on, texts leave the share out. */
const NEARLY_ALL = 0.95;
const partOf = ({ share }: LockHolder) =>
	share < NEARLY_ALL ? `for ${Math.round(100 * share)} % of that ` : '';

/** ", held by writer (712)", ", for 60 % of that held by writer (712)"; '': nobody that is known. */
export function heldBy(holder: LockHolder | undefined): string {
	return holder ? `, ${partOf(holder)}held by ${ownerName(holder)}` : '';
}

/** What the thread that has a lock does; '': that is not known. */
export function holderText(holder: LockHolder | undefined): string {
	if (!holder?.function) return '';
	return `Meanwhile ${ownerName(holder)} is mostly in ${holder.function}.`;
}

/** "writer (712), for 60 % of that, mostly in flush"; '': nobody that is known. */
export function holderWords(holder: LockHolder | undefined): string {
	if (!holder) return '';
	const part = partOf(holder) ? `, ${partOf(holder).trimEnd()}` : '';
	const where = holder.function ? `, mostly in ${holder.function}` : '';
	return `${ownerName(holder)}${part}${where}`;
}

const about = (what: string) => (what ? ` ${what}` : '');
