/** Three intervals of different truth: each result has what happened in its own, and nothing else. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type LeakRow, leafOf } from './leaks.js';
import { type JsonReport, reportsOf } from './reports.js';
import { type Finished, Tracing, until, Workload } from './support.js';
import { schedstat, switches } from './times.js';

/** How many things are done, and how long the longest sleep is: in the second round longer than elsewhere. */
const ROUNDS = [
	[60, 0],
	[150, 400],
	[90, 0],
] as const;
const PAGE = 4096;

/** What was done in a round, and what its results say. */
interface Round {
	readonly n: number;
	/** As the workload itself measured. */
	readonly longest_ns: number;
	/** As the kernel counted for its thread. */
	readonly kernel: {
		readonly run_ns: number;
		readonly delay_ns: number;
		readonly switches: number;
	};
	readonly reports: readonly JsonReport[];
}

const counted = (tid: number) => ({ ...schedstat(tid), switches: switches(tid) });

/** What was counted when it sleeps: it has said that it is done a moment before. */
async function asleep(tid: number): Promise<ReturnType<typeof counted>> {
	let now = counted(tid);
	await until(() => {
		const before = now;
		now = counted(tid);
		const { run_ns, switches } = now;
		return run_ns === before.run_ns && switches === before.switches && isAsleep(tid);
	});
	return now;
}

const isAsleep = (tid: number) => / S /.test(readFileSync(`/proc/${tid}/stat`, 'utf8'));

/** Does the rounds one after another, each when the results of the last one are there; then nothing for a while. */
async function rounds(...args: readonly string[]): Promise<Round[]> {
	// What prints lines has an object for each second.
	const interval = args.some((arg) => /^(timehist|--slower)$/.test(arg)) ? [] : ['0.2'];
	const workload = await Workload.start('rounds');
	workload.begin();
	const tracing = await Tracing.start([...args, '--json', '-p', `${workload.pid}`, ...interval]);
	const reports = () => reportsOf(tracing.stdout.slice(0, tracing.stdout.lastIndexOf('\n') + 1));
	/** The one that is being read may be of before; the next has all that was done. */
	const pass = async () => {
		const seen = reports().length;
		await until(
			() => reports().length >= seen + 2,
			() => tracing.stderr,
		);
	};
	const all: Round[] = [];
	await pass();
	for (const [n, long_ms] of [...ROUNDS, undefined].map((round) => round ?? [0, -1])) {
		const [from, before] = [reports().length, counted(workload.tid)];
		if (long_ms >= 0) workload.tell(`${n} ${long_ms}`);
		const [, longest_ns = 0] = long_ms >= 0 ? await workload.done() : [];
		const after = await asleep(workload.tid);
		await pass();
		const kernel = {
			run_ns: after.run_ns - before.run_ns,
			delay_ns: after.delay_ns - before.delay_ns,
			switches: after.switches - before.switches,
		};
		all.push({ n, longest_ns, kernel, reports: reports().slice(from) });
	}
	const { status, stderr }: Finished = await tracing.end('SIGINT');
	await workload.end();
	assert.equal(status, 0, stderr);
	return all;
}

/** The same with each of some options: all at the same time, each with a workload of its own. */
async function roundsWith(tool: string, options: readonly (readonly string[])[]): Promise<Round[]> {
	return (await Promise.all(options.map((each) => rounds(tool, ...each)))).flat();
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);
const most = (numbers: readonly number[]) => Math.max(0, ...numbers);

/** The rows of a system call, of all results of a round. */
const rowsOf = ({ reports }: Round, syscall: string) =>
	reports.flatMap(({ rows }) => rows.filter((row) => row.syscall === syscall));
const numbers = (rows: readonly object[], field: string) =>
	rows.map((row) => Number((row as Record<string, unknown>)[field] ?? 0));
const total = (round: Round, syscall: string, field: string) =>
	sum(numbers(rowsOf(round, syscall), field));

test('syscount: calls and errors', async () => {
	for (const round of await rounds('syscount')) {
		assert.equal(total(round, 'openat', 'calls'), round.n);
		assert.equal(total(round, 'openat', 'errors'), round.n);
		assert.equal(total(round, 'pread64', 'calls'), round.n);
		assert.equal(total(round, 'pread64', 'errors'), 0);
	}
});

test('syscount --errors and --paths: what failed', async () => {
	for (const round of await roundsWith('syscount', [['--errors'], ['--paths']])) {
		assert.equal(total(round, 'openat', 'errors'), round.n);
		assert.deepEqual(rowsOf(round, 'pread64'), []);
	}
});

test('syscount --bytes: by call, and by process', async () => {
	const [byCall, byProcess] = await Promise.all([
		rounds('syscount', '--bytes'),
		rounds('syscount', '--bytes', '-P', '--syscall', 'pread64'),
	]);
	for (const round of byCall) assert.equal(total(round, 'pread64', 'read_bytes'), 10 * round.n);
	for (const round of byProcess)
		assert.equal(
			sum(round.reports.flatMap(({ rows }) => numbers(rows, 'read_bytes'))),
			10 * round.n,
		);
});

