/** schedlat against /proc/PID/schedstat, perf sched, and counts known by construction. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { leftOut, nearSchedInfo } from './reports.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';
import { now_ns, schedstat, stealing } from './times.js';

interface Totals {
	readonly runtime: number;
	readonly switches: number;
	readonly wakeups: number;
	readonly preempted: number;
	readonly migrations: number;
	readonly delays: number;
	readonly delay: number;
}

interface Row extends Totals {
	readonly key: { readonly pid?: number; readonly tid?: number; readonly comm: string };
	readonly avg: number;
	readonly p50: number;
	readonly p99: number;
	readonly max: number;
	readonly max_at: string | null;
	readonly waiting: number;
}

/** A row of timehist. */
interface Slice {
	readonly event: string;
	readonly time_ns: number;
	readonly delay_ns?: number;
	readonly run_ns?: number;
}

interface Report {
	readonly start: string;
	readonly duration_s: number;
	readonly sort: string;
	readonly totals: Readonly<Record<string, number>>;
	readonly rows: readonly Row[];
	readonly lost: Readonly<Record<string, number>>;
}

function reportsOf(stdout: string): Report[] {
	return stdout
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line));
}

/** A tstrace that gets a CPU when its interval is over, though hogs have them all. */
function punctually(args: readonly string[]): string {
	const { status, stdout, stderr } = runToEnd('chrt', ['-f', '1', TSTRACE, ...args]);
	assert.equal(status, 0, stderr);
	return stdout;
}

/** All rows of all intervals that are of a thread. */
function rowsOf(stdout: string, tid: number): Row[] {
	return reportsOf(stdout)
		.flatMap(({ rows }) => rows)
		.filter(({ key }) => key.tid === tid);
}

function sum(rows: readonly Row[], name: keyof Totals) {
	return rows.reduce((all, row) => all + row[name], 0);
}

function within(actual: number, expected: number, percent: number, what: string): void {
	const off = (100 * Math.abs(actual - expected)) / expected;
	assert.ok(off <= percent, `${what}: ${actual}, not ${expected} (${off.toFixed(2)} % off)`);
}

test('competing hogs: run time and delay are those of schedstat', async () => {
	const others = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
	const hog = await Workload.start('hog', '0');
	// It stands still at both ends, so that sched_info and our sum are of the same time.
	await hog.stop();
	const tracing = await Tracing.start(['schedlat', '-p', `${hog.pid}`, '--json', '0.3']);
	const stolen_ns = stealing();
	const before = schedstat(hog.pid);
	hog.continue();
	const intervals = () => tracing.stdout.split('\n').length - 1;
	await until(() => schedstat(hog.pid).waits - before.waits >= 100 && intervals() >= 2);
	await hog.stop();
	const after = schedstat(hog.pid);
	const { stdout, status } = await tracing.end('SIGINT');
	hog.continue();
	for (const each of [hog, ...others]) await each.end();
	assert.equal(status, 0);
	const rows = rowsOf(stdout, hog.tid);
	assert.ok(rows.length >= 2, 'several intervals');
	within(sum(rows, 'runtime'), after.run_ns - before.run_ns, 1, 'run time');
	const left = { out: leftOut(stdout), of: after.waits - before.waits, stolen_ns: stolen_ns() };
	within(sum(rows, 'delays') + left.out, left.of, 1, 'delays');
	nearSchedInfo(sum(rows, 'delay'), after.delay_ns - before.delay_ns, 3, left);
});

