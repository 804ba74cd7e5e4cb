/** A thread that has used up its quota when tracing begins: that wait is told as what it is, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuCgroup } from './cpu-cgroup.js';
import { reportsOf } from './reports.js';
import { stackReport, sumOf } from './stacks.js';
import { Tracing, until, Workload } from './support.js';
import { schedstat } from './times.js';

const CPU = '0';
/** Of each second it runs for 10 ms, and is throttled for the rest. */
const [PERCENT, PERIOD_USEC] = [1, 1_000_000];

/** Traces a hog that is throttled as tracing begins, until `enough`; what tstrace prints. */
async function traced(
	args: readonly string[],
	enough: (hog: Workload, waits: number) => boolean,
): Promise<string> {
	const cgroup = CpuCgroup.make('throttled-before');
	const hog = await Workload.start('hog', CPU);
	try {
		cgroup.add(hog.pid);
		cgroup.limitTo(PERCENT, PERIOD_USEC);
		const { times } = cgroup.throttled();
		await until(() => cgroup.throttled().times >= times + 2);
		const tracing = await Tracing.start([...args, '-p', `${hog.pid}`]);
		const { waits } = schedstat(hog.pid);
		await until(() => enough(hog, waits));
		return (await tracing.end('SIGINT')).stdout;
	} finally {
		cgroup.limitTo(100);
		await hog.end();
		cgroup.remove();
	}
}

test('runqlat --split: the wait that tracing begins in is one for quota', async () => {
	// It gets a CPU once, and waits for quota again.
	const stdout = await traced(
		['runqlat', '--split', '--json'],
		(hog, waits) => schedstat(hog.pid).waits > waits,
	);
	const groups = reportsOf(stdout).flatMap((report) => report.groups);
	const sum_ns = (isThrottled: boolean) =>
		groups
			.filter(({ key }) => (key.kind === 'throttled') === isThrottled)
			.reduce((sum, each) => sum + each.sum, 0);
	const said = JSON.stringify(groups.map(({ key, sum }) => [key.kind, sum]));
	assert.ok(sum_ns(true) > 0.5e9, said);
	assert.ok(sum_ns(false) < sum_ns(true) / 2, said);
});

test('timehist: the same, in a line of its own', async () => {
	const stdout = await traced(
		['timehist', '--json'],
		(hog, waits) => schedstat(hog.pid).waits > waits,
	);
	const rows = reportsOf(stdout).flatMap((report) => report.rows);
	const sum_ns = (field: string) => rows.reduce((sum, row) => sum + Number(row[field] ?? 0), 0);
	assert.ok(sum_ns('throttled_ns') > 0.5e9, stdout);
	assert.ok(sum_ns('delay_ns') < sum_ns('throttled_ns') / 2, stdout);
});

test('offcputime: the same, as far as it was seen', async () => {
	const stdout = await traced(
		['offcputime', '--exact', '--json'],
		(hog, waits) => schedstat(hog.pid).waits > waits,
	);
	const { stacks } = stackReport({ status: 0, stdout, stderr: '' });
	const queued_ns = sumOf(stacks, 'run_queue') + sumOf(stacks, 'preempted');
	assert.ok(sumOf(stacks, 'throttled') > 0, stdout);
	assert.ok(queued_ns < sumOf(stacks, 'throttled') / 2, stdout);
});

test('why: a thread that never gets a CPU in the window could have run in all of it', async () => {
	const stdout = await traced(['why', '--json'], () => true);
	const [report] = reportsOf(stdout) as unknown as Record<string, unknown>[];
	const account = report?.account as { place: string; total_ns: number }[];
	const said = JSON.stringify({ account, wall: report?.wall_ns, unseen: report?.not_seen_ns });
	const runnable = account.filter(({ place }) => place === 'runnable');
	const ns = runnable.reduce((sum, each) => sum + each.total_ns, 0);
	assert.ok(ns > 0.9 * Number(report?.wall_ns), said);
});
