/** Small evidence for `why`: values of which each is another one. */
import { bucketOf } from '../../../../src/aggregate/buckets.js';
import { Histogram } from '../../../../src/aggregate/histogram.js';
import type { Key } from '../../../../src/aggregate/row-key.js';
import type { Did, Frame } from '../../../../src/aggregate/stack.js';
import type { StackRow, Waker } from '../../../../src/aggregate/stack-rows.js';
import type { WaitKind } from '../../../../src/aggregate/wait-kind-rules.js';
import type { WaitObject } from '../../../../src/aggregate/wait-object.js';
import { type Answer, answerOf } from '../../../../src/tools/why/answer.js';
import type {
	BlockedTime,
	CpuWaits,
	Evidence,
	ThreadTime,
} from '../../../../src/tools/why/evidence.js';
import type { Machine } from '../../../../src/tools/why/machine.js';
import { type Parts, partsOf } from '../../../../src/tools/why/parts.js';

export const MS = 1e6;
export const SECOND = 1e9;

/** Root first; what stands before the bar is the program's, names in brackets are the C library's. */
export function stack(text: string): Frame[] {
	const [user = '', kernel = ''] = text.split('|');
	const words = (part: string) => part.trim().split(/\s+/).filter(Boolean);
	return [
		...words(user).map((name): Frame => {
			const inCLibrary = name.startsWith('(');
			return { name: inCLibrary ? name.slice(1, -1) : name, kind: 'user', inCLibrary };
		}),
		...words(kernel).map((name): Frame => ({ name, kind: 'kernel' })),
	];
}

/** A stack of each kind of wait. */
export const STACK_OF: Readonly<Record<WaitKind, string>> = {
	'disk read': 'main load | ksys_read vfs_read io_schedule',
	'disk write': 'main save | do_fsync io_schedule',
	disk: 'main look | do_open io_schedule',
	'page fault': 'main touch | exc_page_fault filemap_fault io_schedule',
	'swap-in': 'main recall | do_swap_page io_schedule',
	'memory reclaim': 'main grow | mem_cgroup_handle_over_high',
	'file lock': 'main guard | fcntl_setlk',
	'file server': 'main fetch | request_wait_answer',
	'socket receive': 'main receive | tcp_recvmsg sk_wait_data',
	'socket send': 'main push | tcp_sendmsg sk_stream_wait_memory',
	'socket accept': 'main greet | inet_csk_accept',
	'socket connect': 'main dial | inet_wait_for_connect',
	'unix socket': 'main chat | unix_stream_recvmsg',
	pipe: 'main drink | pipe_read',
	poll: 'main loop | ep_poll',
	io_uring: 'main ring | io_cqring_wait',
	lock: 'main enter (pthread_mutex_lock) | futex_wait',
	condition: 'main await (pthread_cond_wait) | futex_wait',
	futex: 'main spin | futex_wait',
	'kernel lock': 'main map | rwsem_down_read_slowpath',
	sleep: 'main nap | do_nanosleep',
	child: 'main reap | do_wait',
	signal: 'main mind | do_sigtimedwait',
	stopped: 'main freeze | do_signal_stop',
	event: 'main count | eventfd_read',
	terminal: 'main type | n_tty_read',
	IPC: 'main queue | do_semtimedop',
	'virtual CPU': 'main guest | kvm_vcpu_block',
	'kernel thread': '| kthread worker_thread',
};

/** Number 71 of process 70, unless the rest says otherwise. */
export function thread(
	life_ns: number,
	run_ns = 0,
	rest: Partial<Pick<ThreadTime, 'pid' | 'tid' | 'comm'>> = {},
): ThreadTime {
	return { pid: 70, tid: 71, comm: 'worker', life_ns, run_ns, ...rest };
}

/** By a thread: number 91 of process 90. */
export function waker(
	did: Did | undefined,
	frames = 'serve answer',
	rest: Partial<Waker> = {},
): Waker {
	const key = { context: 'thread', pid: 90, tid: 91, comm: 'server' };
	return { key, frames: stack(frames), ...(did ? { did } : {}), ...rest };
}

export const interrupt = (key: Key, comm = '<softirq>'): Waker => ({
	key: { comm, ...key },
	frames: [],
});
export const nobody = (comm: string): Waker => ({ key: { comm }, frames: [] });

