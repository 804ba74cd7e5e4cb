/** schedlat: a process that has ended, and that nobody waits for, is counted once, and to its end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { hasEnded, Tracing, until, Workload } from './support.js';
import { schedstat } from './times.js';

/** Its standard input never ends, and its parent reads from another one. */
const HOG = 'build/workloads/hog < /dev/zero & read line';
const ENOUGH_NS = 1e8;
/** Enough that to give them back takes longer than all else that a process does as it ends. */
const PAGES = 30_000;
/** It has standard input to itself: its parent sleeps, and does not wait for it. */
const TOUCHES = `exec 3<&0; build/workloads/faults ${PAGES} <&3 & exec sleep 1000`;

/** Waits until so many further reports are there. */
async function further(tracing: Tracing, count: number): Promise<void> {
	const reports = () => tracing.stdout.split('\n').length - 1;
	const before = reports();
	await until(() => reports() >= before + count);
}

/** Of each interval that has a row of it. */
function runtimesOf(stdout: string, tid: number): number[] {
	return reportsOf(stdout)
		.flatMap(({ rows }) => rows)
		.filter(({ key }) => (key as { tid?: number } | undefined)?.tid === tid)
		.map(({ runtime }) => Number(runtime));
}

function assertAdded(runtimes: readonly number[], all_ns: number, share: number): void {
	const sum_ns = runtimes.reduce((sum, each) => sum + each, 0);
	const off = Math.abs(sum_ns - all_ns) / all_ns;
	assert.ok(off <= share, `${runtimes} ns are not the ${all_ns} ns that it ran`);
}

test('interval by interval, a zombie has what it ran until it ended, and nothing afterwards', async () => {
	const tracing = await Tracing.start(['schedlat', '--json', '0.3']);
	const hog = await Workload.startBy('sh', '-c', HOG);
	await further(tracing, 2);
	const { run_ns } = schedstat(hog.pid);
	await until(() => schedstat(hog.pid).run_ns >= run_ns + ENOUGH_NS);
	process.kill(hog.pid, 'SIGKILL');
	await until(() => hasEnded(hog.pid));
	await further(tracing, 4);
	const all_ns = schedstat(hog.pid).run_ns;
	const { stdout } = await tracing.end('SIGINT');
	await hog.end();
	assertAdded(runtimesOf(stdout, hog.tid), all_ns, 0.01);
});

test('a process that only ends, and has much memory to give back: its run time is what that takes', async () => {
	const faults = await Workload.startBy('sh', '-c', TOUCHES);
	await faults.work();
	const tracing = await Tracing.start(['schedlat', '--json', '0.3']);
	const before_ns = schedstat(faults.pid).run_ns;
	process.kill(faults.pid, 'SIGKILL');
	await until(() => hasEnded(faults.pid));
	await further(tracing, 2);
	const all_ns = schedstat(faults.pid).run_ns - before_ns;
	const { stdout } = await tracing.end('SIGINT');
	process.kill(faults.starter, 'SIGKILL');
	await faults.end();
	assertAdded(runtimesOf(stdout, faults.tid), all_ns, 0.02);
});
