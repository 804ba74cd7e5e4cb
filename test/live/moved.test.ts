/** A thread that waits on one CPU and is moved to another: what it waited there is run queue time, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkMoved, MOVES } from './moves.js';
import { leftOut, reportsOf } from './reports.js';
import { stackReport, sumOf } from './stacks.js';
import { Tracing, Workload } from './support.js';
import { type Report, total as totalOf } from './why-reports.js';

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

const total = (rows: readonly object[], field: string) =>
	rows.reduce((sum, row) => sum + Number((row as Record<string, unknown>)[field] ?? 0), 0);

test('a new thread that is moved before it has ever run: what it waited on its first CPU is there', async () => {
	const workload = await Workload.start('moved', `${MOVES}`, 'new');
	const whose = ['--json', '-p', `${workload.pid}`];
	const tools = ['runqlat -L', 'schedlat', 'timehist', 'offcputime --exact -L'];
	const traces = await Promise.all(
		tools.map((tool) => Tracing.start([...tool.split(' '), ...whose])),
	);
	const [least_ns = 0, , waiting = 0, all_ns = 0] = await workload.work();
	const ended = await Promise.all(traces.map((tracing) => tracing.end('SIGINT')));
	await workload.end();
	assert.ok(waiting > MOVES / 2, `${waiting} of ${MOVES}`);
	for (const [i, { stdout }] of ended.entries()) {
		const reports = reportsOf(stdout);
		const [groups, rows, stacks] = (['groups', 'rows', 'stacks'] as const).map((name) =>
			reports.flatMap((report) => (report[name] ?? []) as readonly Row[]),
		);
		// The first thread has made them, and waits for others, too.
		const isWorker = ({ key, tid }: Row) => (key?.tid ?? tid) !== workload.pid;
		const of = (all: readonly Row[] = []) => all.filter(isWorker);
		const sum_ns =
			total(of(groups), 'sum') +
			total(of(rows), i === 1 ? 'delay' : 'delay_ns') +
			total(of(stacks), 'run_queue');
		const said = `${tools[i]}: ${sum_ns} ns, not ${least_ns}..${all_ns}`;
		const lost_ns = (leftOut(stdout) * all_ns) / MOVES;
		assert.ok(sum_ns >= 0.9 * least_ns - lost_ns && sum_ns <= 1.1 * all_ns, said);
	}
});

test('why: new threads waited for a CPU, and were not taken off one', async () => {
	// These are, on the CPU that the new threads are moved to.
	const hogs = [await Workload.start('hog', '1'), await Workload.start('hog', '1')];
	const workload = await Workload.start('moved', `${MOVES}`, 'new');
	const tracing = await Tracing.start(['why', '--json', '-p', `${workload.pid}`, '60']);
	const [least_ns = 0, , , all_ns = 0] = await workload.work();
	const { stdout } = await tracing.end('SIGINT');
	for (const each of [workload, ...hogs]) await each.end();
	const { account, lost } = JSON.parse(stdout) as Report;
	const runnable = (kind: string) =>
		totalOf(account.filter((each) => each.place === 'runnable' && each.kind === kind));
	const [queued, preempted] = [runnable('run_queue'), runnable('preempted')];
	const lost_ns = (((lost.waits_unseen ?? 0) + (lost.wait_start_unknown ?? 0)) * all_ns) / MOVES;
	const said = `${queued} ns, ${preempted} preempted, not ${least_ns}..${all_ns}`;
	assert.ok(queued >= 0.9 * least_ns - lost_ns && queued <= 1.1 * all_ns, said);
	assert.ok(preempted < 0.1 * queued, said);
});

/** Of any tool. */
interface Row {
	readonly key?: { readonly tid?: number };
	readonly tid?: number;
}