/** Waits of these durations in ns, each so many times. */
export function weighed(...waits: readonly (readonly [ns: number, count: number])[]): Histogram {
	const histogram = new Histogram();
	for (const [ns, count] of waits) {
		histogram.addBucket(bucketOf(ns), count);
		histogram.addTotals({ sum_ns: ns * count, min_ns: ns, max_ns: ns });
	}
	return histogram;
}

interface Waited {
	readonly count?: number;
	readonly variance?: number;
	readonly waker?: Waker;
	readonly objects?: readonly (readonly [object: WaitObject, value: number])[];
	readonly open?: boolean;
	readonly durations?: readonly Histogram[];
	readonly key?: Key;
}

/** Thread 71 was blocked so long, in one wait unless the rest says otherwise. */
export function blocked(frames: string, value: number, rest: Waited = {}): BlockedTime {
	const { count = 1, variance = 0, objects, open = false, key, waker: by } = rest;
	const row: StackRow = {
		key: { pid: 70, tid: 71, comm: 'worker', ...key },
		frames: stack(frames),
		...{ parts: [value], value, count, variance },
		...(by ? { waker: by } : {}),
		...(objects
			? {
					objects: objects.map(([object, part]) => ({
						...{ object, value: part, count: count / objects.length, variance: 0 },
					})),
				}
			: {}),
	};
	const durations = rest.durations ?? [weighed([Math.round(value / (count || 1)), count])];
	return { row, durations, open };
}

export function forCpu(
	kind: CpuWaits['kind'],
	value_ns: number,
	rest: Partial<CpuWaits> = {},
): CpuWaits {
	const { count = 1 } = rest;
	return {
		...{ pid: 70, tid: 71, comm: 'worker', kind, value_ns, count, variance: 0 },
		durations: weighed([Math.round(value_ns / count), count]),
		...rest,
	};
}

export function sample(frames: string, count: number, key: Key = {}): StackRow {
	return {
		key: { pid: 70, tid: 71, comm: 'worker', ...key },
		frames: stack(frames),
		...{ parts: [count], value: count, count, variance: 0 },
	};
}

/** Two CPUs, and nothing else that used them. */
export const ALONE: Machine = {
	...{
		cpus: 2,
		tracer_ns: 0,
		ended_ns: 0,
		stolen_ns: 0,
		own: { read_bytes: 0, written_bytes: 0 },
		others: [],
	},
};

function evidence(rest: Partial<Evidence>): Evidence {
	const none = { threads: [], blocked: [], forCpu: [], samples: [] };
	return {
		...{ target: '-p 70', isThere: () => true, lockHolders: new Map(), window_ns: 10 * SECOND },
		machine: ALONE,
		...none,
		...rest,
	};
}

export function answerTo(rest: Partial<Evidence>): Answer {
	const given = evidence(rest);
	return answerOf(given, partsOf(given));
}

export const partsTo = (rest: Partial<Evidence>): Parts => partsOf(evidence(rest));

/** The two numbers are the same but for what doubles round. */
export const isNear = (a: number, b: number, whole = 1) =>
	Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b), whole);

export const tcp = (rest: Partial<Extract<WaitObject, { type: 'socket' }>> = {}): WaitObject => ({
	...{ type: 'socket', protocol: 'tcp', local: '10.0.0.1:80', remote: '10.0.0.2:9' },
	...{ other_end: [], ...rest },
});
export const unix = (
	rest: Partial<Extract<WaitObject, { type: 'unix socket' }>> = {},
): WaitObject => ({
	...{ type: 'unix socket', path: '/run/s', inode: 3, peer_inode: 4, other_end: [] },
	...rest,
});
export const pipe = (end: 'read' | 'write'): WaitObject => ({
	...{ type: 'pipe', end, path: '', inode: 5, other_end: [] },
});
export const futex = (
	name: string,
	rest: Partial<Extract<WaitObject, { type: 'futex' }>> = {},
): WaitObject => ({ type: 'futex', pid: 70, address: '0x7f00', in: name, ...rest });
export const file = (path: string): WaitObject => ({ type: 'file', path });
export const childOf = (comm: string, pid: number): WaitObject => ({ type: 'child', comm, pid });
