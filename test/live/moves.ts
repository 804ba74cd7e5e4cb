/** What is true of the workload `moved`: a thread that waits on one CPU, and is moved to another. */
import assert from 'node:assert/strict';

/** How often it is moved. */
export const MOVES = 20;
/** As test/workloads/moved.c has it: each of the waits is so long, or longer. */
const EACH_NS = 5e6;

/** What the workload measured: test/workloads/moved.c. */
interface Moved {
	/** What the thread waited before it was moved, by the workload's own clock. */
	readonly least_ns: number;
	/** How often it waited still as it was moved. */
	readonly waiting: number;
	/** What the kernel counted, with one time slice more. */
	readonly all_ns: number;
}

/**
 * Checks the run queue time that a tool found.
 * @param sum_ns what the tool says that the thread waited
 * @param out of how many waits it says that they are left out: the worker may have been moved
 *   asleep, and a switch to it may not have been traced
 */
export function checkMoved(
	sum_ns: number,
	out: number,
	{ least_ns, waiting, all_ns }: Moved,
): void {
	assert.ok(out < MOVES / 2, `${out} waits left out`);
	const counted_ns = out === 0 ? least_ns : (waiting - out) * EACH_NS;
	// Clocks of a CPU that the hypervisor takes away are apart for a while.
	assert.ok(sum_ns >= 0.9 * counted_ns, `${sum_ns} ns of ${counted_ns} or more, ${out} left out`);
	assert.ok(sum_ns <= all_ns * 1.03, `${sum_ns} ns, of ${all_ns} that the kernel counted`);
}
