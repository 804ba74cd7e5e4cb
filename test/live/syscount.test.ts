/** syscount against strace's counts, and on workloads whose truth is known. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { EXACT, HOOKS, misses, needsHook } from './call-hooks.js';
import { named, rowsOf, rowsWhile } from './calls.js';
import { needsNarrowCalls } from './narrow-calls.js';
import { reportsOf } from './reports.js';
import { traceWork } from './stacks.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';
import { now_ns } from './times.js';

/** dd with a read and a write for each of so many bytes. */
const dd = (count: number) => ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', `count=${count}`];
const COUNT = 99_991;
const FEW = 97;

/** What strace counts of a command, by call: calls and errors. */
function straceCounts(command: readonly string[]): Map<string, [calls: number, errors: number]> {
	const { status, stderr } = runToEnd('strace', ['-c', '-f', ...command]);
	assert.equal(status, 0, stderr);
	// "% time", seconds, usecs/call, calls, errors or nothing, name
	const lines = stderr.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s+(\w+)$/gm);
	const counts = [...lines].map(
		([, calls, errors, name = '']) =>
			[name, [Number(calls), Number(errors ?? 0)]] as [string, [number, number]],
	);
	return new Map(counts.filter(([name]) => name !== 'total'));
}

for (const hook of EXACT) {
	test(
		`${hook}: ${COUNT} reads and writes, and dd's own few as strace counts them`,
		needsHook(hook),
		() => {
			const expected = straceCounts(dd(FEW));
			const { status, stdout } = tstrace(['syscount', '--json', '-q', '--', ...dd(COUNT)], {
				TSTRACE_FORCE: hook,
			});
			assert.equal(status, 0);
			const [report] = reportsOf(stdout);
			assert.deepEqual(report?.lost, {});
			for (const name of ['read', 'write']) {
				const [calls, errors] = expected.get(name) as [number, number];
				expected.set(name, [calls - FEW + COUNT, errors]);
			}
			const counted = report?.rows.map(
				({ syscall, calls, errors }) => [`${syscall}`, [Number(calls), Number(errors)]] as const,
			);
			assert.deepEqual(new Map([...(counted ?? [])].sort()), new Map([...expected].sort()));
		},
	);
}

for (const hook of HOOKS) {
	test(`${hook}: two that preempt each other on a CPU lose no call`, needsHook(hook), () => {
		const one = ['taskset', '-c', '0', ...dd(COUNT), 'status=none'].join(' ');
		const args = ['syscount', '--json', '-q', '--follow', '--syscall', 'write'];
		const both = [...args, '--', 'sh', '-c', `${one} & ${one}; wait`];
		const { status, stdout } = tstrace(both, { TSTRACE_FORCE: hook });
		assert.equal(status, 0);
		const [{ lost, rows } = assert.fail(stdout)] = reportsOf(stdout);
		const { programs_missed = 0, ...otherwise } = lost;
		assert.deepEqual(otherwise, {});
		assert.deepEqual(
			rows.map(({ syscall }) => syscall),
			['write'],
		);
		const calls = Number(rows[0]?.calls);
		// What others make may be among the missed.
		if (misses(hook)) assert.ok(calls <= 2 * COUNT && calls + programs_missed >= 2 * COUNT);
		else assert.deepEqual([calls, programs_missed], [2 * COUNT, 0]);
	});
}

const MISSING = 997;

test(`${MISSING} opens of a file that is not there`, async () => {
	const start = () => Workload.start('calls', 'missing', `${MISSING}`);
	const all = await rowsWhile(await start());
	assert.equal(named(all, 'openat')?.calls, MISSING);
	assert.equal(named(all, 'openat')?.errors, MISSING);

	const byError = await rowsWhile(await start(), '--errors');
	const enoent = byError.filter(({ error }) => error === 'ENOENT');
	assert.deepEqual(
		enoent.map(({ syscall, errors }) => [syscall, errors]),
		[['openat', MISSING]],
	);
	assert.ok(byError.every(({ errors }) => errors > 0));

	const failed = await rowsWhile(await start(), '-x', '--syscall', 'file');
	assert.deepEqual(
		failed.map(({ syscall, calls }) => [syscall, calls]),
		[['openat', MISSING]],
	);
	for (const errno of ['ENOENT', '2']) {
		const [row, ...others] = await rowsWhile(await start(), '--errno', errno);
		assert.deepEqual([row?.syscall, row?.calls, others.length], ['openat', MISSING, 0]);
	}
	const accesses = await rowsWhile(await start(), '--errno', 'EACCES');
	assert.deepEqual(accesses, []);
});

test('by process, with and without times: as many calls as by call', async () => {
	for (const options of [[], ['--latency']]) {
		const workload = await Workload.start('calls', 'missing', `${MISSING}`);
		const rows = await rowsWhile(workload, '-P', '--syscall', 'openat', ...options);
		assert.deepEqual(
			rows.map(({ pid, comm, calls, errors }) => [pid, comm, calls, errors]),
			[[workload.pid, 'calls', MISSING, MISSING]],
		);
	}
});

