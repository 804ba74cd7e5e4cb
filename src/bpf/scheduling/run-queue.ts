/** Which way fits the running kernel: of bpf/lib/scheduling/run_queue.h, or of stamped_run_queue.h. */
import { readFileSync } from 'node:fs';
import { kernelHasField } from '../../loader/kernel.js';
import { type Chosen, chooseWay, type Way } from '../fallback.js';

export type QueueTiming = 'sched_info' | 'hash';

/** Fields without which a way does not work; a kernel that has them all has the way. */
type Needs = ReadonlyArray<readonly [struct: string, field: string]>;

const SCHED_INFO: Needs = [
	['task_struct', 'sched_info'],
	['sched_info', 'last_queued'],
	['sched_entity', 'cfs_rq'],
	['cfs_rq', 'rq'],
	['rq', 'clock'],
];

export const WAYS: ReadonlyArray<Way<QueueTiming>> = [
	{ name: 'sched_info', missing: schedInfoMissing },
	{ name: 'hash', missing: () => undefined },
];

/** How latency on run queues is timed. */
export function chooseQueueTiming(): Chosen<QueueTiming> {
	return chooseWay(WAYS, 'the kernel measures run queue latency itself');
}

/** What the kernel lacks so that sched_info can be read; undefined: nothing. */
export function schedInfoMissing(): string | undefined {
	return (
		lacking(SCHED_INFO) ??
		(schedInfoIsKept() ? undefined : 'the kernel keeps no run queue statistics (sched_info is off)')
	);
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

/** Whether a thread that sleeps can be moved between run queues: see scheduling/moved_asleep.h. */
export function delayedDequeue(): boolean {
	return kernelHasField('sched_entity', 'sched_delayed');
}