test('run time and delay of hogs are all of their time; also of one without a switch', async () => {
	const hogs = [await Workload.start('hog', '1'), await Workload.start('hog', '1')];
	const alone = await Workload.start('hog', '0');
	const stolen_ns = stealing();
	const reports = reportsOf(punctually(['schedlat', '--json', '--comm', 'hog', '1', '3']));
	const stolen_percent = stolen_ns() / 1e7;
	for (const hog of [...hogs, alone]) await hog.end();
	assert.equal(reports.length, 3);
	for (const { tid } of [...hogs, alone]) {
		const rows = reports.map(({ rows }) => rows.find(({ key }) => key.tid === tid));
		// Not the first: the wait that it begins with is counted whole.
		for (const i of [1, 2]) {
			const [before, row] = [rows[i - 1], rows[i]];
			assert.ok(before && row, `no row of ${tid}`);
			const seen_ns = row.runtime + row.delay + row.waiting - before.waiting;
			within(seen_ns, (reports[i]?.duration_s ?? 0) * 1e9, 3 + stolen_percent, `time of ${tid}`);
		}
	}
});

test('wake-ups are as many as there were, and the rest agrees with the kernel', async () => {
	const WAKEUPS = 9973;
	const workload = await Workload.start('wakeups', `${WAKEUPS}`);
	const tracing = await Tracing.start(['schedlat', '-t', `${workload.tid}`, '--json']);
	const histogram = await Tracing.start(['runqlat', '-t', `${workload.tid}`, '--json']);
	const lines = await Tracing.start(['timehist', '-t', `${workload.tid}`, '--json']);
	const stolen_ns = stealing();
	const before = schedstat(workload.tid);
	const [waits, delay_ns] = (await workload.work()) as [number, number];
	const after = schedstat(workload.tid);
	const epoch_ms = Date.now() - now_ns() / 1e6;
	const { stdout } = await tracing.end('SIGINT');
	const slices = reportsOf((await lines.end('SIGINT')).stdout)
		.flatMap(({ rows }) => rows as unknown as Slice[])
		.filter(({ event }) => event === 'switch');
	const [group] = JSON.parse((await histogram.end('SIGINT')).stdout).groups;
	await workload.end();
	const [row] = rowsOf(stdout, workload.tid);
	assert.ok(row);
	within(row.wakeups, WAKEUPS, 0.5, 'wake-ups');
	within(row.delays, waits, 0.5, 'delays');
	const left = { out: leftOut(stdout), of: waits, stolen_ns: stolen_ns() };
	nearSchedInfo(row.delay, delay_ns, 3, left);
	within(row.runtime, after.run_ns - before.run_ns, 1, 'run time');
	within(row.switches, waits, 0.5, 'switches');
	// Of runqlat in the same run; 0 where it got a CPU at once.
	for (const name of ['p50', 'p99', 'max'] as const) {
		const [ours, theirs] = [row[name], group[name]];
		assert.ok(Math.abs(ours - theirs) <= 0.032 * theirs, `${name}: ${ours}, not ${theirs}`);
	}
	const [report] = reportsOf(stdout);
	const at_ms = Date.parse(row.max_at ?? '') - Date.parse(report?.start ?? '');
	assert.ok(at_ms >= -20 && at_ms <= (report?.duration_s ?? 0) * 1000 + 20, `${at_ms} ms in`);
	// Where timehist has the longest, or one that is as long.
	const longest = slices
		.filter(({ delay_ns = 0 }) => delay_ns >= 0.97 * row.max)
		.map(({ time_ns, run_ns = 0 }) => epoch_ms + (time_ns - run_ns) / 1e6);
	const off_ms = longest.map((each) => Math.abs(each - Date.parse(row.max_at ?? '')));
	assert.ok(Math.min(...off_ms) < 20, `${row.max_at}: ${off_ms} ms from the longest`);
});

