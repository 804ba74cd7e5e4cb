/** `-C`: what happens on other CPUs is not counted, whatever a tool counts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { rowsOf } from './calls.js';
import { CpuCgroup } from './cpu-cgroup.js';
import { reportsOf, sawSomething } from './reports.js';
import { stackReport, sumOf, withFrame } from './stacks.js';
import { runToEnd, Tracing, until, Workload } from './support.js';

const THREADS = '200';
/** Tools, and what they are to count: all of it happens on CPU 0. */
const CASES: ReadonlyArray<readonly [tool: string, workload: string]> = [
	['offcputime --exact --no-edges --state S', 'churn'],
	['offcputime --exact --no-edges --state R', 'churn'],
	['offwaketime --exact --no-edges --hops 2', 'churn'],
	['syscount', 'churn'],
	['memleak', 'leaks'],
	['memleak --growth', 'churn'],
	['memleak --comm churn', 'churn'],
];

for (const [tool, name] of CASES) {
	test(`${tool}: what happens on CPU 0 is told by -C 0, and not by -C 1`, async () => {
		const words = name === 'leaks' ? ['many', THREADS] : [THREADS];
		const path = resolve('build/workloads', name);
		const workload = await Workload.startBy('taskset', '-c', '0', path, ...words);
		const whose = tool.includes('--comm') ? [] : ['-p', `${workload.pid}`];
		const trace = (cpu: string) =>
			Tracing.start([...tool.split(' '), '--json', '-C', cpu, ...whose]);
		const [there, elsewhere] = [await trace('0'), await trace('1')];
		await workload.work();
		const [seen, other] = [await there.end('SIGINT'), await elsewhere.end('SIGINT')];
		await workload.end();
		assert.deepEqual([seen.status, other.status], [0, 0], seen.stderr + other.stderr);
		assert.ok(sawSomething(seen.stdout), seen.stdout);
		assert.ok(!sawSomething(other.stdout), other.stdout);
	});
}

test('syscount --latency: a call that begins on another CPU is as long as it is where it returns', async () => {
	const SLEEP_MS = 700;
	const path = resolve('build/workloads/calls');
	const workload = await Workload.startBy('taskset', '-c', '1', path, 'asleep', `${SLEEP_MS}`);
	const trace = (cpu: string) =>
		Tracing.start(['syscount', '--json', '--latency', '-C', cpu, '-p', `${workload.pid}`]);
	const [here, elsewhere] = [await trace('0'), await trace('1')];
	workload.begin();
	// man 5 proc_pid_syscall: it has four arguments, the second one is 0.
	const isAsleep = () => {
		const call = readFileSync(`/proc/${workload.pid}/syscall`, 'utf8').split(' ');
		return /^\d+$/.test(call[0] ?? '') && call[1] === '0x0' && call[2] === '0x0';
	};
	await until(isAsleep);
	runToEnd('taskset', ['-cp', '0', `${workload.pid}`]);
	assert.ok(isAsleep());
	await workload.done();
	const [ends, begins] = [await here.end('SIGINT'), await elsewhere.end('SIGINT')];
	await workload.end();
	const sleeps = rowsOf(ends).filter(({ syscall }) => syscall === 'clock_nanosleep');
	assert.deepEqual(
		sleeps.map(({ calls, total_ns }) => [calls, total_ns >= SLEEP_MS * 1e6]),
		[[1, true]],
	);
	assert.deepEqual(reportsOf(ends.stdout)[0]?.lost, {});
	assert.ok(!rowsOf(begins).some(({ syscall }) => syscall === 'clock_nanosleep'));
});

/** A thread that reads COUNT times; while it waits to, it is sent to the other CPU, where it goes on. */
const COUNT = 40;
const WAITS_ELSEWHERE = `
import os, sys, threading, time
hears, tells = os.pipe()
def hear():
    for _ in range(${COUNT}): os.read(hears, 1)
thread = threading.Thread(target=hear)
thread.start()
print('ready', os.getpid(), thread.native_id, flush=True)
sys.stdin.buffer.raw.read(1)
for i in range(${COUNT}):
    time.sleep(0.005)
    os.sched_setaffinity(thread.native_id, {i % 2})
    os.write(tells, b'x')
thread.join()
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('offcputime -C: a wait is one of the CPU on which it ends, wherever it began', async () => {
	const python = await Workload.startBy('python3', '-c', WAITS_ELSEWHERE);
	const args = ['offcputime', '--exact', '--no-edges', '--json', '-t', `${python.tid}`];
	const tracings = [
		await Tracing.start([...args, '-C', '0']),
		await Tracing.start([...args, '-C', '1']),
	];
	await python.work();
	for (const tracing of tracings) {
		const { stacks } = stackReport(await tracing.end('SIGINT'));
		const count = sumOf(withFrame(stacks, /pipe_read/), 'count');
		// Of each CPU half of them, or fewer: on a busy machine there may be a byte before it waits for one.
		assert.ok(count >= COUNT / 8 && count <= (2 * COUNT) / 3, `${count} of ${COUNT}`);
	}
	await python.end();
});

/** Much less than they would get on a busy machine. */
const QUOTA_PERCENT = 10;
const PERIOD_USEC = 50_000;
const PERIODS = 8;

test('timehist: of two threads that use up their quotas, -C has the lines of the one on that CPU', async () => {
	const cpus = [0, 1];
	const cgroups = cpus.map((cpu) => CpuCgroup.make(`other-cpus-${cpu}`));
	const hogs: Workload[] = [];
	try {
		for (const cpu of cpus) hogs.push(await Workload.start('hog', `${cpu}`));
		const pids = hogs.map(({ pid }) => pid);
		for (const [i, cgroup] of cgroups.entries()) {
			cgroup.add(pids[i] ?? 0);
			cgroup.limitTo(QUOTA_PERCENT, PERIOD_USEC);
		}
		const tracings = await Promise.all(
			cpus.map((cpu) => Tracing.start(['timehist', '--json', '-C', `${cpu}`, '-p', pids.join()])),
		);
		const times = () => cgroups.map((cgroup) => cgroup.throttled().times);
		const before = times();
		await until(() => times().every((now, i) => now >= (before[i] ?? 0) + PERIODS));
		const ended = await Promise.all(tracings.map((tracing) => tracing.end('SIGINT')));
		for (const [i, { stdout }] of ended.entries()) {
			const rows = reportsOf(stdout).flatMap((report) => report.rows);
			const found = new Set(rows.map(({ event, cpu, tid }) => `${event} ${cpu} ${tid}`));
			const due = ['switch', 'throttled'].map((event) => `${event} ${cpus[i]} ${pids[i]}`);
			assert.deepEqual([...found].sort(), due);
		}
	} finally {
		for (const hog of hogs) await hog.end();
		for (const cgroup of cgroups) cgroup.remove();
	}
});
