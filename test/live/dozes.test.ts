/**
 * Threads that slept as tracing began, and that the kernel had counted as queued since before: none
 * of that sleep is a wait for a CPU.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { stackReport, sumOf } from './stacks.js';
import { Tracing, until, Workload } from './support.js';

const THREADS = 20;
/** At least so long do they sleep; it takes them no time to get a CPU once they are woken. */
const ASLEEP_MS = 500;

/** What a tool prints as JSON of these threads, woken if so; and the longest that one can have waited. */
async function dozing(args: readonly string[], wake: boolean) {
	const hog = await Workload.start('hog', '0');
	const dozes = await Workload.start('dozes', `${THREADS}`);
	const tracing = await Tracing.start([...args, '--json', '-p', `${dozes.pid}`]);
	const begun_ms = performance.now();
	await until(() => performance.now() > begun_ms + ASLEEP_MS);
	const [took_ns = 0] = wake ? await dozes.work() : [];
	const finished = await tracing.end('SIGINT');
	if (!wake) await dozes.work();
	await dozes.end();
	await hog.end();
	assert.equal(finished.status, 0, finished.stderr);
	// Shorter by far than they slept; their first thread waits for the test, and then for a CPU.
	return { finished, most_ns: took_ns + (ASLEEP_MS / 2) * 1e6 };
}

test('offcputime: who sleeps all the time is blocked all the time', async () => {
	const { finished } = await dozing(['offcputime', '--exact'], false);
	const { stacks, duration_s, lost } = stackReport(finished);
	const asleep = stacks.filter(({ count }) => count >= THREADS - 1);
	assert.equal(sumOf(stacks, 'run_queue'), 0, JSON.stringify(stacks));
	assert.ok(sumOf(asleep, 'blocked') > 0.95 * THREADS * duration_s * 1e9);
	// It is known what they did.
	assert.equal(lost.waits_misbooked, undefined);
});

test('offcputime: who is woken meanwhile was blocked until then', async () => {
	const { finished, most_ns } = await dozing(['offcputime', '--exact'], true);
	const { stacks } = stackReport(finished);
	assert.ok(sumOf(stacks, 'run_queue') <= THREADS * most_ns, JSON.stringify(stacks));
});

test('runqlat: no wait is as long as they slept', async () => {
	const { finished, most_ns } = await dozing(['runqlat'], true);
	const groups = reportsOf(finished.stdout).flatMap((report) => report.groups);
	for (const { max } of groups) assert.ok(max <= most_ns, `${max}, not ${most_ns} at the most`);
});

test('schedlat: no delay is as long as they slept', async () => {
	const { finished, most_ns } = await dozing(['schedlat'], true);
	const rows = reportsOf(finished.stdout).flatMap((report) => report.rows);
	for (const { max, waiting } of rows) {
		assert.ok(Number(max) <= most_ns, `${max}, not ${most_ns} at the most`);
		assert.ok(Number(waiting) <= most_ns);
	}
});

test('timehist: no delay is as long as they slept', async () => {
	const { finished, most_ns } = await dozing(['timehist'], true);
	const rows = reportsOf(finished.stdout).flatMap((report) => report.rows);
	for (const { delay_ns = 0 } of rows)
		assert.ok(Number(delay_ns) <= most_ns, `${delay_ns}, not ${most_ns} at the most`);
});
