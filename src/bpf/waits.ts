/** Which of the two ways of bpf/lib/waits.h and stamped_waits.h fits the running kernel. */
import { readFileSync } from 'node:fs';
import { kernelHasField } from '../loader/kernel.js';
import { type Chosen, chooseWay, type Way } from './fallback.js';

export type WaitsWay = 'sched_info' | 'hash';

/** Fields without which a way does not work; a kernel that has them all has the way. */
type Needs = ReadonlyArray<readonly [struct: string, field: string]>;

const SCHED_INFO: Needs = [
	['task_struct', 'sched_info'],
	['sched_info', 'last_queued'],
	['sched_entity', 'cfs_rq'],
	['cfs_rq', 'rq'],
	['rq', 'clock'],
];

export const WAYS: ReadonlyArray<Way<WaitsWay>> = [
	{ name: 'sched_info', missing: schedInfoMissing },
	{ name: 'hash', missing: () => undefined },
];

/** How waits on run queues are timed. */
export function chooseWaits(): Chosen<WaitsWay> {
	return chooseWay(WAYS, 'the kernel measures run queue latency itself');
}

/** What the kernel lacks so that sched_info can be read; undefined: nothing. */
export function schedInfoMissing(): string | undefined {
	return (
		lacking(SCHED_INFO) ??
		(schedInfoIsKept() ? undefined : 'the kernel keeps no run queue statistics (sched_info is off)')
	);
}

/** Local storage for tracing programs came with this field (a10787e6d58c, 5.12). */
export function taskStorageMissing(): string | undefined {
	const missing = lacking([['task_struct', 'bpf_storage']]);
	if (missing) return missing;
	// It is taken from kmalloc_nolock (mm/slub.c) since 7.0, which gives a CPU without that none.
	return cpuHasWideExchange()
		? undefined
		: 'this CPU has no compare-and-exchange of 16 bytes, which task storage needs since 7.0';
}

/** x86-64: all but the very first; arm64: since 8.1. Source: man 5 proc_cpuinfo. */
function cpuHasWideExchange(): boolean {
	return /^(flags|Features)\s*:.*\b(cx16|atomics)\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
}

function lacking(needs: Needs): string | undefined {
	for (const [struct, field] of needs) {
		if (!kernelHasField(struct, field)) return `the kernel's BTF has no ${struct}.${field}`;
	}
	return undefined;
}

/** Until 5.13 the fields could be there and unused (sched_info_on); then all of this reads 0. */
function schedInfoIsKept(): boolean {
	const slices = readFileSync('/proc/self/schedstat', 'utf8').trim().split(' ')[2];
	return Number(slices) > 0;
}

/** Whether a task that sleeps can be moved between run queues: see moved_asleep.h. */
export function delayedDequeue(): boolean {
	return kernelHasField('sched_entity', 'sched_delayed');
}
