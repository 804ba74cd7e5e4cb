/** Threads of the kernel, of which some tools have nothing to tell. */

import { boundedName } from '../bounded-names.js';
import { TstraceError } from '../errors.js';
import { textOf } from '../text-of.js';

/** include/linux/sched.h */
const PF_KTHREAD = 0x0020_0000;

/** The name of a kernel thread, from what /proc/PID/stat says; undefined: it is another's, or nobody's. */
export function kernelThreadName(stat: string): string | undefined {
	const match = /^\d+ \((.*)\) \S(?: -?\d+){5} (\d+) /s.exec(stat);
	return Number(match?.[2]) & PF_KTHREAD ? boundedName(match?.[1] ?? '') : undefined;
}

/** Whether a process is a kernel thread; the idle threads of all CPUs are process 0. False for one that has ended. */
export function isKernelThread(pid: number): boolean {
	return pid === 0 || kernelThreadName(textOf(`/proc/${pid}/stat`) ?? '') !== undefined;
}

/** Processes and threads that were chosen by number. */
interface Chosen {
	readonly pids: Iterable<number>;
	readonly tids: Iterable<number>;
}

/** Throws TstraceError where -p or -t names a kernel thread; `why`: that it has nothing of the kind. */
export function refuseKernelThreads({ pids, tids }: Chosen, why: string): void {
	for (const id of [...pids, ...tids]) {
		const name = kernelThreadName(textOf(`/proc/${id}/stat`) ?? '');
		if (name !== undefined) throw new TstraceError(`${id} (${name}) is a kernel thread: ${why}`);
	}
}