test('in a PID namespace: its own numbers, to filter and to show', () => {
	const args = ['--pid', '--fork', '--mount-proc', TSTRACE, 'syscount', '-P', '--json', '-q'];
	const { status, stdout, stderr } = runToEnd('unshare', [...args, '--', ...dd(COUNT)]);
	assert.equal(status, 0, stderr);
	const [{ pid = 0, comm, calls = 0 } = {}, ...others] = reportsOf(stdout)[0]?.rows ?? [];
	assert.deepEqual([comm, others], ['dd', []]);
	assert.ok(Number(pid) < 100, `${pid}: a small number, as in a new namespace`);
	assert.ok(Number(calls) > 2 * COUNT, `${calls} calls`);
});

for (const hook of EXACT) {
	test(`${hook}: a call of 250 ms takes 250 ms`, needsHook(hook), async () => {
		const workload = await Workload.start('calls', 'asleep', '250');
		const args = [
			'syscount',
			'--json',
			'-p',
			`${workload.pid}`,
			'--latency',
			'--hist',
			'clock_nanosleep',
		];
		const { finished, done } = await traceWork(workload, args, { TSTRACE_FORCE: hook });
		const rows = rowsOf(finished);
		const sleep = named(rows, 'clock_nanosleep');
		// The workload measured around the call; quantiles are buckets, 1 in 64 wide.
		const [, slept_ns = 0] = done;
		const [least, most] = [250e6 * (1 - 1 / 64), slept_ns * (1 + 1 / 64)];
		assert.ok(sleep);
		assert.equal(sleep.calls, 1);
		for (const time_ns of [sleep.total_ns, sleep.mean_ns, sleep.p50_ns, sleep.p99_ns, sleep.max_ns])
			assert.ok(time_ns >= least && time_ns <= most, `${time_ns} ns of ${slept_ns}`);
		assert.ok(sleep.total_ns >= 250e6 && sleep.total_ns <= slept_ns);
		const [[low, high, count] = [0, 0, 0]] = sleep.buckets;
		assert.ok(low <= sleep.max_ns && sleep.max_ns < high && count === 1);
		assert.ok(rows.every(({ syscall, buckets }) => syscall === 'clock_nanosleep' || !buckets));
	});
}

test('with times as many calls and errors as without', async () => {
	const run = (...args: string[]) => {
		const finished = tstrace(['syscount', '--json', '-q', ...args, '--', ...dd(FEW)]);
		assert.equal(finished.status, 0, finished.stderr);
		const counts = rowsOf(finished).map(({ syscall, calls, errors }) => [syscall, calls, errors]);
		return [counts.sort(), reportsOf(finished.stdout)[0]?.lost];
	};
	assert.deepEqual(run('--latency'), run());
});

test('more calls than have histograms of their own: as many calls and errors', () => {
	const every = `printf xx | exec ${resolve('build/workloads/traced')} every`;
	const run = (...args: string[]) => {
		const whose = ['--comm', 'traced', '--follow', '--', 'sh', '-c', every];
		const finished = tstrace(['syscount', '--json', '-q', ...args, ...whose]);
		const json = finished.stdout.slice(finished.stdout.indexOf('{"tool"'));
		// The call by which it gets its name begins before it has it.
		const counts = rowsOf({ ...finished, stdout: json })
			.filter(({ syscall }) => syscall !== 'execve')
			.map(({ syscall, calls, errors }) => [syscall, calls, errors]);
		assert.ok(counts.length > 300, `${counts.length}`);
		return counts.sort();
	};
	assert.deepEqual(run('--latency'), run());
});

test('calls that do not return are shown, and with --latency since when', async () => {
	for (const options of [[], ['--latency']]) {
		const workload = await Workload.start('calls', 'waits', '0');
		const args = ['syscount', '--json', ...options, '-p', `${workload.pid}`];
		const tracing = await Tracing.start(args);
		const before_ns = now_ns();
		await workload.work();
		const tasks = `/proc/${workload.pid}/task`;
		const isAsleep = (tid: string) => / S /.test(readFileSync(`${tasks}/${tid}/stat`, 'utf8'));
		await until(() => readdirSync(tasks).every(isAsleep));
		const asleep_ns = now_ns();
		// So that there is something to be measured.
		await until(() => now_ns() > asleep_ns + 5e7);
		const asked_ns = now_ns();
		const finished = await tracing.end('SIGINT');
		const ended_ns = now_ns();
		await workload.end();
		const rows = rowsOf(finished);
		const pause = named(rows, 'pause');
		assert.equal(pause?.in_progress, 1);
		assert.equal(pause?.calls, 0);
		// Its main thread waits to be told to end.
		assert.equal(named(rows, 'read')?.in_progress, 1);
		const open = rows.reduce((sum, { in_progress }) => sum + in_progress, 0);
		assert.equal(open, 2);
		if (options.length === 0) continue;
		const age_ns = pause?.longest_in_progress_ns ?? 0;
		assert.ok(age_ns >= asked_ns - asleep_ns && age_ns <= ended_ns - before_ns, `${age_ns} ns`);
		assert.equal(pause?.longest_since_before, false);
	}
});

