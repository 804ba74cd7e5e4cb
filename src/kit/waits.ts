/** Which of the three ways of bpf/lib/waits.h fits the running kernel. */
import { readFileSync } from 'node:fs';
import { TstraceError } from '../loader/errors.js';
import { kernelHasField } from '../loader/kernel.js';
import { UsageError } from './errors.js';

export const WAYS = ['sched_info', 'task_storage', 'hash'] as const;
export type Way = (typeof WAYS)[number];

/** Fields without which a way does not work; a kernel that has them all has the way. */
const NEEDS: Readonly<Record<Way, ReadonlyArray<readonly [struct: string, field: string]>>> = {
	sched_info: [
		['task_struct', 'sched_info'],
		['sched_info', 'last_queued'],
		['sched_entity', 'cfs_rq'],
		['cfs_rq', 'rq'],
		['rq', 'clock'],
	],
	// Local storage for tracing programs came with this field (a10787e6d58c, 5.12).
	task_storage: [['task_struct', 'bpf_storage']],
	hash: [],
};

export interface ChosenWay {
	readonly way: Way;
	readonly because: string;
}

/**
 * The cheapest way this kernel has; TSTRACE_FORCE names another one, for tests.
 * Throws UsageError for an unknown name, TstraceError for a way the kernel does not have.
 */
export function chooseWay(): ChosenWay {
	const forced = process.env.TSTRACE_FORCE;
	if (forced) {
		const way = WAYS.find((each) => each === forced);
		if (!way) throw new UsageError(`TSTRACE_FORCE=${forced}: must be one of ${WAYS.join(', ')}`);
		const why = missing(way);
		if (why) throw new TstraceError(`TSTRACE_FORCE=${forced}: ${why}`);
		return { way, because: 'forced by TSTRACE_FORCE' };
	}
	const reasons: string[] = [];
	for (const way of WAYS) {
		const why = missing(way);
		if (why) {
			reasons.push(`not ${way}: ${why}`);
			continue;
		}
		return { way, because: reasons.join('; ') || 'the kernel keeps these books itself' };
	}
	throw new TstraceError('this kernel has no way to time waits'); // hash needs nothing
}

function missing(way: Way): string | undefined {
	for (const [struct, field] of NEEDS[way]) {
		if (!kernelHasField(struct, field)) return `the kernel's BTF has no ${struct}.${field}`;
	}
	if (way === 'sched_info' && !booksAreKept()) return 'the kernel does not keep these books now';
	return undefined;
}

/** Until 5.13 the fields could be there and unused (sched_info_on); then all of this reads 0. */
function booksAreKept(): boolean {
	const turns = readFileSync('/proc/self/schedstat', 'utf8').trim().split(' ')[2];
	return Number(turns) > 0;
}

/** Whether a task that sleeps can be moved between run queues: see turn_moved_asleep in waits.h. */
export function delayedDequeue(): boolean {
	return kernelHasField('sched_entity', 'sched_delayed');
}
