/** Children of threads that were chosen by number. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

/** Begins a thread that naps when it is told to. */
const NEW_THREAD = `
import sys, threading, time
sys.stdin.read(1)
def nap():
	for i in range(20):
		time.sleep(0.001)
thread = threading.Thread(target=nap)
thread.start()
print(thread.native_id, flush=True)
thread.join()
`;

test('-t --follow: threads that the thread begins are its children, too', async () => {
	for (const follow of [['--follow'], []]) {
		const python = spawn('python3', ['-c', NEW_THREAD], { stdio: ['pipe', 'pipe', 'inherit'] });
		try {
			const args = ['offcputime', '--exact', '--by', 'thread', '--json', '-t', `${python.pid}`];
			const tracing = await Tracing.start([...args, ...follow]);
			const ended = once(python, 'exit');
			const said = once(python.stdout, 'data');
			python.stdin.write('x');
			const tid = Number(`${(await said)[0]}`);
			await ended;
			const { stacks } = stackReport(await tracing.end('SIGINT'));
			const naps = stacks.filter(({ key }) => key.tid === tid);
			assert.equal(naps.length > 0, follow.length > 0, JSON.stringify(stacks));
			for (const { key } of stacks) assert.ok(key.tid === tid || key.tid === python.pid);
		} finally {
			python.kill();
		}
	}
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
