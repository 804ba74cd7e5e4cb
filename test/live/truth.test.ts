/** runqlat against the kernel's own totals, on workloads whose truth is known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WAYS as ALL_WAYS, delayedDequeue } from '../../src/bpf/scheduling/run-queue.js';
import { checkMoved, MOVES } from './moves.js';
import { leftOut, nearSchedInfo, otherLosses, reportsOf, total } from './reports.js';
import { Tracing, until, Workload } from './support.js';
import { STEAL_UNCOUNTED_NS, schedstat, stealing } from './times.js';

const WAKEUPS = 9973;
/** How often a thread is moved as it sleeps. */
const ASLEEP = 200;

function within(actual: number, expected: number, percent: number, what: string): void {
	const difference = Math.abs(actual - expected);
	const off = `${((100 * difference) / expected).toFixed(2)} % off`;
	assert.ok(
		difference <= (percent / 100) * expected,
		`${what}: ${actual}, not ${expected} (${off})`,
	);
}

/** How much later a time stamp of ours is at the most, on average; far more where instructions are emulated. */
const STAMP_NS = process.env.TSTRACE_EMULATED ? 50_000 : 1000;

const WAYS = ALL_WAYS.map(({ name }) => name);

for (const way of WAYS) {
	test(`${way}: ${WAKEUPS} wake-ups are told apart, and agree with the kernel's totals`, async () => {
		const workload = await Workload.start('wakeups', `${WAKEUPS}`);
		const args = ['runqlat', '-t', `${workload.tid}`, '--split', '--json'];
		const tracing = await Tracing.start(args, { TSTRACE_FORCE: way });
		const stolen_ns = stealing();
		const [waits, delay_ns] = (await workload.work()) as [number, number];
		const { status, stdout } = await tracing.end('SIGINT');
		await workload.end();
		assert.equal(status, 0);
		const [report] = reportsOf(stdout);
		const wakeups = report?.groups.find((group) => group.key.kind === 'wakeup');
		within(wakeups?.count ?? 0, WAKEUPS, 0.5, 'wake-ups');
		const { count, sum } = total(stdout);
		within(count, waits, 0.5, 'count');
		const left = { out: leftOut(stdout), of: waits, stolen_ns: stolen_ns() };
		if (way === 'sched_info') return nearSchedInfo(sum, delay_ns, 3, left);
		// Time stamps are later than the kernel's, and what is stolen in between is in ours.
		const stolen = left.stolen_ns > STEAL_UNCOUNTED_NS ? left.stolen_ns : 0;
		nearSchedInfo(sum, delay_ns, 10, left, STAMP_NS * waits + stolen);
	});

	test(`${way}: a hog among hogs, in count and sum`, async () => {
		const others = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
		const hog = await Workload.start('hog', '0');
		await until(() => schedstat(hog.pid).waits >= 20);
		// It stands still at both ends, so that sched_info and our sum are of the same waits.
		await hog.stop();
		const args = ['runqlat', '-p', `${hog.pid}`, '--split', '--json', '0.2'];
		const tracing = await Tracing.start(args, { TSTRACE_FORCE: way });
		const stolen_ns = stealing();
		const before = schedstat(hog.pid);
		hog.continue();
		await until(() => schedstat(hog.pid).waits - before.waits >= 100);
		await hog.stop();
		const after = schedstat(hog.pid);
		const { stdout } = await tracing.end('SIGINT');
		hog.continue();
		for (const each of [hog, ...others]) await each.end();

		const reports = reportsOf(stdout);
		const left = { out: leftOut(stdout), of: after.waits - before.waits, stolen_ns: stolen_ns() };
		const { count, sum } = total(stdout);
		within(count + left.out, left.of, 1, 'count');
		nearSchedInfo(sum, after.delay_ns - before.delay_ns, way === 'sched_info' ? 3 : 6, left);
		const groups = reports.flatMap((report) => report.groups);
		const preempted = groups.filter((group) => group.key.kind === 'preempted');
		const wakeups = groups.filter((group) => group.key.kind === 'wakeup');
		const countOf = (list: typeof groups) => list.reduce((all, group) => all + group.count, 0);
		assert.ok(countOf(wakeups) <= 1, 'once it was told to go on; a hog does not sleep');
		if (left.out === 0) assert.equal(countOf(wakeups), 1, 'it had stopped, and was not preempted');
		assert.ok(countOf(preempted) >= count - 1 - 2 * left.out - 2);
	});

	test(`${way}: what a thread waited before it was moved to another CPU is not forgotten`, async () => {
		const workload = await Workload.start('moved', `${MOVES}`);
		const args = ['runqlat', '-t', `${workload.tid}`, '--json'];
		const tracing = await Tracing.start(args, { TSTRACE_FORCE: way });
		const [least_ns = 0, delay_ns = 0, waiting = 0, all_ns = 0] = await workload.work();
		const { stdout } = await tracing.end('SIGINT');
		await workload.end();
		const sum = total(stdout).sum;
		const out = leftOut(stdout);
		checkMoved(sum, out, { least_ns, waiting, all_ns });
		// With time stamps tstrace does not count the sleep, and has nothing to leave out.
		if (out === 0 && way === 'sched_info')
			assert.ok(sum >= delay_ns * 0.97, `${sum} ns, of ${delay_ns} before the last time slice`);
	});
}

