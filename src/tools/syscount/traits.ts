/** What system calls move, and what they are about, by name: user space's side of bpf/lib/syscount/traits.h. */

import { CALL_SETS, callsOfSet } from '../../abi/syscall-sets.js';
import { type Call, callTables } from '../../abi/syscalls.js';
import { indexesOf } from '../../bpf/calls/calls.js';
import { syscount } from '../../generated/syscount.js';

const { CALL_READS, CALL_WRITES, CALL_PATH, CALL_DESCRIPTOR } = syscount.enums.call_trait;

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Their result is how many bytes they moved. sendmmsg and recvmmsg are not among them: it is messages there. */
const MOVES: ReadonlyArray<readonly [bits: number, names: readonly string[]]> = [
	[CALL_READS, words('read readv pread64 preadv preadv2 recvfrom recvmsg')],
	[CALL_WRITES, words('write writev pwrite64 pwritev pwritev2 sendto sendmsg vmsplice')],
	// From one descriptor to another.
	[CALL_READS | CALL_WRITES, words('sendfile sendfile64 splice copy_file_range')],
];

/** Calls of the sets `file` and `desc` whose path is not the first argument. */
const LATER_PATHS: Readonly<Record<number, readonly string[]>> = {
	2: words(`execveat faccessat faccessat2 fchmodat fchmodat2 fchownat fspick fstatat64 futimesat
		inotify_add_watch linkat mkdirat mknodat mount mount_setattr move_mount name_to_handle_at
		newfstatat open_tree openat openat2 quotactl readlinkat renameat renameat2 statx symlink
		unlinkat utimensat utimensat_time64`),
	3: ['symlinkat'],
};

/** Calls of the set `file` with a path first, which is nearly all of them. */
const NO_PATH = new Set(words('fanotify_mark fsconfig getcwd'));

/** Of the sets `desc` and `network` those whose first argument is no descriptor. */
const NO_DESCRIPTOR = new Set(
	words(`_newselect bpf creat epoll_create epoll_create1 eventfd eventfd2 fanotify_init fsopen
		inotify_init inotify_init1 io_uring_setup landlock_create_ruleset memfd_create memfd_secret
		mmap mmap2 mount mq_open open perf_event_open pidfd_open pipe pipe2 poll ppoll ppoll_time64
		pselect6 pselect6_time64 quotactl select socket socketcall socketpair swapoff swapon symlink
		symlinkat timerfd_create userfaultfd`),
);

function pathArgument(name: string): number {
	for (const [number, names] of Object.entries(LATER_PATHS))
		if (names.includes(name)) return Number(number);
	return callsOfSet('file').includes(name) && !NO_PATH.has(name) ? 1 : 0;
}

function hasDescriptor(name: string): boolean {
	const path = pathArgument(name);
	const known = (['desc', 'network'] as const).some((set) => callsOfSet(set).includes(name));
	return path !== 1 && (known || path > 1 || movesOf(name) !== 0) && !NO_DESCRIPTOR.has(name);
}

function movesOf(name: string): number {
	return MOVES.find(([, names]) => names.includes(name))?.[0] ?? 0;
}

/** What a call's result counts: CALL_READS, CALL_WRITES, both or 0. */
export function moves({ nr, abi }: Call): number {
	if (abi === 'x32') return 0;
	return movesOf(callTables()[abi === '32-bit' ? 1 : 0][nr] ?? '');
}

/** Before loading: tells the programs of each call what it moves and what it is about. */
export function traitConstants(object: { constantBytes(name: 'call_traits'): DataView }): void {
	const memory = object.constantBytes('call_traits');
	const named = new Set([
		...Object.keys(CALL_SETS).flatMap((set) => callsOfSet(set as keyof typeof CALL_SETS)),
		...MOVES.flatMap(([, names]) => names),
		...Object.values(LATER_PATHS).flat(),
	]);
	for (const name of named) {
		const traits =
			movesOf(name) |
			(pathArgument(name) * CALL_PATH) |
			(hasDescriptor(name) ? CALL_DESCRIPTOR : 0);
		for (const index of indexesOf(name)) memory.setUint8(index, traits);
	}
}
