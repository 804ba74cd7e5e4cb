/** schedlat: context switches of a thread that never sleeps, as the kernel counts them. */
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
