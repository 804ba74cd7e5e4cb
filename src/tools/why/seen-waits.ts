/** Waits one by one, as they end: how long they were, and why a thread that could run did not. Pure values: no I/O. */
import { bucketOf } from '../../aggregate/buckets.js';
import { Histogram } from '../../aggregate/histogram.js';
import type { ObservedCpuWait, ObservedWait, WaitObserver } from '../../waits/records.js';
import type { CpuWaits, RunnableKind } from './evidence.js';
import type { ThreadAccount } from './thread-accounts.js';
import { LongestWaits } from './worst.js';

/** Of one wait for a CPU: it is named by what it was for most of its time. */
const MOST = 0.5;

function addTo(histogram: Histogram, length_ns: number, count: number): void {
	const value_ns = Math.max(0, Math.round(length_ns));
	histogram.addBucket(bucketOf(value_ns), count);
	histogram.addTotals({ sum_ns: value_ns * count, min_ns: value_ns, max_ns: value_ns });
}

/** Of so many waits of one length. */
export function histogramOf(length_ns: number, count: number): Histogram {
	const histogram = new Histogram();
	addTo(histogram, length_ns, count);
	return histogram;
}

type Thread = Pick<ThreadAccount, 'kernelPid' | 'pid' | 'tid' | 'comm'>;
/** Waits of one thread for one reason. */
type ForCpu = { -readonly [Key in keyof Omit<CpuWaits, 'tid' | 'pid' | 'comm'>]: CpuWaits[Key] };

/** How long single waits were, and when the longest ones were: chains have sums only. */
export class SeenWaits implements WaitObserver {
	/** By the number of the stack that waited. */
	readonly durations = new Map<number, Histogram>();
	readonly longest = new LongestWaits();
	/** By the kernel's number of the thread. */
	readonly #forCpu = new Map<number, Map<RunnableKind, ForCpu>>();

	blocked(stack: number, wait: ObservedWait): void {
		const { begin_ns, end_ns, count } = wait;
		this.longest.blocked(stack, wait);
		let histogram = this.durations.get(stack);
		if (!histogram) {
			histogram = new Histogram();
			this.durations.set(stack, histogram);
		}
		addTo(histogram, end_ns - begin_ns, count);
	}

	forCpu(pid: number, wait: ObservedCpuWait): void {
		const length_ns = Math.max(1, wait.end_ns - wait.begin_ns);
		const quota_ns = Math.min(length_ns, wait.throttled_ns);
		const waking_ns = Math.min(length_ns - quota_ns, wait.waking_ns);
		const rest_ns = length_ns - quota_ns - waking_ns;
		const rest = wait.preempted ? 'preempted' : 'run queue';
		if (quota_ns > 0) this.#add(pid, 'CPU quota', wait, quota_ns / length_ns);
		if (waking_ns > 0) this.#add(pid, 'CPU wake-up', wait, waking_ns / length_ns);
		if (rest_ns > 0) this.#add(pid, rest, wait, rest_ns / length_ns);
		let most: RunnableKind = rest;
		if (quota_ns > MOST * length_ns) most = 'CPU quota';
		if (waking_ns > MOST * length_ns) most = 'CPU wake-up';
		this.longest.forCpu(pid, most, wait);
	}

	/** Of those threads. */
	forCpuOf(accounts: readonly Thread[]): CpuWaits[] {
		return accounts.flatMap(({ kernelPid, pid, tid, comm }) =>
			[...(this.#forCpu.get(kernelPid)?.values() ?? [])].map((waits) => ({
				...waits,
				pid,
				tid,
				comm,
			})),
		);
	}

	#add(pid: number, kind: RunnableKind, wait: ObservedWait, share: number): void {
		let kinds = this.#forCpu.get(pid);
		if (!kinds) {
			kinds = new Map();
			this.#forCpu.set(pid, kinds);
		}
		let sum = kinds.get(kind);
		if (!sum) {
			sum = { kind, value_ns: 0, count: 0, variance: 0, durations: new Histogram() };
			kinds.set(kind, sum);
		}
		addTo(sum.durations, (wait.end_ns - wait.begin_ns) * share, wait.count);
		sum.value_ns += wait.weighed_ns * share;
		sum.count += wait.count;
		sum.variance += wait.variance * share * share;
	}
}
