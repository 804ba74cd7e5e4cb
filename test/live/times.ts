/** What the kernel has counted: of threads, and of the time that a hypervisor took. */
import { readFileSync } from 'node:fs';

/** What the kernel counted for a thread: Documentation/scheduler/sched-stats.rst. */
export function schedstat(tid: number): { run_ns: number; delay_ns: number; waits: number } {
	const [run_ns, delay_ns, waits] = readFileSync(`/proc/${tid}/schedstat`, 'utf8').split(' ');
	return { run_ns: Number(run_ns), delay_ns: Number(delay_ns), waits: Number(waits) };
}

/** Context switches of a thread, voluntary or not. */
export function switches(tid: number): number {
	return switchesIn(readFileSync(`/proc/${tid}/status`, 'utf8'));
}

/** The same, of what was read: man 5 proc, /proc/PID/status. */
export function switchesIn(status: string): number {
	return [...status.matchAll(/ctxt_switches:\s+(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0);
}

/** CLOCK_MONOTONIC, as programs and the kernel's stamps have it. */
export function now_ns(): number {
	return Number(process.hrtime.bigint());
}

/** Of user_hz, in which the kernel counts what a hypervisor took away: proc_stat(5). */
const TICK_NS = 1e7;
/** What is stolen and not counted yet, at either end. */
export const STEAL_UNCOUNTED_NS = 2 * TICK_NS;

/**
 * From now on: asks for what a hypervisor took from all CPUs, as far as it says so, and at the most. The
 * kernel counts it as nobody's run time (kernel/sched/core.c, update_rq_clock_task).
 */
export function stealing(): () => number {
	const stolen_ns = () => {
		const [all = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
		return Number(all.split(/ +/)[8]) * TICK_NS;
	};
	const before_ns = stolen_ns();
	return () => stolen_ns() - before_ns + STEAL_UNCOUNTED_NS;
}