test('the same run as perf sched latency has it', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-schedlat-'));
	const hogs: Workload[] = [];
	for (let i = 0; i < 3; i++) hogs.push(await Workload.start('hog', '1'));
	try {
		for (const hog of hogs) await hog.stop();
		const tracing = await Tracing.start(['schedlat', '--json', '--comm', 'hog']);
		const file = join(folder, 'perf.data');
		const pids = hogs.map(({ pid }) => pid).join(' ');
		// The hogs only run while both record.
		const shell = `kill -CONT ${pids}; sleep 3; kill -STOP ${pids}; sleep 0.1`;
		// With room for what it could not write at once: what it loses cannot be compared.
		const record = ['sched', 'record', '-q', '-m', '16M', '-o', file, '--', 'sh', '-c', shell];
		const recorded = spawnSync('perf', record, { encoding: 'utf8' });
		assert.equal(recorded.status, 0, recorded.stderr);
		const { stdout } = await tracing.end('SIGINT');
		const table = spawnSync('perf', ['sched', 'latency', '-p', '-i', file], { encoding: 'utf8' });
		const line = /:(\d+)\s*\|\s*([\d.]+) ms \|\s*\d+ \| avg:\s*([\d.]+) ms/g;
		const theirs = new Map(
			[...table.stdout.matchAll(line)].map(([, tid, run, avg]) => [
				Number(tid),
				{ run_ms: Number(run), avg_ms: Number(avg) },
			]),
		);
		for (const { tid } of hogs) {
			const [row] = rowsOf(stdout, tid);
			const their = theirs.get(tid);
			assert.ok(row && their, `${tid}: ${table.stdout}`);
			within(row.runtime / 1e6, their.run_ms, 3, 'run time');
			within(row.avg / 1e6, their.avg_ms, 3, 'average delay');
		}
	} finally {
		for (const hog of hogs) {
			hog.continue();
			await hog.end();
		}
		rmSync(folder, { recursive: true });
	}
});

test('migrations: moved by taskset a known number of times', async () => {
	const MOVES = 30;
	const hog = await Workload.start('hog', '0');
	const tracing = await Tracing.start(['schedlat', '-p', `${hog.pid}`, '--json']);
	for (let i = 0; i < MOVES; i++) {
		const moved = spawnSync('taskset', ['-cp', `${(i + 1) % 2}`, `${hog.pid}`]);
		assert.equal(moved.status, 0);
	}
	const { stdout } = await tracing.end('SIGINT');
	await hog.end();
	assert.equal(rowsOf(stdout, hog.tid)[0]?.migrations, MOVES);
});

test('threads that end keep their rows; a full table is said', async () => {
	const COUNT = 500;
	const rowsWith = async (...options: string[]) => {
		const workload = await Workload.start('churn', `${COUNT}`);
		const args = ['schedlat', '-p', `${workload.pid}`, '--json', ...options];
		const tracing = await Tracing.start(args);
		await workload.work();
		const { stdout, stderr } = await tracing.end('SIGINT');
		await workload.end();
		return { report: reportsOf(stdout)[0], stderr };
	};
	const { report } = await rowsWith();
	assert.equal(report?.rows.length, COUNT + 1);
	assert.ok(report.rows.every(({ runtime, key }) => runtime > 0 && key.comm === 'churn'));
	const byProcess = await rowsWith('-P');
	assert.equal(byProcess.report?.rows.length, 1);
	const full = await rowsWith('--max-threads', '10');
	assert.ok((full.report?.lost.threads_full ?? 0) > 0);
	assert.match(full.stderr, /^lost: [\s\S]*?--max-threads[\s\S]*?\(threads_full\)$/m);
});

test('a COMMAND, from its first instruction to its end, and what it starts', () => {
	const shell =
		'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done';
	const args = ['schedlat', '--json', '--by', 'comm', '--follow', '--', 'sh', '-c', shell];
	const { stdout, status } = tstrace(args);
	assert.equal(status, 0);
	const rows = reportsOf(stdout).flatMap((report) => report.rows);
	const [sh] = rows.filter(({ key }) => key.comm === 'sh');
	const [sleeps] = rows.filter(({ key }) => key.comm === 'sleep');
	assert.ok(sh && sh.runtime > 10e6, 'the shell counts for some time');
	assert.ok(sleeps && sleeps.runtime < sh.runtime);
	assert.ok(sleeps.wakeups >= 10 - leftOut(stdout), 'ten of them');
	assert.equal(rows.length, 2);
});