test('sleep that the kernel counts as waiting is left out, and said', async () => {
	const hog = await Workload.start('hog', '0');
	const workload = await Workload.start('asleep', `${ASLEEP}`);
	const args = ['runqlat', '-t', `${workload.tid}`, '--json'];
	const tracing = await Tracing.start(args, { TSTRACE_FORCE: 'sched_info' });
	const others = await Promise.all(
		['schedlat', 'timehist', 'offcputime'].map((tool) =>
			Tracing.start([tool, '-t', `${workload.tid}`, '--json']),
		),
	);
	const strangers = await Promise.all(
		['runqlat', 'schedlat'].map((tool) => Tracing.start([tool, '--comm', 'hog', '--json'])),
	);
	const [, counted_ns] = (await workload.work()) as [number, number];
	const { stdout } = await tracing.end('SIGINT');
	for (const stranger of strangers) {
		const [report] = reportsOf((await stranger.end('SIGINT')).stdout);
		assert.equal(report?.lost.waits_misbooked, undefined, `${report?.tool}: it was not chosen`);
	}
	for (const other of others) {
		const reports = reportsOf((await other.end('SIGINT')).stdout);
		const [{ tool } = assert.fail()] = reports;
		const left = reports.reduce((all, { lost }) => all + (lost.waits_misbooked ?? 0), 0);
		assert.equal(left > 0, delayedDequeue(), `${tool}: ${left} waits with sleep in them`);
		// Not those that come after such a wait: each time it waits for the CPU that it goes back to.
		assert.ok(left <= ASLEEP + 1, `${tool}: ${left} of ${ASLEEP}`);
	}
	await workload.end();
	await hog.end();
	const misbooked = reportsOf(stdout)[0]?.lost.waits_misbooked ?? 0;
	assert.equal(misbooked > 0, delayedDequeue(), `${misbooked} waits with sleep in them`);
	assert.ok(misbooked <= ASLEEP + 1, `${misbooked} of ${ASLEEP}`);
	if (misbooked > 0) assert.ok(total(stdout).sum < counted_ns, 'less than the kernel counted');
});

/** All together, and in groups of their own. */
for (const apart of ['', ' -L', ' --by comm'])
	test(`intervals${apart}: what is counted in one is not counted in the next`, async () => {
		const workload = await Workload.start('wakeups', `${WAKEUPS}`);
		const args = ['runqlat', ...apart.split(' ').slice(1), '-t', `${workload.tid}`];
		const tracing = await Tracing.start([...args, '--json', '0.05']);
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
	const all = total(stdout).count + lost + leftOut(stdout);
	assert.ok(all >= 2 * 2000, `${all}: counted and lost are all there were`);
	assert.match(stderr, /^lost: [\d,]+ events: no room for more groups; [\s\S]*?\(groups_full\)$/m);
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
	assert.deepEqual(otherLosses(report.lost), {});
	// Numbers are reused: 20,000 threads may have had fewer.
	const threads = new Set(report.groups.map((group) => group.key.tid));
	assert.equal(threads.size, seen);
	const count = total(stdout).count + leftOut(stdout);
	assert.ok(count >= 2 * THREADS, `each began and woke: ${count} waits`);
	assert.ok(seen > THREADS * 0.9, `${seen} groups`);
});
