/** Children of threads that were chosen by number. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { stackReport } from './stacks.js';
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

test('profile without BPF: children that begin meanwhile, with --follow only', async () => {
	const burn = "timeout 0.5 bash -c 'while :; do :; done'";
	const script = `echo "ready $$ $$"; read -rn 1; ${burn}; echo "done 0"; read -rn 1`;
	const pids = async (...follow: readonly string[]) => {
		const workload = await Workload.startBy('setpriv', '--bounding-set=-all', 'bash', '-c', script);
		const args = ['profile', '--json', '-F', '199', '-p', `${workload.pid}`, ...follow];
		const tracing = await Tracing.start(args, {}, ['setpriv', '--bounding-set=-all']);
		await workload.work();
		const { stacks } = stackReport(await tracing.end('SIGINT'));
		await workload.end();
		return new Set(stacks.map(({ key }) => key.pid === workload.pid));
	};
	assert.ok((await pids('--follow')).has(false));
	assert.ok(!(await pids()).has(false));
});