test('syscount --latency: calls, and the longest, which was in the second round', async () => {
	for (const round of await rounds('syscount', '--latency')) {
		const sleeps = rowsOf(round, 'clock_nanosleep').filter(({ calls }) => Number(calls) > 0);
		assert.equal(sum(numbers(sleeps, 'calls')), round.n === 0 ? 0 : round.n + 1);
		for (const { p50_ns, p99_ns, mean_ns, max_ns, min_ns } of sleeps) {
			assert.ok(Number(max_ns) <= round.longest_ns, `${max_ns} of ${round.longest_ns}`);
			for (const each of [p50_ns, p99_ns, mean_ns])
				assert.ok(Number(min_ns) <= Number(each) && Number(each) <= Number(max_ns));
		}
		// A call is a little shorter than it seems to its caller.
		if (round.n === ROUNDS[1][0]) assert.ok(most(numbers(sleeps, 'max_ns')) >= 4e8);
	}
});

test('runqlat: waits, and the longest: not more than the kernel counted', async () => {
	const options = [[], ['-L'], ['--split'], ['-P', '--split']];
	for (const { n, kernel, reports } of await roundsWith('runqlat', options)) {
		const groups = reports.flatMap((report) => report.groups);
		const unseen = sum(
			reports.flatMap(({ lost }) => [lost.waits_unseen ?? 0, lost.waits_misbooked ?? 0]),
		);
		const count = sum(numbers(groups, 'count'));
		assert.ok(count <= kernel.switches, `${count} waits, ${kernel.switches} switches`);
		const shown = `${count} waits and ${unseen} unseen of ${n}, ${kernel.switches} switches`;
		assert.ok(count + unseen >= n, shown);
		assert.ok(sum(numbers(groups, 'sum')) <= kernel.delay_ns);
		assert.ok(most(numbers(groups, 'max')) <= kernel.delay_ns);
		const inBuckets = groups.flatMap(({ buckets }) => buckets.map(([, , each]) => each));
		assert.equal(sum(inBuckets), count);
	}
});

test('schedlat: run time, switches and delays are those of the kernel', async () => {
	for (const { n, kernel, reports } of await rounds('schedlat')) {
		const rows = reports.flatMap((report) => report.rows);
		assert.equal(sum(numbers(rows, 'switches')), kernel.switches);
		assert.equal(sum(numbers(rows, 'runtime')), kernel.run_ns);
		assert.ok(sum(numbers(rows, 'delay')) <= kernel.delay_ns);
		assert.ok(most(numbers(rows, 'max')) <= kernel.delay_ns);
		assert.ok(sum(numbers(rows, 'wakeups')) <= kernel.switches);
		assert.ok(sum(numbers(rows, 'switches')) >= n);
	}
});

test('lines as they come: each switch and each wait is in its own second', async () => {
	const [turns, waits] = await Promise.all([
		rounds('timehist'),
		rounds('runqlat', '--slower', '1'),
	]);
	for (const { kernel, reports } of turns) {
		const lost = reports.flatMap((report) => Object.values(report.lost));
		assert.deepEqual(lost, []);
		assert.equal(reports.flatMap(({ rows }) => rows).length, kernel.switches);
	}
	for (const { n, kernel, reports } of waits) {
		const rows = reports.flatMap((report) => report.rows);
		assert.ok(rows.length <= kernel.switches, `${rows.length}`);
		assert.ok(sum(numbers(rows, 'delay_ns')) <= kernel.delay_ns);
		if (n === 0) assert.deepEqual(rows, []);
	}
});

/** The stacks of a function. */
const stacksOf = (report: JsonReport | undefined, name: string) =>
	((report?.stacks ?? []) as readonly LeakRow[]).filter((stack) => leafOf(stack) === name);

test('memleak: what there is after each round, and by how much that grew', async () => {
	const all = await rounds('memleak');
	const truth = all.slice(0, -1).map(({ n }) => n);
	let before = 0;
	let mapped = 0;
	for (const { n, reports } of all) {
		const grew = sum(
			reports.flatMap((each) => numbers(stacksOf(each, 'allocate_here'), 'growth_bytes')),
		);
		const last = stacksOf(reports.at(-1), 'allocate_here');
		const now = n || (truth.at(-1) ?? 0);
		assert.deepEqual(
			last.map(({ value, count }) => [value, count]),
			[[now * 1000, now]],
		);
		assert.equal(grew, 1000 * (now - before));
		mapped += n;
		const pages = stacksOf(reports.at(-1), 'map_here');
		assert.equal(sum(numbers(pages, 'value')), mapped * PAGE);
		before = now;
	}
});

test('memleak --churn: all that was allocated since tracing began, and what of it was freed', async () => {
	let allocated = 0;
	let last = 0;
	for (const { n, reports } of await rounds('memleak', '--churn')) {
		allocated += n;
		const freed = n === 0 ? allocated - last : allocated - n;
		last = n || last;
		const [stack] = stacksOf(reports.at(-1), 'allocate_here');
		assert.deepEqual([stack?.value, stack?.count], [1000 * allocated, allocated]);
		assert.equal(stack?.freed_count, freed);
		assert.equal(stack?.outstanding_bytes, 1000 * (allocated - freed));
	}
});

test('memleak --growth: pages that were touched in each round, and none of the rounds before', async () => {
	for (const { n, reports } of await rounds('memleak', '--growth')) {
		const stacks = reports.flatMap((report) => stacksOf(report, 'map_here'));
		const faults = stacks.filter(({ value }) => value > 0);
		assert.equal(sum(numbers(faults, 'value')), n * PAGE, JSON.stringify(stacks));
		assert.equal(sum(numbers(faults, 'count')), n);
	}
});
