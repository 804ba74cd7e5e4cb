/** Children of threads that were chosen by number. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { Tracing, Workload } from './support.js';

for (const [way, which] of [
	['forks', 'the first one'],
	['thread-forks', 'another one, and not those of its process'],
] as const)
	test(`-t --follow: the children of a thread, too, and only so: ${which}`, async () => {
		const CHILDREN = 20;
		const processes = async (...follow: readonly string[]) => {
			const workload = await Workload.start('calls', way, `${CHILDREN}`);
			const other = await Workload.start('calls', way, `${CHILDREN}`);
			const args = ['runqlat', '-P', '--json', '-t', `${workload.tid}`, ...follow];
			const tracing = await Tracing.start(args);
			await workload.work();
			await other.work();
			const { stdout } = await tracing.end('SIGINT');
			await workload.end();
			await other.end();
			const pids = reportsOf(stdout).flatMap(({ groups }) => groups.map(({ key }) => key.pid));
			assert.ok(pids.includes(workload.pid));
			assert.ok(!pids.includes(other.pid));
			return new Set(pids).size;
		};
		assert.equal(await processes('--follow'), 1 + CHILDREN);
		assert.equal(await processes(), 1);
	});
