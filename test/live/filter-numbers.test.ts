/** Who gets the number of a thread that was chosen, after that has ended; of processes: faults-target.test.ts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { hasEnded, Tracing, until, Workload } from './support.js';
import { switches } from './times.js';

/** Naps that go on until it is ended; a hog makes hardly a call. */
const NAPS = ['1000000', '0', '1000'] as const;
const SEEN = 100;

/** A process with the number of one that has ended. The kernel is told which number it gave last. */
async function startAs(pid: number): Promise<Workload> {
	for (let left = 50; left > 0; left--) {
		writeFileSync('/proc/sys/kernel/ns_last_pid', `${pid - 1}`);
		const workload = await Workload.start('naps', ...NAPS);
		if (workload.pid === pid) return workload;
		process.kill(workload.pid, 'SIGKILL');
	}
	return assert.fail(`nobody got the number ${pid}`);
}

async function nap(workload: Workload): Promise<void> {
	const begun = switches(workload.pid);
	workload.begin();
	await until(() => switches(workload.pid) > begun + SEEN);
}

test('-t: who gets the number of a chosen thread that has ended is not traced', async () => {
	const [gone, stays] = [await Workload.start('hog', '0'), await Workload.start('naps', ...NAPS)];
	const numbers = `${gone.tid},${stays.tid}`;
	const tracing = await Tracing.start(['syscount', '-t', numbers, '-P', '--json']);
	await gone.end();
	await until(() => hasEnded(gone.pid));
	const other = await startAs(gone.tid);
	await nap(other);
	await nap(stays);
	const { stdout } = await tracing.end('SIGINT');
	for (const { pid } of [other, stays]) process.kill(pid, 'SIGKILL');
	const rows = reportsOf(stdout).flatMap((report) => report.rows);
	const napped = rows.filter(({ calls }) => Number(calls) >= SEEN / 2).map(({ pid }) => pid);
	assert.deepEqual(napped, [stays.pid], stdout);
});

test('schedlat: latencies of a thread are not those of who had its number before', async () => {
	const FIRST = 60;
	const gone = await Workload.start('naps', `${FIRST}`, '0', '1000');
	// One that stays, lest tracing end.
	const stays = await Workload.start('naps', ...NAPS);
	const tracing = await Tracing.start(['schedlat', '--comm', 'naps', '--json']);
	await gone.work();
	await gone.end();
	await until(() => hasEnded(gone.pid));
	const other = await startAs(gone.pid);
	await nap(other);
	const { stdout } = await tracing.end('SIGINT');
	for (const { pid } of [other, stays]) process.kill(pid, 'SIGKILL');
	const delays = reportsOf(stdout)
		.flatMap(({ rows }) => rows as unknown as { key: { tid: number }; delays: number }[])
		.filter(({ key }) => key.tid === gone.tid)
		.map((row) => row.delays)
		.sort((a, b) => a - b);
	const [fewer = 0, more = 0] = delays;
	const said = `${delays}, not ${FIRST} and ${SEEN}`;
	assert.equal(delays.length, 2, said);
	assert.ok(fewer >= FIRST / 2 && fewer < SEEN && more >= SEEN, said);
});
