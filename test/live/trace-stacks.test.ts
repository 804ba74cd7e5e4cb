/** trace -k: stacks of calls that are known by how the program is built, and by its own backtrace(). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOOKS, needsHook } from './call-hooks.js';
import { reportsOf } from './reports.js';
import { type Finished, Tracing, tstrace, Workload } from './support.js';
import { tracedStacks } from './traced-lines.js';

/** What trace -k says of a workload, and the numbers that the workload says. */
async function traced(
	[name = '', ...words]: readonly string[],
	args: readonly string[] = [],
	env: Readonly<Record<string, string>> = {},
): Promise<Finished & { readonly done: number[] }> {
	const workload = await Workload.start(name, ...words);
	const options = ['trace', '-k', '-p', `${workload.pid}`, '-e', 'close', ...args];
	const tracing = await Tracing.start(options, env);
	const done = await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	assert.equal(finished.status, 0, finished.stderr);
	return { ...finished, done };
}

const ofArgument = (text: string, argument: number) =>
	tracedStacks(text).filter(({ args }) => args === `${argument}`);

for (const hook of HOOKS)
	for (const name of ['traced', 'traced-plain'])
		test(
			`${hook}, ${name}: each call has its own stack, with as many frames as backtrace() finds`,
			needsHook(hook),
			async () => {
				const { stdout, stderr, done } = await traced([name, 'stack'], [], { TSTRACE_FORCE: hook });
				const [inner] = ofArgument(stdout, 4242);
				const [middle] = ofArgument(stdout, 4243);
				assert.deepEqual(
					inner?.stack.slice(0, 5),
					['inner', 'middle', 'outer', 'stack', 'main'],
					stdout,
				);
				assert.equal(inner.stack.at(-1), '_start');
				assert.equal(inner.stack.length, done[0]);
				assert.deepEqual(middle?.stack, inner.stack.slice(1));
				assert.equal(inner.result, '-1 EBADF');
				assert.doesNotMatch(stderr, /^lost: /m);
			},
		);

test('--unwind fp: by frame pointers, where there are some; else the stack is cut, and says so', async () => {
	const { stdout: kept } = await traced(['traced', 'stack'], ['--unwind', 'fp']);
	assert.deepEqual(ofArgument(kept, 4242)[0]?.stack.slice(0, 3), ['inner', 'middle', 'outer']);
	const { stdout: plain } = await traced(['traced-plain', 'stack'], ['--unwind', 'fp']);
	const [{ stack = [] } = {}] = ofArgument(plain, 4242);
	assert.equal(stack[0], 'inner');
	assert.ok(!stack.includes('_start'));
	assert.equal(stack.at(-1), '[cut: no frame pointers]');
});

test('--max-depth: deeper stacks are cut, which each of them says, and which is counted', async () => {
	const [depth, count] = [6, 40];
	const { stdout, stderr } = await traced(
		['traced', 'deeper', `${count}`],
		['--max-depth', `${depth}`],
	);
	const stacks = ofArgument(stdout, 4242).map(({ stack }) => stack);
	assert.equal(stacks.length, count);
	// main, and three of the C library, are below it.
	for (const [i, stack] of stacks.entries()) {
		const all = [...Array<string>(i + 1).fill('descends'), ...(stacks[0] ?? []).slice(1)];
		const fits = i + 1 + 4 < depth;
		if (fits) assert.deepEqual(stack, all);
		else assert.deepEqual(stack.slice(0, depth), all.slice(0, depth));
		assert.equal(stack.at(-1) === '[cut: too deep]', i + 1 + 4 > depth, `${i}: ${stack}`);
	}
	assert.match(stderr, /lost: 3\d stacks: cut, as they are deeper than --max-depth/);
});

test('--max-stacks: a stack that has no room is not shown as another one, and is counted', async () => {
	const [room, count] = [8, 60];
	const { stdout, stderr } = await traced(
		['traced', 'deeper', `${count}`],
		['--max-stacks', `${room}`],
	);
	const stacks = ofArgument(stdout, 4242).map(({ stack }) => stack);
	assert.equal(stacks.length, count);
	const lost = stacks.filter((stack) => stack[0] === '[stack lost]').length;
	// Room for so many of the kernel's, and of the user's.
	assert.ok(lost >= count - 2 * room && lost < count, `${lost}`);
	for (const [i, stack] of stacks.entries()) {
		const depth = stack.filter((name) => name === 'descends').length;
		assert.ok(stack[0] === '[stack lost]' ? stack.length === 1 : depth === i + 1, `${i}: ${stack}`);
	}
	const said = stderr.replaceAll('\n      ', ' ');
	assert.ok(said.includes(`lost: ${lost} events: no room for their stack`), stderr);
});

test('--json: a stack beside its call, the root first, as stacks of other tools', async () => {
	const { stdout, done } = await traced(['traced-plain', 'stack'], ['--json']);
	const rows = reportsOf(stdout).flatMap((report) => report.rows) as unknown as Array<{
		readonly args: string;
		readonly stack?: { frames: string[]; kinds: string; cut?: string };
	}>;
	const { stack } = rows.find(({ args }) => args === '4242') ?? {};
	assert.deepEqual(stack?.frames.slice(-5), ['main', 'stack', 'outer', 'middle', 'inner']);
	assert.equal(stack.frames[0], '_start');
	assert.equal(stack.kinds, 'u'.repeat(done[0] ?? 0));
	assert.equal(stack.cut, undefined);
});

test('without -k there are no stacks', async () => {
	const { stdout } = tstrace(['trace', '-q', '-e', 'chdir', '--', 'bash', '-c', 'cd /no/such']);
	assert.match(stdout, /chdir/);
	assert.doesNotMatch(stdout, /^ > /m);
});

test("Debian's bash, which has no frame pointers: from the call to the first function", () => {
	const args = ['trace', '-q', '-k', '-e', 'chdir,execve,exit_group', '--', 'bash', '-c'];
	const { stdout } = tstrace([...args, 'cd /no/such; exec /bin/true']);
	const stacks = tracedStacks(stdout);
	const of = (call: string, from: string) =>
		stacks.find((line) => line.call === call && line.args?.startsWith(from))?.stack ?? [];
	const named = (stack: readonly string[]) => stack.filter((name) => !/\+0x/.test(name));
	const chdir = named(of('chdir', '"/no/such"'));
	assert.equal(chdir[0], 'chdir', stdout);
	assert.equal(chdir.at(-1), '_start');
	const order = ['cd_builtin', 'execute_command_internal', 'parse_and_execute', 'main'];
	assert.deepEqual(
		order,
		order.toSorted((a, b) => chdir.indexOf(a) - chdir.indexOf(b)),
	);
	assert.ok(order.every((name) => chdir.includes(name)));
	// The stack of the program that execve has replaced, by the names of that program.
	const exec = named(of('execve', '"/bin/true"'));
	assert.equal(exec[0], 'execve', stdout);
	for (const name of ['shell_execve', 'exec_builtin', 'main', '_start'])
		assert.ok(exec.includes(name), `${name} of ${exec}`);
	// A call that never returns has one, too; it is another program's by now.
	const exit = of('exit_group', '0');
	assert.match(exit[0] ?? '', /^_?_?_?_?_?(Exit|exit)$/);
	assert.ok(!exit.includes('exec_builtin'));
});
