/** What a thread waited for: a file, a pipe, a socket, … Pure values: no I/O, no kernel. */

/** A process that holds the other end. */
export interface Holder {
	readonly pid: number;
	readonly comm: string;
}

/** A thread that has a lock. */
export interface LockOwner {
	readonly tid: number;
	/** Undefined: it has ended. */
	readonly comm?: string;
}

/** Where a futex lies, and of whom, so that what is there can be named. */
export interface MemoryPlace {
	readonly pid: number;
	readonly address: number;
	/** CLOCK_MONOTONIC, when somebody waited for it first. */
	readonly at_ns: number;
	/** The stack pointer of who did. */
	readonly sp: number;
	/** It lay in what the process got by brk(). */
	readonly inHeap: boolean;
}

export type WaitObject =
	| {
			readonly type: 'file' | 'device';
			readonly path: string;
			readonly deleted?: true;
			/** A page of it was missing in memory. */
			readonly mapped?: true;
	  }
	| {
			readonly type: 'pipe';
			/** Which one the thread had. */
			readonly end: 'read' | 'write';
			/** Of one with a name (FIFO); '': it has none. */
			readonly path: string;
			readonly inode: number;
			readonly other_end: readonly Holder[];
	  }
	| {
			readonly type: 'unix socket';
			/** Its address, or its peer's; '': neither has one. */
			readonly path: string;
			readonly inode: number;
			/** 0: it has none. */
			readonly peer_inode: number;
			readonly other_end: readonly Holder[];
			/** It listens, or the peer has made the connection: what comes from there is asked of this end. */
			readonly accepted?: true;
	  }
	| {
			readonly type: 'socket';
			/** "tcp", "udp", or a number. */
			readonly protocol: string;
			readonly local: string;
			/** '': there is no peer. */
			readonly remote: string;
			/** On this machine. */
			readonly other_end: readonly Holder[];
			/** Somebody listens at the local end: the peer has made the connection. */
			readonly accepted?: true;
	  }
	| { readonly type: 'event'; readonly name: string }
	| {
			readonly type: 'futex';
			readonly pid: number;
			readonly address: string;
			/** What lies there: a symbol with an offset, "heap", "thread stack", "GIL", …; '': not known. */
			readonly in: string;
			/** It is the lock of a Python interpreter. */
			readonly gil?: true;
			/**
			 * If that is known: of a mutex that was locked as tracing ended, who has it; of a GIL, who had it last as
			 * the thread ran again.
			 */
			readonly owner?: LockOwner;
	  }
	| { readonly type: 'child'; readonly pid: number; readonly comm: string }
	| { readonly type: 'unknown'; readonly why: string };

/** How much was waited for an object. */
export interface ObjectShare {
	readonly object: WaitObject;
	readonly value: number;
	readonly count: number;
	readonly variance: number;
}

const ANY_FILE: readonly WaitObject['type'][] = ['file', 'device', 'unknown'];
/** Which objects each kind of wait can be for; a thread that waits for memory in `read` does not wait for a file. */
const FITTING: Readonly<Record<string, readonly WaitObject['type'][]>> = {
	'disk read': ANY_FILE,
	'disk write': ANY_FILE,
	disk: ANY_FILE,
	'page fault': ['file', 'unknown'],
	'file server': ANY_FILE,
	'file lock': ANY_FILE,
	terminal: ['device', 'unknown'],
	pipe: ['pipe', 'unknown'],
	'unix socket': ['unix socket', 'unknown'],
	'socket accept': ['socket', 'unix socket', 'unknown'],
	'socket connect': ['socket', 'unix socket', 'unknown'],
	'socket receive': ['socket', 'unknown'],
	'socket send': ['socket', 'unknown'],
	poll: ['file', 'device', 'pipe', 'unix socket', 'socket', 'event', 'unknown'],
	event: ['event', 'unknown'],
	futex: ['futex'],
	lock: ['futex'],
	condition: ['futex'],
	child: ['child', 'unknown'],
};

/** Those of the objects that a wait of this kind can be for, the largest first. */
export function fittingObjects(kind: string, objects: readonly ObjectShare[]): ObjectShare[] {
	const fits = ({ object }: ObjectShare) =>
		FITTING[kind]?.includes(object.type) &&
		(object.type !== 'file' || (object.mapped === true) === (kind === 'page fault'));
	return objects.filter(fits).sort((a, b) => b.value - a.value);
}

/** The same objects once each, with all that was waited for them; the largest first. */
export function mergeObjects(objects: readonly ObjectShare[]): ObjectShare[] {
	const [first] = objects;
	// Most stacks wait for the same one again and again.
	if (first && objects.every(({ object }) => object === first.object))
		return [objects.slice(1).reduce(added, first)];
	const sums = new Map<string, ObjectShare>();
	for (const share of objects) {
		const key = JSON.stringify(share.object);
		const sum = sums.get(key);
		sums.set(key, sum ? added(sum, share) : share);
	}
	return [...sums.values()].sort((a, b) => b.value - a.value);
}

const added = (sum: ObjectShare, more: ObjectShare): ObjectShare => ({
	object: sum.object,
	value: sum.value + more.value,
	count: sum.count + more.count,
	variance: sum.variance + more.variance,
});
