/** runqlat against the kernel's own totals, on workloads whose truth is known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WAYS } from '../../src/kit/waits.js';
import { lostEvents, reportsOf, Tracing, total, Workload } from './support.js';

const WAKEUPS = 9973;

function within(actual: number, expected: number, percent: number, what: string): void {
	const off = (100 * Math.abs(actual - expected)) / expected;
	assert.ok(off <= percent, `${what}: ${actual}, not ${expected} (${off.toFixed(2)} % off)`);
}

for (const way of WAYS) {
	test(`${way}: ${WAKEUPS} wake-ups are counted within 0.5 %`, async () => {
		const workload = await Workload.start('wakeups', `${WAKEUPS}`);
		const args = ['runqlat', '-t', `${workload.tid}`, '--json'];
		const tracing = await Tracing.start(args, { TSTRACE_FORCE: way });
		const [waits, delay_ns] = (await workload.work()) as [number, number];
		const { status, stdout } = await tracing.end('SIGINT');
		await workload.end();
		assert.equal(status, 0);
		const { count, sum } = total(stdout);
		within(count, waits, 0.5, 'count');
		assert.ok(waits >= WAKEUPS);
		// Time stamps include the probes themselves, which for waits of a microsecond shows.
		if (way === 'sched_info') within(sum, delay_ns, 3, 'sum of delays');
	});

	test(`${way}: waits of a machine that is too busy, in count and sum`, async () => {
		const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
		const workload = await Workload.start('hog', '0');
		const tracing = await Tracing.start(
			['runqlat', '-p', `${workload.pid}`, '--split', '--json', '0.5', '4'],
			{ TSTRACE_FORCE: way },
		);
		const { stdout } = await tracing.end();
		await workload.end();
		for (const hog of hogs) await hog.end();
		const groups = reportsOf(stdout).flatMap((report) => report.groups);
		const preempted = groups.filter((group) => group.key.kind === 'preempted');
		const count = preempted.reduce((sum, group) => sum + group.count, 0);
		const sum = preempted.reduce((all, group) => all + group.sum, 0);
		assert.ok(count > 10, `a hog among hogs is preempted, not ${count} times`);
		assert.equal(groups.filter((group) => group.key.kind === 'wakeup').length, 0);
		// Three share one CPU for two seconds: each waits for two thirds of it.
		assert.ok(sum > 0.8e9 && sum < 1.8e9, `waited for ${sum} ns`);
	});

	test(`${way}: what a thread waited before it was moved to another CPU is not forgotten`, async () => {
		const workload = await Workload.start('moved', '20');
		const args = ['runqlat', '-t', `${workload.tid}`, '--json'];
		const tracing = await Tracing.start(args, { TSTRACE_FORCE: way });
		const [least_ns, delay_ns] = (await workload.work()) as [number, number];
		const { stdout } = await tracing.end('SIGINT');
		await workload.end();
		const { sum } = total(stdout);
		assert.ok(sum >= least_ns, `${sum} ns, but at least ${least_ns} ns were waited`);
		within(sum, delay_ns, 3, 'sum of delays');
	});
}

test('both counts of a thread: wake-ups and preemptions are its switches', async () => {
	const hog = await Workload.start('hog', '0');
	const workload = await Workload.start('hog', '0');
	const args = ['runqlat', '-t', `${workload.pid}`, '--split', '--json'];
	const tracing = await Tracing.start(args);
	const begin = Date.now();
	while (Date.now() - begin < 300);
	const { stdout } = await tracing.end('SIGINT');
	const [, involuntary] = (await workload.end()) as [number, number];
	await hog.end();
	const groups = reportsOf(stdout).flatMap((report) => report.groups);
	const preempted = groups.find((group) => group.key.kind === 'preempted');
	assert.ok(preempted && preempted.count <= involuntary + 1);
	assert.ok(preempted.count >= 5);
});

test('intervals: what is counted in one is not counted in the next', async () => {
	const workload = await Workload.start('wakeups', `${WAKEUPS}`);
	const args = ['runqlat', '-t', `${workload.tid}`, '--json', '0.05'];
	const tracing = await Tracing.start(args);
	const [waits] = (await workload.work()) as [number];
	const { stdout } = await tracing.end('SIGINT');
	await workload.end();
	const reports = reportsOf(stdout);
	assert.ok(reports.length >= 2, 'several intervals');
	within(total(stdout).count, waits, 0.5, 'count over all intervals');
	for (const { groups } of reports) {
		for (const { count, sum, min, max, buckets } of groups) {
			const inBuckets = buckets.reduce((all, [, , each]) => all + each, 0);
			assert.equal(count, inBuckets);
			if (count === 0) continue;
			const [first, last] = [buckets[0], buckets.at(-1)];
			assert.ok(first && min >= first[0] && min < first[1], 'the minimum is in its bucket');
			assert.ok(last && max >= last[0] && max < last[1], 'the maximum is in its bucket');
			assert.ok(sum >= min * count && sum <= max * count);
		}
	}
});

test('a table of groups that is full: what is not in it is counted', async () => {
	const workload = await Workload.start('churn', '2000');
	const args = ['runqlat', '-L', '-p', `${workload.pid}`, '--json', '--max-buckets', '100'];
	const tracing = await Tracing.start(args);
	await workload.work();
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	await workload.end();
	assert.equal(status, 0);
	const lost = reportsOf(stdout).reduce((all, report) => all + (report.lost.groups_full ?? 0), 0);
	assert.ok(lost > 0);
	assert.ok(total(stdout).count + lost >= 2 * 2000, 'counted and lost are all there were');
	assert.match(stderr, /lost: \d+ not counted, because the table of groups was full/);
});

test('20,000 threads that come and go: each has its group, or is counted as lost', async () => {
	const THREADS = 20_000;
	const workload = await Workload.start('churn', `${THREADS}`);
	const args = ['runqlat', '-L', '-p', `${workload.pid}`, '--json'];
	const tracing = await Tracing.start(args);
	await workload.work();
	const { stdout } = await tracing.end('SIGINT');
	await workload.end();
	const [report] = reportsOf(stdout);
	assert.ok(report);
	const seen = report.groups.length;
	assert.deepEqual(lostEvents(report), {});
	// Numbers are reused: 20,000 threads may have had fewer.
	const threads = new Set(report.groups.map((group) => group.key.tid));
	assert.equal(threads.size, seen);
	const { count } = total(stdout);
	assert.ok(count >= 2 * THREADS, `each began and woke: ${count} waits`);
	assert.ok(seen > THREADS * 0.9, `${seen} groups`);
});
