/** Threads that are not the first of their process: their own numbers, and those of the process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { needs, Tracing, Workload } from './support.js';

const COUNT = 200;

test(
	'runqlat --slower: who waited, and who was in the way, both by thread and by process',
	needs('a ring buffer'),
	async () => {
		// The two share a CPU: one never sleeps, and waits when the other one has been woken. What
		// else runs there may be what it waits for, each time but a few.
		const woken = await Workload.start('woken', 'pipe', `${COUNT}`);
		const names = ['--comm', 'bystander', '-p', `${woken.pid}`];
		const tracing = await Tracing.start(['runqlat', '--json', '--slower', '1us', ...names]);
		const [bystander = 0] = await woken.work();
		const { stdout } = await tracing.end('SIGINT');
		await woken.end();
		const { pid, tid: sleeper } = woken;
		assert.equal(new Set([pid, sleeper, bystander]).size, 3);
		const rows = reportsOf(stdout).flatMap((report) => report.rows);
		for (const row of rows)
			assert.deepEqual([row.pid, row.tid, row.comm], [pid, bystander, 'bystander']);
		const behind = rows.filter((row) => row.prev_comm === 'sleeper');
		assert.ok(behind.length > 0, `none of ${rows.length}`);
		for (const row of behind) assert.deepEqual([row.prev_pid, row.prev_tid], [pid, sleeper]);
	},
);

test('a process whose first thread has ended is traced as long as another one goes on', async () => {
	const CALLS = 500;
	const workload = await Workload.start('calls', 'first-ends', `${CALLS}`);
	const tracing = await Tracing.start(['syscount', '--json', '-p', `${workload.pid}`]);
	await workload.work();
	const { stdout } = await tracing.end('SIGINT');
	await workload.end();
	const rows = reportsOf(stdout).flatMap((report) => report.rows);
	const calls = rows.filter(({ syscall }) => syscall === 'getppid').map((row) => row.calls);
	assert.deepEqual(calls, [CALLS]);
});
