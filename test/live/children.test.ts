/** offcputime: which child a process waits for that would take any of them. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stackReport } from './stacks.js';
import { hasEnded, Tracing, tstrace, until, Workload } from './support.js';

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

/** Two children of one group, whose first one ends last; each wait takes whichever ends. Says which one each took. */
const TAKES_ANY = `
import os, time
def child(seconds):
    pid = os.fork()
    if not pid:
        time.sleep(seconds); os._exit(0)
    return pid
waits = [
    lambda first: os.waitid(os.P_PGID, first, os.WEXITED).si_pid,
    lambda first: os.waitid(os.P_ALL, 0, os.WEXITED).si_pid,
    lambda first: os.waitpid(-first, 0)[0],
    lambda first: os.waitpid(-1, 0)[0],
]
for wait in waits:
    first = child(0.2)
    os.setpgid(first, first)
    second = child(0.1)
    os.setpgid(second, first)
    print(wait(first), wait(first))
`;

test('of two, whichever ends: the one that has', () => {
	const command = ['python3', '-c', TAKES_ANY];
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-children-'));
	const file = join(folder, 'waits.json');
	try {
		const run = tstrace(['offcputime', '--json', '--exact', '-q', '-o', file, '--', ...command]);
		const taken = run.stdout.trim().split(/\s+/).map(Number);
		const { stacks } = stackReport({ ...run, stdout: readFileSync(file, 'utf8') });
		const objects = stacks.flatMap(({ wait }) => wait?.objects ?? []);
		const named = objects.filter(
			({ type, value_ns }) => type === 'child' && Number(value_ns) > 5e7,
		);
		assert.equal(taken.length, 8);
		assert.deepEqual(named.map(({ pid }) => Number(pid)).sort(), taken.sort());
	} finally {
		rmSync(folder, { recursive: true });
	}
});

/** Waits for the youngest of twenty children, which ends while all others live. */
const TAKES_YOUNGEST = `
import os, time
def child(seconds):
    pid = os.fork()
    if not pid:
        time.sleep(seconds); os._exit(0)
    return pid
children = [child(100) for _ in range(19)] + [child(0.2)]
print(os.waitpid(children[-1], 0)[0])
for each in children[:-1]: os.kill(each, 9)
`;

test('of twenty, the youngest, by its number', () => {
	const command = ['python3', '-c', TAKES_YOUNGEST];
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-children-'));
	const file = join(folder, 'waits.json');
	try {
		const run = tstrace(['offcputime', '--json', '--exact', '-q', '-o', file, '--', ...command]);
		const { stacks } = stackReport({ ...run, stdout: readFileSync(file, 'utf8') });
		const objects = stacks.flatMap(({ wait }) => wait?.objects ?? []);
		const long = objects.filter(({ type, value_ns }) => type === 'child' && Number(value_ns) > 5e7);
		assert.deepEqual(
			long.map(({ pid, comm }) => [pid, comm]),
			[[Number(run.stdout), 'python3']],
			JSON.stringify(objects),
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
});
