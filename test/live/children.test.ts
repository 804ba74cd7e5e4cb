/** offcputime: which child a process waits for that would take any of them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { stackReport } from './stacks.js';
import { hasEnded, Tracing, until, Workload } from './support.js';

const textOf = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'latin1');
const childrenOf = (pid: number) =>
	textOf(pid, `task/${pid}/children`)
		.split(' ')
		.filter((number) => number !== '')
		.map(Number);
/** In wait4(-1, …), as a shell is while its last command runs, and off its CPU: man 5 proc_pid_syscall. */
const waitsForAny = (pid: number) => /^\d+ 0xf{8,16} /.test(textOf(pid, 'syscall'));

for (const count of [1, 2, 3, 5])
	test(`of ${count} that live: ${count === 1 ? 'the only one is named' : 'nobody knows which'}`, async () => {
		const others = 'sleep 100 & '.repeat(count - 1);
		const shell = await Workload.startBy('sh', '-c', `echo ready $$ $$; ${others} sleep 100; :`);
		await until(() => waitsForAny(shell.pid));
		const children = childrenOf(shell.pid);
		assert.equal(children.length, count);
		const tracing = await Tracing.start(['offcputime', '--json', '-p', `${shell.pid}`]);
		const { stacks } = stackReport(await tracing.end('SIGINT'));
		const [pid] = children;
		for (const each of children) process.kill(each);
		await until(() => hasEnded(shell.pid));
		const waits = stacks.filter(({ wait }) => wait?.kind === 'child');
		assert.ok(waits.length > 0);
		const objects = waits.flatMap(({ wait }) => wait?.objects ?? []);
		const named = objects.map((object) => [object.type, object.pid, object.comm]);
		const unknown = ['unknown', undefined, undefined];
		assert.deepEqual(named, [count === 1 ? ['child', pid, 'sleep'] : unknown]);
	});