test('rows are in the order asked for; totals are their sums', () => {
	for (const key of ['runtime', 'switches', 'wakeups', 'avg', 'p99', 'max'] as const) {
		const { stdout } = tstrace(['schedlat', '--json', '-s', key, '0.2', '1']);
		const [report] = reportsOf(stdout);
		const values = report?.rows.map((row) => row[key]) ?? [];
		assert.deepEqual(
			values,
			[...values].sort((a, b) => b - a),
		);
		assert.equal(report?.sort, key);
		assert.equal(report?.totals.runtime, sum(report?.rows ?? [], 'runtime'));
		assert.equal(report?.totals.switches, sum(report?.rows ?? [], 'switches'));
	}
});

test('as text: a table, --top rows, totals, and how many more', async () => {
	const hogs = await Promise.all(['0', '0', '0'].map((cpu) => Workload.start('hog', cpu)));
	const { stdout, status } = tstrace(['schedlat', '--top', '2', '0.3', '2']);
	for (const hog of hogs) await hog.end();
	assert.equal(status, 0);
	const tables = stdout.split('\n\n');
	assert.equal(tables.length, 2);
	for (const table of tables) {
		const [head, ...lines] = table.trim().split('\n');
		assert.match(head ?? '', /^COMM +TID +PID +RUN +SWITCH +WAKE .* MAX +MAX AT$/);
		assert.match(lines[2] ?? '', /^\(total\)/);
		assert.match(lines[3] ?? '', /^\d+ more; --top 0 shows them$/);
	}
});

test('what cannot be is refused: sort key, CPUs', () => {
	const cases = [
		{ args: ['-s', 'runtme'], says: /did you mean runtime\? keys are runtime, switches/ },
		{ args: ['-C', '0'], says: /leave out -C: .*runqlat -C/ },
		{ args: ['-P', '--by', 'comm'], says: /cannot be used with/ },
		{ args: ['--max-threads', '0'], says: /from 1 to/ },
	];
	for (const { args, says } of cases) {
		const { status, stderr } = tstrace(['schedlat', ...args, '1', '1']);
		assert.equal(status, 2);
		assert.match(stderr, says);
		assert.equal(stderr.trimEnd().split('\n').length, 1);
	}
});

/** LATENCY_PLACES of bpf/lib/schedlat/latencies.h: threads whose numbers are so far apart share one. */
const PLACES = 16_384;

/** Two hogs on a CPU, which share a place: the kernel is told which number it gave last. */
async function hogsOfOnePlace(): Promise<readonly [Workload, Workload]> {
	const first = await Workload.start('hog', '0');
	const wanted = first.pid > PLACES ? first.pid - PLACES : first.pid + PLACES;
	for (let left = 50; left > 0; left--) {
		writeFileSync('/proc/sys/kernel/ns_last_pid', `${wanted - 1}`);
		const second = await Workload.start('hog', '0');
		if (second.pid === wanted) return [first, second];
		await second.end();
	}
	return assert.fail(`nobody got the number ${wanted}`);
}

test('threads that share a place by their numbers have percentiles of their own', async () => {
	const hogs = await hogsOfOnePlace();
	const pids = hogs.map(({ pid }) => pid);
	const stdout = punctually(['schedlat', '--json', '-p', pids.join(), '0.5', '4']);
	for (const hog of hogs) await hog.end();
	const rows = pids.flatMap((pid) => rowsOf(stdout, pid));
	assert.equal(rows.length, 8);
	for (const { delays, p50, p99, max } of rows) {
		assert.ok(delays > 5, stdout);
		// One of them has the CPU for a time slice while the other one waits; somebody else may have it shortly.
		assert.ok(p50 > 0 && p50 <= p99 && p99 > 5e5 && p99 <= max, stdout);
	}
});
