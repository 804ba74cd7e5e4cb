/** schedlat: context switches of threads that never sleep, or end, as the kernel counts them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { Tracing, until, Workload } from './support.js';

const CPU = '0';
const PREEMPTIONS = 50;

/** /proc/PID/status: those that it made itself, and those that were made with it. */
function switchesOf(tid: number): { voluntary: number; preempted: number } {
	const status = readFileSync(`/proc/${tid}/status`, 'latin1');
	const number = (name: string) =>
		Number(new RegExp(`^${name}_ctxt_switches:\\s*(\\d+)$`, 'm').exec(status)?.[1]);
	return { voluntary: number('voluntary'), preempted: number('nonvoluntary') };
}

test('a hog behind another one: nearly all its switches are preemptions, and all are counted', async () => {
	const [hog, other] = [await Workload.start('hog', CPU), await Workload.start('hog', CPU)];
	await hog.stop();
	const tracing = await Tracing.start(['schedlat', '--json', '-t', `${hog.tid}`]);
	const before = switchesOf(hog.tid);
	hog.continue();
	await until(() => switchesOf(hog.tid).preempted >= before.preempted + PREEMPTIONS);
	// To stop is a switch of its own.
	await hog.stop();
	const after = switchesOf(hog.tid);
	const { stdout } = await tracing.end('SIGINT');
	hog.continue();
	for (const each of [hog, other]) await each.end();
	const row = reportsOf(stdout)
		.flatMap(({ rows }) => rows)
		.find(({ key }) => (key as { tid?: number } | undefined)?.tid === hog.tid);
	const preempted = after.preempted - before.preempted;
	assert.equal(row?.preempted, preempted);
	assert.equal(row?.switches, preempted + after.voluntary - before.voluntary);
});

/** Not only about to sleep: the switch is counted. proc(5): /proc/PID/syscall says of others that they run. */
async function untilOffCpu(pid: number): Promise<void> {
	const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'latin1');
	await until(() => / S /.test(read('stat')) && !read('syscall').startsWith('running'));
}

test('of threads that end: all that they made, and the switch away from them as they are dead', async () => {
	const naps = await Promise.all(
		[20, 30, 40, 50, 60].map((count) => Workload.start('naps', `${count}`, '100', '1000')),
	);
	for (const { pid } of naps) await untilOffCpu(pid);
	const whose = naps.map(({ pid }) => pid).join();
	const tracing = await Tracing.start(['schedlat', '--json', '-p', whose]);
	const before = naps.map(({ tid }) => switchesOf(tid).voluntary);
	for (const each of naps) await each.work();
	for (const { pid } of naps) await untilOffCpu(pid);
	const made = naps.map(({ tid }, i) => switchesOf(tid).voluntary - (before[i] ?? 0));
	for (const each of naps) await each.end();
	const { stdout } = await tracing.end();
	const rows = reportsOf(stdout).flatMap((report) => report.rows);
	const more = naps.map(({ tid }, i) => {
		const row = rows.find(({ key }) => (key as { tid?: number } | undefined)?.tid === tid);
		return Number(row?.switches) - Number(row?.preempted) - (made[i] ?? 0);
	});
	// One may have to wait for something else as it ends.
	assert.ok(
		more.every((each) => each >= 1 && each <= 5),
		more.join(),
	);
	assert.equal(more.sort((a, b) => a - b)[2], 1, more.join());
});