test('-C: on which CPU a call will return is not known: none is shown that has not', async () => {
	for (const options of [[], ['--latency']]) {
		const workload = await Workload.start('calls', 'waits', '0');
		const whose = ['-p', `${workload.pid}`, ...options];
		const trace = (...more: string[]) => Tracing.start(['syscount', '--json', ...whose, ...more]);
		const [all, onCpus] = [await trace(), await trace('-C', `0-${cpus().length - 1}`)];
		await workload.work();
		// Its main thread, and the one in pause().
		const tasks = `/proc/${workload.pid}/task`;
		const isAsleep = (tid: string) => / S /.test(readFileSync(`${tasks}/${tid}/stat`, 'utf8'));
		await until(() => readdirSync(tasks).every(isAsleep));
		const rows = rowsOf(await onCpus.end('SIGINT'));
		const expected = rowsOf(await all.end('SIGINT'));
		await workload.end();
		assert.equal(named(expected, 'pause')?.in_progress, 1);
		assert.equal(named(rows, 'pause'), undefined);
		assert.deepEqual([...new Set(rows.map(({ in_progress = 0 }) => in_progress))], [0]);
		// Those that have returned are there, wherever that was: it says "done" once.
		assert.equal(named(rows, 'write')?.calls, 1);
	}
});

test('a call that began before tracing: as long as was traced, at least', async () => {
	const workload = await Workload.start('calls', 'waits', '0');
	const finished = tstrace([
		'syscount',
		'--json',
		'--latency',
		'-p',
		`${workload.pid}`,
		'0.3',
		'1',
	]);
	await workload.end();
	const read = named(rowsOf(finished), 'read');
	assert.deepEqual([read?.in_progress, read?.longest_since_before], [1, true]);
	assert.ok((read?.longest_in_progress_ns ?? 0) >= 300e6);
});

/** arm64 has no way to make one from a 64-bit program. */
if (process.arch === 'x64') {
	test('32-bit calls have their own names', needsNarrowCalls(), async () => {
		const workload = await Workload.start('calls', 'compat', '97');
		const rows = await rowsWhile(workload);
		const row = named(rows, 'getppid (32-bit)');
		assert.deepEqual([row?.calls, row?.abi], [97, '32-bit']);
		// The number is that of semget where it is a 64-bit program's.
		assert.equal(named(rows, 'semget'), undefined);
	});

	test(
		'a place that a 32-bit program left behind is not a call of who comes after it',
		needsNarrowCalls(),
		async () => {
			const workload = await Workload.start('calls', 'compat-forks', '97');
			// Of the whole machine: with a filter no places are left behind.
			const tracing = await Tracing.start(['syscount', '--json', '--latency']);
			await workload.work();
			const rows = rowsOf(await tracing.end('SIGINT'));
			await workload.end();
			assert.equal(named(rows, 'fork (32-bit)')?.calls, 97);
		},
	);
}

test('call -1 is no return from a signal', async () => {
	const rows = await rowsWhile(await Workload.start('calls', 'minus-one', '97'), '--errors');
	const none = named(rows, '(no such call)');
	assert.deepEqual([none?.error, none?.errors], ['ENOSYS', 97]);
	assert.equal(named(rows, 'rt_sigreturn'), undefined);
});

test('returns from signals have their name, and a fork is one call', async () => {
	for (const options of [[], ['--latency']]) {
		const signals = await rowsWhile(await Workload.start('calls', 'signals', '97'), ...options);
		assert.equal(named(signals, 'rt_sigreturn')?.calls, 97);
		const forks = await Workload.start('calls', 'forks', '97');
		const rows = await rowsWhile(forks, '--follow', ...options);
		assert.equal(named(rows, 'clone')?.calls, 97);
		// By clone3, where the C library has it: thirty-two threads at a time.
		const threads = await rowsWhile(await Workload.start('churn', '97'), ...options);
		const calls = ['clone', 'clone3'].map((name) => named(threads, name)?.calls ?? 0);
		assert.deepEqual(
			calls.sort((a, b) => b - a),
			[97, 0],
		);
	}
});

test('intervals: what is counted in one is not counted in the next', async () => {
	const two = [
		await Workload.start('calls', 'missing', '9991'),
		await Workload.start('calls', 'missing', '9973'),
	];
	const pids = two.map(({ pid }) => pid).join();
	const tracing = await Tracing.start(['syscount', '--json', '0.02', '-p', pids]);
	// The other begins when an interval of the first one's is over.
	const reported = () => tracing.stdout.split('"openat"').length;
	for (const each of two) {
		const before = reported();
		await each.work();
		await until(() => reported() > before);
	}
	const rows = rowsOf(await tracing.end('SIGINT'));
	const calls = rows.filter(({ syscall }) => syscall === 'openat').map((row) => row.calls);
	for (const each of two) await each.end();
	assert.ok(calls.length >= 2, 'several intervals');
	assert.equal(
		calls.reduce((sum, each) => sum + each, 0),
		9991 + 9973,
	);
});
