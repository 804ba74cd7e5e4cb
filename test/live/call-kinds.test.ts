/** Which system call it is, and whether a thread is in it: by what syscount and trace say. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HOOKS, needsHook } from './call-hooks.js';
import { named, rowsOf, rowsWhile } from './calls.js';
import { needsNarrowCalls } from './narrow-calls.js';
import { reportsOf } from './reports.js';
import { traceWork } from './stacks.js';
import { Tracing, until, Workload } from './support.js';
import { tracedLines } from './traced-lines.js';

/** Numbers that are no calls: a strange one, and one of x32's (man 2 syscall). */
const STRANGE = `
import ctypes, os, sys
call = ctypes.CDLL(None).syscall
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
for _ in range(97): call(ctypes.c_long(-1))
for _ in range(31): call(ctypes.c_long(0x40000000 + 39))
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

for (const options of [[], ['--latency'], ['-x']])
	test(`syscount ${options.join()}: calls that there are not`, async () => {
		const rows = await rowsWhile(await Workload.startBy('python3', '-c', STRANGE), ...options);
		const ofStrange = (name: string) => {
			const { calls, errors } = named(rows, name) ?? {};
			return [calls, errors];
		};
		assert.deepEqual(ofStrange('(no such call)'), [97, 97]);
		if (process.arch === 'x64') assert.deepEqual(ofStrange('getpid (x32)'), [31, 31]);
	});

/** Goes to addresses of its own memory that are negative as numbers: man 5 proc_pid_mem. */
const FAR = `
import ctypes, os, sys
lseek = ctypes.CDLL(None).lseek
lseek.restype = ctypes.c_long
memory = os.open('/proc/self/mem', os.O_RDONLY)
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
far = -(1 << 40) - 4242
for _ in range(97): assert lseek(memory, ctypes.c_long(far), 0) == far
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('what is negative and no error has not failed', async () => {
	const python = await Workload.startBy('python3', '-c', FAR);
	const trace = (...args: readonly string[]) => Tracing.start([...args, '-p', `${python.pid}`]);
	const counted = await trace('syscount', '--json');
	const [successful, failed] = [
		await trace('trace', '-z', '-e', 'lseek'),
		await trace('trace', '-Z', '-e', 'lseek'),
	];
	await python.work();
	const { calls, errors } = named(rowsOf(await counted.end('SIGINT')), 'lseek') ?? {};
	const lines = [await successful.end('SIGINT'), await failed.end('SIGINT')].map(
		({ stdout }) => tracedLines(stdout).length,
	);
	await python.end();
	assert.deepEqual([calls, errors], [97, 0]);
	assert.deepEqual(lines, [97, 0]);
});

test('syscount -x --latency: a call that is not shown is not lost, though it is not known when it began', async () => {
	const workload = await Workload.start('calls', 'missing', '7');
	const args = ['syscount', '--json', '-x', '--latency', '-p', `${workload.pid}`];
	const { finished } = await traceWork(workload, args);
	assert.equal(named(rowsOf(finished), 'openat')?.calls, 7);
	assert.deepEqual(reportsOf(finished.stdout)[0]?.lost, {});
});

/** Children by each call that makes some: os.fork() is clone, subprocess is vfork, threads are clone3 where there is one. */
const CHILDREN = `
import ctypes, os, subprocess, sys
call = ctypes.CDLL(None).syscall
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
for _ in range(7): subprocess.call(['/bin/true'])
for _ in range(5):
    if not call(57): os._exit(0)
    os.wait()
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

if (process.arch === 'x64')
	test('fork and vfork: the child returns from it, too, and that is not counted', async () => {
		for (const options of [[], ['--latency']]) {
			const python = await Workload.startBy('python3', '-c', CHILDREN);
			const rows = await rowsWhile(python, '--follow', ...options);
			assert.deepEqual([named(rows, 'vfork')?.calls, named(rows, 'fork')?.calls], [7, 5]);
		}
		const python = await Workload.startBy('python3', '-c', CHILDREN);
		const calls = ['-e', 'fork,vfork', '--follow'];
		const tracing = await Tracing.start(['trace', ...calls, '-p', `${python.pid}`]);
		await python.work();
		const lines = tracedLines((await tracing.end('SIGINT')).stdout);
		await python.end();
		assert.deepEqual(
			lines.map(({ call, pid, result }) => [call, pid, Number(result) > 0]),
			[...Array(7).fill('vfork'), ...Array(5).fill('fork')].map((call) => [call, python.pid, true]),
		);
	});

test('trace: threads end in a call that never returns', async () => {
	const workload = await Workload.start('traced', 'threads', '7');
	const { finished } = await traceWork(workload, ['trace', '-e', 'exit', '-p', `${workload.pid}`]);
	const shown = tracedLines(finished.stdout).map(({ call, args, result }) => [call, args, result]);
	assert.deepEqual(shown, Array(7).fill(['exit', '0', '?']));
});

for (const hook of HOOKS)
	test(`${hook}: 32-bit calls have their own names`, {
		...needsHook(hook),
		...needsNarrowCalls(),
	}, async () => {
		const workload = await Workload.start('calls', 'compat', '97');
		const args = ['syscount', '--json', '-p', `${workload.pid}`];
		const rows = rowsOf((await traceWork(workload, args, { TSTRACE_FORCE: hook })).finished);
		assert.deepEqual(
			[named(rows, 'getppid (32-bit)')?.calls, named(rows, 'semget')?.calls],
			[97, undefined],
		);
	});

test('32-bit calls that have not returned', needsNarrowCalls(), async () => {
	const workload = await Workload.start('calls', 'compat-waits', '0');
	const trace = (...args: readonly string[]) => Tracing.start([...args, '-p', `${workload.pid}`]);
	const all = [await trace('syscount', '--json'), await trace('trace')];
	await workload.work();
	/** Of arch/x86/entry/syscalls/syscall_32.tbl. */
	const PAUSE = '29 ';
	const tasks = `/proc/${workload.pid}/task`;
	const isIn = (tid: string) => readFileSync(`${tasks}/${tid}/syscall`, 'utf8').startsWith(PAUSE);
	await until(() => readdirSync(tasks).some(isIn));
	all.push(await trace('syscount', '--json'), await trace('trace'));
	for (const [i, tracing] of all.entries()) {
		const finished = await tracing.end('SIGINT');
		if (i % 2 === 0) {
			const pause = named(rowsOf(finished), 'pause (32-bit)');
			assert.deepEqual([pause?.in_progress, pause?.abi], [1, '32-bit'], finished.stdout);
		} else {
			const pause = tracedLines(finished.stdout).filter(({ call }) => /pause/.test(call ?? ''));
			assert.deepEqual(
				pause.map(({ call, rest }) => [call, rest]),
				[['pause (32-bit)', '<unfinished ...>']],
			);
		}
	}
	await workload.end();
});

/** A thread that has stopped itself has returned from the call by which it did. */
const STOPPED = `
import os, signal, sys
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
os.kill(os.getpid(), signal.SIGSTOP)
`;

test('a call that has a result is not in progress', async () => {
	const python = await Workload.startBy('python3', '-c', STOPPED);
	python.begin();
	await until(() => / T /.test(readFileSync(`/proc/${python.pid}/stat`, 'utf8')));
	for (const tool of ['syscount', 'trace']) {
		const tracing = await Tracing.start([tool, '--json', '-p', `${python.pid}`]);
		const { stdout } = await tracing.end('SIGINT');
		assert.deepEqual(
			reportsOf(stdout).flatMap(({ rows }) => rows),
			[],
			tool,
		);
	}
	await python.end();
});
