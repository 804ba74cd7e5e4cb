/**
 * Whether a wait is idle: its thread had nothing to do. What decides is what it waited for and who ended that, never
 * the name of a program; docs/tools/why.md has the rule in words. Pure values: no I/O, no kernel.
 */
import type { Key } from '../../aggregate/row-key.js';
import type { Frame } from '../../aggregate/stack.js';
import type { StackRow, Waker } from '../../aggregate/stack-rows.js';
import { waitKind } from '../../aggregate/wait-kinds.js';
import type { WaitObject } from '../../aggregate/wait-object.js';

/** Something has to be finished before the thread can go on: it had work. */
const ALWAYS_BUSY: ReadonlySet<string> = new Set([
	'disk read',
	'disk write',
	'disk',
	'page fault',
	'swap-in',
	'memory reclaim',
	'file lock',
	'file server',
	'socket send',
	'socket connect',
	'lock',
	'kernel lock',
	'sleep',
	'child',
	'stopped',
]);
/** Of these, what a process does that may be traced, too; who holds a lock is told with the lock. */
const FOR_PROCESSES: ReadonlySet<string> = new Set(['child', 'socket send', 'socket connect']);
/** What comes next comes from outside, whenever it comes. */
const ALWAYS_IDLE: ReadonlySet<string> = new Set([
	'socket accept',
	'signal',
	'terminal',
	'virtual CPU',
	'kernel thread',
]);

/**
 * Follows: another thread of those that are traced had work, and what that one did is told of it already. Undecided:
 * nothing is known of what the waker did.
 */
export type Fate = 'idle' | 'busy' | 'follows' | 'undecided';

/** What tells better than functions, which may have no names, which kind of wait it was, and for what. */
const TELLING_OBJECTS: ReadonlyArray<{
	readonly is: (futex: WaitObject & { readonly type: 'futex' }) => boolean;
	readonly kind: string;
	readonly name: string;
	readonly why: string;
}> = [
	{
		is: (futex) => futex.gil === true || /^_PyRuntime\b/.test(futex.in),
		kind: 'lock',
		name: 'of the Python interpreter (GIL)',
		why: 'CPython, ceval_gil.c, pystate.c',
	},
];

function toldBy(object: WaitObject | undefined) {
	return object?.type === 'futex' ? TELLING_OBJECTS.find(({ is }) => is(object)) : undefined;
}

/** What is told by the variable that it was for; undefined: no more than its own name. */
export function nameOf(object: WaitObject | undefined): string | undefined {
	return toldBy(object)?.name;
}

/** What kind of wait it was; see docs/tools/offcputime.md. */
export function kindOf(frames: readonly Frame[], object: WaitObject | undefined): string {
	return toldBy(object)?.kind ?? waitKind(frames);
}

/**
 * What a wait turned out to be: by its kind, by what it was for, else by what its waker did meanwhile. `isTraced`: of a
 * thread by its process and number.
 */
export function fateOf(
	{ frames, waker }: Pick<StackRow, 'frames' | 'waker'>,
	object: WaitObject | undefined,
	isTraced: (key: Key) => boolean,
): Fate {
	const kind = kindOf(frames, object);
	if (ALWAYS_IDLE.has(kind)) return 'idle';
	const isBusy = ALWAYS_BUSY.has(kind);
	if (isBusy && !FOR_PROCESSES.has(kind)) return 'busy';
	if (kind === 'io_uring' && waker && isDevice(waker)) return 'busy';
	const fate = isBusy ? 'busy' : ((object && fateByObject(object)) ?? fateByWaker(waker, isTraced));
	return fate !== 'idle' && waker && isTraced(waker.key) ? 'follows' : fate;
}

/** Undefined: it does not tell. */
function fateByObject(object: WaitObject): Fate | undefined {
	switch (object.type) {
		case 'pipe':
			return object.end === 'write' ? 'busy' : undefined;
		case 'socket':
			if (object.remote === '') return fateUnconnected(object);
			// Who was accepted is asked; who has made the connection asks.
			return object.accepted ? 'idle' : 'busy';
		case 'unix socket':
			return object.accepted ? 'idle' : undefined;
		default:
			return undefined;
	}
}

/** Linux, net.ipv4.ip_local_port_range: ports that sockets get which ask for none. */
const FIRST_EPHEMERAL_PORT = 32_768;

/** Who listens, or has a port of its own choice, may be asked by anybody; some clients do not connect, for UDP. */
function fateUnconnected({ protocol, local }: { protocol: string; local: string }): Fate {
	const port = Number(/:(\d+)$/.exec(local)?.[1] ?? 0);
	return protocol === 'udp' && port >= FIRST_EPHEMERAL_PORT ? 'undecided' : 'idle';
}

function fateByWaker(waker: Waker | undefined, isTraced: (key: Key) => boolean): Fate {
	// Nobody had anything for it until the end, or nobody was seen to.
	if (!waker || isNotWoken(waker) || isUnseen(waker)) return 'idle';
	switch (waker.did) {
		case 'ran':
		case 'waited for a CPU':
			return 'busy';
		case 'did not exist yet':
			return 'idle';
		case 'was blocked':
			return fateOf(waker, waker.objects?.[0]?.object, isTraced);
		default:
			return fateUntold(waker);
	}
}

/** A device's own interrupt: of requests that a thread has made, it is the disk's that has answered. */
const isDevice = ({ key }: Waker) => key.irq === 'device' || key.irq === 'block';

/** By who it was, of whom no more is told. */
function fateUntold({ key }: Waker): Fate {
	// A thread, or one that there was no room for.
	if (key.context === 'thread' || key.context === undefined) return 'undecided';
	// An interrupt: time was up, or a packet came that nobody here had asked for; a disk had been asked.
	return key.irq === 'block' ? 'busy' : 'idle';
}

/** See UNSEEN_WAKER in src/waits/wakers.ts. */
const isUnseen = (waker: Waker) => isNobody(waker, '[waker not seen]');

/** See NOT_WOKEN in src/waits/wakers.ts. */
export const isNotWoken = (waker: Waker) => isNobody(waker, '[not woken yet]');

/** A thread may call itself the same, and has a number. */
function isNobody({ key }: Waker, name: string): boolean {
	return key.comm === name && key.pid === undefined;
}
