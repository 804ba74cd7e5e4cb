/** A hog in a control group with a CPU quota: what it is throttled is what the group's cpu.stat says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuCgroup } from './cpu-cgroup.js';
import { reportsOf } from './reports.js';
import { foldedLines, stackReport, sumOf, withFrame } from './stacks.js';
import { type Finished, needs, Tracing, until, Workload } from './support.js';
import { schedstat, stealing } from './times.js';

const CPU = '1';
const QUOTA_PERCENT = 20;
const PERIODS = 20;
const WAITS = 100;

interface Case {
	/** Per cent of one CPU; undefined: there is no quota. */
	readonly quota?: number;
	/** Whether another hog is on the CPU. */
	readonly competitor?: true;
}

const CASES: Readonly<Record<string, Case>> = {
	'with a quota, alone on its CPU': { quota: QUOTA_PERCENT },
	'with a quota, behind another hog': { quota: QUOTA_PERCENT, competitor: true },
	'without a quota, behind another hog': { competitor: true },
};

/** What the kernel counted for the hog from begin to end, and what tstrace says. */
interface Run {
	readonly finished: Finished;
	/** cpu.stat: periods in which it was throttled, and for how long. */
	readonly times: number;
	readonly throttled_ns: number;
	/** /proc/PID/schedstat: without a CPU though it could run, throttled or not. */
	readonly delay_ns: number;
	readonly waits: number;
	readonly stolen_ns: number;
}

/** Traces a hog, alone in its control group, that stands still at both ends. */
async function trace(
	args: readonly string[],
	{ quota, competitor }: Case,
	env: Readonly<Record<string, string>> = {},
): Promise<Run> {
	const cgroup = CpuCgroup.make('throttled');
	const hogs: Workload[] = [];
	try {
		if (competitor) hogs.push(await Workload.start('hog', CPU));
		const hog = await Workload.start('hog', CPU);
		hogs.push(hog);
		cgroup.add(hog.pid);
		if (quota) cgroup.limitTo(quota);
		// What it has waited for until then is nothing of what is traced.
		await until(() => (quota ? cgroup.throttled().times >= 2 : schedstat(hog.pid).waits >= WAITS));
		await hog.stop();
		const tracing = await Tracing.start([...args, '-p', `${hog.pid}`], env);
		const stolen_ns = stealing();
		const now = () => ({ ...schedstat(hog.pid), ...cgroup.throttled() });
		const before = now();
		hog.continue();
		await until(() =>
			quota ? now().times >= before.times + PERIODS : now().waits >= before.waits + WAITS,
		);
		await hog.stop();
		const after = now();
		const finished = await tracing.end('SIGINT');
		assert.equal(finished.status, 0, finished.stderr);
		hog.continue();
		return {
			finished,
			times: after.times - before.times,
			throttled_ns: after.ns - before.ns,
			delay_ns: after.delay_ns - before.delay_ns,
			waits: after.waits - before.waits,
			stolen_ns: stolen_ns(),
		};
	} finally {
		for (const hog of hogs) await hog.end();
		cgroup.remove();
	}
}

interface Lost {
	readonly lost: Readonly<Record<string, number>>;
}

/**
 * What a tool says of a run: throttled, and without a CPU for other reasons. Of `reports` waits that
 * are said to be lost (this kernel does not trace every switch), each may have been the longest.
 */
function agrees(run: Run, throttled_ns: number, queued_ns: number, reports: readonly Lost[]): void {
	const unseen = reports.reduce(
		(sum, { lost }) => sum + (lost.waits_unseen ?? 0) + (lost.wait_start_unknown ?? 0),
		0,
	);
	const said = `${throttled_ns} + ${queued_ns}, not ${JSON.stringify(run)}, ${unseen} unseen`;
	const at = (value: number, expected: number, lacking: number) =>
		value <= expected * 1.03 + run.stolen_ns * 0.03 && value >= expected * 0.97 - lacking;
	if (run.throttled_ns === 0) {
		assert.equal(throttled_ns, 0, said);
	} else {
		const each_ns = run.throttled_ns / run.times;
		assert.ok(at(throttled_ns, run.throttled_ns, unseen * each_ns), `throttled: ${said}`);
	}
	const longest_ns = Math.max(run.delay_ns / run.waits, run.throttled_ns / (run.times || 1));
	const sum_ns = throttled_ns + queued_ns;
	assert.ok(
		at(sum_ns, run.delay_ns, 3 * unseen * longest_ns + (unseen && run.stolen_ns)),
		`in all: ${said}`,
	);
}

const total = <Row>(rows: readonly Row[], of: (row: Row) => unknown): number =>
	rows.reduce((sum, row) => sum + Number(of(row) ?? 0), 0);

