/** A thread that waits on one CPU and is moved to another: what it waited there is run queue time, too. */
import { test } from 'node:test';
import { checkMoved, MOVES } from './moves.js';
import { leftOut } from './reports.js';
import { stackReport, sumOf } from './stacks.js';
import { Tracing, Workload } from './support.js';

test('offcputime: run queue time is what the workload and the kernel have counted', async () => {
	const workload = await Workload.start('moved', `${MOVES}`);
	const args = ['offcputime', '--exact', '--json', '-t', `${workload.tid}`];
	const tracing = await Tracing.start(args);
	const [least_ns = 0, , waiting = 0, all_ns = 0] = await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	const { stacks } = stackReport(finished);
	const sum = sumOf(stacks, 'run_queue') + sumOf(stacks, 'preempted');
	checkMoved(sum, leftOut(finished.stdout), { least_ns, waiting, all_ns });
});
