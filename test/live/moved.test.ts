/** A thread that waits on one CPU and is moved to another: what it waited there is run queue time, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leftOut } from './reports.js';
import { stackReport, sumOf } from './stacks.js';
import { Tracing, Workload } from './support.js';

const MOVES = 20;
/** What each wait is before it is moved, at least: test/workloads/moved.c. */
const EACH_NS = 5e6;

test('offcputime: run queue time is what the workload and the kernel have counted', async () => {
	const workload = await Workload.start('moved', `${MOVES}`);
	const args = ['offcputime', '--exact', '--json', '-t', `${workload.tid}`];
	const tracing = await Tracing.start(args);
	const [least_ns = 0, , waiting = 0, all_ns = 0] = await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	const { stacks } = stackReport(finished);
	const sum = sumOf(stacks, 'run_queue') + sumOf(stacks, 'preempted');
	// It may also have been moved asleep; what sched_info then says is left out, and told.
	const out = leftOut(finished.stdout);
	assert.ok(out < MOVES / 2, `${out} waits left out`);
	const counted_ns = out === 0 ? least_ns : (waiting - out) * EACH_NS;
	// Clocks of a CPU that the hypervisor takes away are apart for a while.
	assert.ok(sum >= 0.9 * counted_ns, `${sum} ns of ${counted_ns} or more, ${out} left out`);
	assert.ok(sum <= all_ns * 1.03, `${sum} ns, of ${all_ns} that the kernel counted`);
});