for (const [name, each] of Object.entries(CASES)) {
	test(`offcputime: ${name}`, async () => {
		const run = await trace(['offcputime', '--exact', '--json'], each);
		const report = stackReport(run.finished);
		const queued_ns = sumOf(report.stacks, 'run_queue') + sumOf(report.stacks, 'preempted');
		agrees(run, sumOf(report.stacks, 'throttled'), queued_ns, [report]);
		for (const stack of report.stacks) {
			const parts = stack.blocked + stack.run_queue + stack.preempted + stack.throttled;
			assert.equal(parts, stack.value);
		}
		// Since 6.18 a thread leaves its CPU in a function of its own for that; then it was not preempted.
		const byQuota = withFrame(report.stacks, 'task_work_run');
		// Of the kernel's threads, one may be in the way as it comes back.
		const preempted = sumOf(byQuota, 'preempted');
		assert.ok(preempted <= 0.01 * sumOf(byQuota, 'throttled'), `${preempted}`);
	});

	for (const way of ['sched_info', 'hash'] as const) {
		test(`runqlat: by ${way}: ${name}`, async () => {
			const run = await trace(['runqlat', '--split', '--json'], each, { TSTRACE_FORCE: way });
			const reports = reportsOf(run.finished.stdout);
			const groups = reports.flatMap((report) => report.groups);
			const throttled = groups.filter(({ key }) => key.kind === 'throttled');
			const others = groups.filter(({ key }) => key.kind !== 'throttled');
			agrees(
				run,
				total(throttled, ({ sum }) => sum),
				total(others, ({ sum }) => sum),
				reports,
			);
		});
	}

	test(`schedlat: ${name}`, async () => {
		const run = await trace(['schedlat', '--json', '0.5'], each);
		const reports = reportsOf(run.finished.stdout);
		const rows = reports.flatMap((report) => report.rows);
		agrees(
			run,
			total(rows, (row) => row.throttled),
			total(rows, (row) => row.delay),
			reports,
		);
	});

	test(`timehist: ${name}`, async () => {
		const run = await trace(['timehist', '--json'], each);
		const reports = reportsOf(run.finished.stdout);
		const rows = reports.flatMap((report) => report.rows);
		const throttled = rows.filter(({ event }) => event === 'throttled');
		agrees(
			run,
			total(throttled, (row) => row.throttled_ns),
			total(rows, (row) => row.delay_ns),
			reports,
		);
		// How long it was off the CPU says all of it.
		for (const [i, row] of rows.entries()) {
			const { throttled_ns: ns = 0 } = rows[i - 1] ?? {};
			if (row.event === 'switch' && row.wait_ns !== undefined)
				assert.ok(Number(row.wait_ns) >= Number(ns) + Number(row.delay_ns), JSON.stringify(row));
		}
	});
}

const ALONE = { quota: QUOTA_PERCENT };

test('offcputime: --split has it at the root of a stack, text among the parts', async () => {
	const split = await trace(['offcputime', '--exact', '--split', '--folded'], ALONE);
	const lines = foldedLines(split.finished.stdout);
	const sum_ns = 1000 * total(lines, ([frames, usec]) => (frames[0] === 'throttled' ? usec : 0));
	assert.ok(sum_ns > 0.5 * split.throttled_ns && sum_ns < 1.03 * split.throttled_ns);
	const text = await trace(['offcputime', '--exact', '--format', 'text'], ALONE);
	assert.match(text.finished.stdout, /^ {4}(.*, )?throttled [\d.]+ m?s$/m);
});

test(
	'runqlat: --slower names nobody who would have been in the way',
	needs('a ring buffer'),
	async () => {
		const args = ['runqlat', '--slower', '5ms'];
		const { finished, times } = await trace(args, ALONE);
		const lines = finished.stdout.match(/^[\d:.]+ +1 hog .*$/gm) ?? [];
		const throttled = lines.filter((line) => line.endsWith(' (throttled)'));
		assert.ok(throttled.length >= times / 2, finished.stdout);
	},
);

test('schedlat: a column, and who is throttled as the interval ends', async () => {
	const { finished } = await trace(['schedlat', '0.03'], ALONE);
	assert.match(finished.stdout, /^COMM .* THROTTLED +AVG /m);
	// Four fifths of the time it is, so that of twenty tables some show it.
	assert.match(finished.stdout, /^1 still throttled, for up to [\d.]+ .*$/m);
});

test('timehist: a line as it goes on, a column of the table', async () => {
	const { finished, times } = await trace(['timehist', '--summary'], ALONE);
	const lines = finished.stdout.match(
		/^ *[\d.]+ \[0001\] {2}hog\[\d+\] +throttled: [\d.]+ msec$/gm,
	);
	assert.ok((lines?.length ?? 0) >= times / 2, finished.stdout);
	assert.match(finished.stdout, /^THREAD .* THROTTLED /m);
});
