/** timehist against what the kernel counted for the thread, and against perf sched timehist. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { cgroupMount } from '../../src/proc/cgroup.js';
import { reportsOf } from './reports.js';
import { runToEnd, Tracing, tstrace, until, Workload } from './support.js';
import { type Line, linesOf } from './timehist-lines.js';
import { schedstat, stealing, switches } from './times.js';

/** Asleep, so that what the kernel counted for it stands still. */
async function untilAsleep(pid: number): Promise<void> {
	await until(() => / S /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

const sum = (numbers: readonly (number | undefined)[]) =>
	numbers.reduce<number>((total, each) => total + (each ?? 0), 0);

const close = (a: number, b: number, share: number, slack: number) =>
	Math.abs(a - b) <= share * Math.max(a, b) + slack;

test('a line for each switch; sleeps, run times and delays as the kernel counted them', async () => {
	const naps = await Workload.start('naps', '200', '1000', '2000');
	await untilAsleep(naps.pid);
	const tracing = await Tracing.start(['timehist', '-t', `${naps.tid}`]);
	const stolen_ns = stealing();
	const before = { ...schedstat(naps.pid), switches: switches(naps.pid) };
	const [, napped_ns = 0] = await naps.work();
	await untilAsleep(naps.pid);
	const after = { ...schedstat(naps.pid), switches: switches(naps.pid) };
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	await naps.end();
	assert.equal(status, 0, stderr);
	const lines = linesOf(stdout);
	assert.equal(lines.length, after.switches - before.switches, stderr);
	assert.ok(lines.every(({ name }) => name === `naps[${naps.tid}]`));
	const naps_ms = lines.filter((_, i) => lines[i - 1]?.state === 'S').map(({ wait_ms }) => wait_ms);
	// A nap may be over before the thread can sleep.
	assert.ok(naps_ms.length >= 198 && naps_ms.length <= 202, `${naps_ms.length}`);
	for (const line of lines.slice(1)) {
		const { wait_ms = 0, delay_ms = 0 } = line;
		assert.ok(delay_ms <= wait_ms, JSON.stringify(line));
	}
	// The sleep itself: what was not spent in the queue.
	const slept = lines
		.filter((line, i) => i > 0 && line.wait_ms && lines[i - 1]?.state === 'S')
		.map(({ wait_ms = 0, delay_ms = 0 }) => wait_ms - delay_ms)
		.sort((a, b) => a - b);
	assert.ok(slept.filter((ms) => ms >= 1.99).length >= 197, slept.slice(0, 5).join());
	assert.ok(sum(slept) <= napped_ns / 1e6 + 0.5, `${sum(slept)} of ${napped_ns / 1e6}`);
	const run_ms = sum(lines.map((line) => line.run_ms));
	const delay_ms = sum(lines.map((line) => line.delay_ms));
	const kernel_run_ms = (after.run_ns - before.run_ns) / 1e6;
	const kernel_delay_ms = (after.delay_ns - before.delay_ns) / 1e6;
	// What was stolen the kernel leaves out; a tool that uses the clock, as perf does, cannot.
	const most_ms = kernel_run_ms * 1.01 + 0.5 + stolen_ns() / 1e6;
	const range = `${kernel_run_ms * 0.99 - 0.5}..${most_ms}`;
	assert.ok(run_ms >= kernel_run_ms * 0.99 - 0.5 && run_ms <= most_ms, `${run_ms}, not ${range}`);
	// What this kernel did not show, or counted wrongly (sleep as latency), is left out, and said.
	const leftOut =
		lines.slice(1).some((line) => line.wait_ms === undefined) || /waits_misbooked/.test(stderr);
	if (leftOut)
		assert.ok(delay_ms <= kernel_delay_ms * 1.03 + 0.5, `${delay_ms} ${kernel_delay_ms}`);
	else assert.ok(close(delay_ms, kernel_delay_ms, 0.03, 0.5), `${delay_ms} ${kernel_delay_ms}`);
});

/** Out of idleness, in a virtual machine, at the most; lines differ by a millisecond or more. */
const WAY_OUT_MS = 0.3;

/** The lines of perf sched timehist --state: as ours, with 0.000 for what is not known. */
function perfLines(data: string): Line[] {
	const args = ['sched', '-i', data, 'timehist', '--state'];
	return linesOf(runToEnd('perf', args).stdout.replaceAll(/( [\d.]+) {3,}(\w) *$/gm, '$1  $2'));
}

test('perf sched timehist shows the same switches of the same run', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-perf-'));
	try {
		const data = join(folder, 'perf.data');
		const tracing = await Tracing.start(['timehist', '--comm', 'naps']);
		// With room for what it could not write at once: what it loses cannot be compared.
		const record = ['sched', 'record', '-m', '16M', '-k', 'CLOCK_MONOTONIC', '-o', data, '--'];
		const workload = ['build/workloads/naps', '200', '1000', '2000'];
		const recorded = runToEnd('perf', [...record, ...workload]);
		assert.equal(recorded.status, 0, recorded.stderr);
		const ours = linesOf((await tracing.end('SIGINT')).stdout);
		const theirs = perfLines(data).filter(({ name }) => name.startsWith('naps['));
		assert.ok(theirs.length >= 200, `${theirs.length}`);
		assert.ok(Math.abs(ours.length - theirs.length) <= 2, `${ours.length} ${theirs.length}`);
		let same = 0;
		for (const [i, line] of theirs.entries()) {
			const away = ({ time_us }: Line) => Math.abs(time_us - line.time_us);
			const mine = ours.reduce((a, b) => (away(b) < away(a) ? b : a));
			assert.equal(mine.name, line.name);
			// The scheduler does not read its clock again between a wake-up on an idle CPU and the switch
			// (rq_clock_skip_update), so that sched_info, and we, have none of the way out of idleness.
			const near = (a = 0, b = 0) => Math.abs(a - b) < WAY_OUT_MS;
			// Where the kernel hid who ran before, perf has that time as this thread's own; the sum is right.
			const { run_ms = 0, wait_ms = 0 } = mine;
			const sums = near(run_ms + wait_ms, (line.run_ms ?? 0) + (line.wait_ms ?? 0));
			const runs = near(run_ms, line.run_ms) || run_ms < (line.run_ms ?? 0);
			// What perf calls delay begins with a wake-up; a thread that was preempted has none.
			const woken = theirs[i - 1]?.state === 'S';
			const delays = !woken || near(mine.delay_ms, line.delay_ms);
			if (sums && runs && delays && mine.state === line.state) same++;
		}
		assert.ok(same >= 0.66 * theirs.length, `${same} of ${theirs.length}`);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('what is lost while it streams is said once, at the end, and is what the objects say', async () => {
	const churn = await Workload.start('churn', '100000000');
	const args = ['timehist', '--json', '-p', `${churn.pid}`, '--ring-kb', '4'];
	const tracing = await Tracing.start(args);
	churn.begin();
	await until(() => (tracing.stdout.match(/"lost":\{[^}]*"events_ring_full"/g) ?? []).length >= 3);
	const { stdout, stderr } = await tracing.end('SIGINT');
	const all = reportsOf(stdout).reduce((sum, { lost }) => sum + (lost.events_ring_full ?? 0), 0);
	const lines = stderr
		.replaceAll('\n      ', ' ')
		.split('\n')
		.filter((line) => line.includes('events_ring_full'));
	assert.match(lines.at(-1) ?? '', new RegExp(`^lost: ${all.toLocaleString('en')} events: `));
	// A run that a slow machine makes long has one on the way, too.
	assert.ok(lines.length <= 2, stderr);
});

test('printed and lost are all switches, however small the ring', async () => {
	const naps = await Workload.start('naps', '20000', '0', '1');
	await untilAsleep(naps.pid);
	const tracing = await Tracing.start(['timehist', '-t', `${naps.tid}`, '--ring-kb', '4']);
	const before = switches(naps.pid);
	await naps.work();
	await untilAsleep(naps.pid);
	const counted = switches(naps.pid) - before;
	const { stdout, stderr } = await tracing.end('SIGINT');
	await naps.end();
	const lost = Number(
		/lost: ([\d,]+) events: [\s\S]*?\(events_ring_full\)/.exec(stderr)?.[1]?.replaceAll(',', ''),
	);
	const printed = linesOf(stdout).length;
	assert.ok(lost > 0 && printed > 0, stderr);
	assert.equal(printed + lost, counted);
});

test('who wakes whom, who is next, where it slept, the table, CPUs as places', async () => {
	// Both of its threads on one CPU: a wake-up of a thread on another one is that one's own doing.
	const words = ['-c', '1', resolve('build/workloads/waits'), '20', '2000'];
	const waits = await Workload.startBy('taskset', ...words);
	const options = ['-w', '-n', '-g', '--summary', '--cpu-visual', '--max-depth', '16'];
	const tracing = await Tracing.start(['timehist', ...options, '-t', `${waits.tid}`]);
	await waits.work();
	const { stdout, stderr } = await tracing.end('SIGINT');
	await waits.end();
	const worker = `waits\\[${waits.tid}/${waits.pid}\\]`;
	const count = (pattern: string) => stdout.match(new RegExp(pattern, 'gm'))?.length ?? 0;
	// The main thread wakes it out of a pipe and out of a futex.
	const wakeups = count(`waits\\[${waits.pid}\\] +awakened: ${worker}$`);
	// Where threads are slow, one may come to wait for what has already happened.
	const least = process.env.TSTRACE_EMULATED ? 30 : 38;
	assert.ok(wakeups >= least && wakeups <= 41, `${wakeups}: ${stderr}`);
	const left = `\\[\\d{4}\\]  [s ]+  ${worker} .* S  next: .*(\\]|<idle>)  `;
	for (const function_ of ['do_nanosleep', 'pipe_read', 'futex_wait']) {
		const lines = count(`${left}.*${function_}`);
		assert.ok(lines >= least / 2, `${function_}: ${lines}: ${stdout}`);
	}
	assert.doesNotMatch(stdout, / <- (__schedule|bpf_)/);
	// In the table: as many switches as there are lines.
	const lines = count(`\\[\\d{4}\\]  [s ]+  ${worker} .*  next: `);
	assert.match(stdout, new RegExp(`^${worker} +${lines} `, 'm'));
	assert.match(stdout, /^1 thread, /m);
	for (const [, cpu, places = ''] of stdout.matchAll(/\[(\d{4})\] {2}([s ]+) {2}waits\[.*next:/g)) {
		assert.equal(places.indexOf('s'), Number(cpu));
	}
});

test('who is woken by a timer that came while a chosen thread ran, is not woken by that one', async () => {
	const woken = await Workload.start('woken', 'nanosleep', '200');
	const chosen = ['--comm', 'bystander', '-p', `${woken.pid}`];
	const tracing = await Tracing.start(['timehist', '-w', ...chosen]);
	await woken.work();
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	await woken.end();
	assert.equal(status, 0, stderr);
	// The two share a CPU: it had to go whenever the other one was woken, if it ran then. Other
	// threads of that CPU may have run instead.
	const turns = linesOf(stdout).filter(({ name }) => name.startsWith('bystander[')).length;
	assert.ok(turns > 20, `${turns} of 200`);
	assert.doesNotMatch(stdout, /sleeper/);
});

test('migrations, with where from and where to; alone or as rows', async () => {
	const moved = await Workload.start('moved', '10');
	const tracing = await Tracing.start(['timehist', '-M', '-t', `${moved.tid}`]);
	const rows = await Tracing.start(['timehist', '-M', '-n', '--json', '-t', `${moved.tid}`]);
	const [, , waiting = 0] = await moved.work();
	const { stdout } = await tracing.end('SIGINT');
	const json = reportsOf((await rows.end('SIGINT')).stdout).flatMap((report) => report.rows);
	await moved.end();
	const away = stdout.match(/migrated: moved\[\d+\/\d+\] cpu 0 => 1$/gm)?.length ?? 0;
	assert.ok(away >= waiting && waiting > 0, stdout);
	const events = json.filter(({ event }) => event === 'migrate');
	assert.equal(events.length, stdout.match(/migrated:/g)?.length);
	assert.ok(events.every((row) => [row.tid, row.migrated_tid].includes(moved.tid)));
	assert.ok(events.every((row) => row.to_cpu !== row.from_cpu));
	const runs = json.filter(({ event }) => event === 'switch');
	assert.ok(runs.every((row) => row.tid === moved.tid && typeof row.next_comm === 'string'));
});

test('a COMMAND, into a file; only the table; an object for each second', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-timehist-'));
	try {
		const file = join(folder, 'out.txt');
		const run = tstrace(['timehist', '-o', file, '--', 'sh', '-c', 'sleep 0.1; exit 3']);
		assert.equal(run.status, 3);
		const lines = linesOf(readFileSync(file, 'utf8'));
		assert.equal(lines.at(-1)?.state, 'X');
		// The shell, once it is what was asked for, waits for the child that sleeps.
		assert.ok(lines.some(({ name, wait_ms = 0 }) => name.startsWith('sh[') && wait_ms > 50));
		const table = tstrace(['timehist', '-S', '0.3']);
		assert.deepEqual(linesOf(table.stdout), []);
		assert.match(table.stdout, /^THREAD .* SWITCH /m);
		const reports = reportsOf(tstrace(['timehist', '--json', '2.5']).stdout);
		assert.equal(reports.length, 3);
		const rows = reports.flatMap((report) => report.rows);
		assert.ok(rows.length > 0);
		// Of several CPUs one may be late: it was stopped between its clock and the ring.
		const last = new Map<unknown, number>();
		for (const { cpu, time_ns } of rows) {
			assert.ok(Number(time_ns) >= (last.get(cpu) ?? 0));
			last.set(cpu, Number(time_ns));
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('who takes another name is not shown any more, not even as it ends', () => {
	// It works from time to time, so that it is seen to get a CPU, and to leave it.
	const work = 'for (let i = 0; i < 20; i++) await new Promise((done) => setTimeout(done, 1))';
	const node = [process.execPath, '--input-type=module', '-e', work];
	const args = [
		'timehist',
		'--comm',
		'sh',
		'--',
		'sh',
		'-c',
		'sleep 0.05; exec "$@"',
		'sh',
		...node,
	];
	const { status, stdout, stderr } = tstrace(args);
	assert.equal(status, 0, stderr);
	const lines = linesOf(stdout);
	assert.ok(lines.length > 0);
	// The one in which it executes: it leaves the CPU under its new name.
	assert.ok(lines.filter(({ name }) => !name.startsWith('sh[')).length <= 1, stdout);
});

test('who leaves the control group is not shown any more, not even as it ends', async () => {
	const mount = cgroupMount();
	assert.ok(mount, 'a cgroup2 mount is needed');
	const name = `tstrace-timehist-${process.pid}`;
	const path = join(mount, name);
	mkdirSync(path);
	const moveTo = (folder: string, pid: number) =>
		writeFileSync(join(folder, 'cgroup.procs'), `${pid}`);
	const [leaves, stays] = [
		await Workload.start('naps', '20', '100', '1000'),
		await Workload.start('naps', '30', '100', '1000'),
	];
	try {
		for (const { pid } of [leaves, stays]) moveTo(path, pid);
		const tracing = await Tracing.start(['timehist', '--json', '--cgroup', name]);
		for (const each of [leaves, stays]) await each.work();
		// It sleeps, which is known of it, and goes on only once it is elsewhere.
		await untilAsleep(leaves.pid);
		moveTo(mount, leaves.pid);
		for (const each of [leaves, stays]) await each.end();
		const { status, stdout, stderr } = await tracing.end('SIGINT');
		assert.equal(status, 0, stderr);
		const rows = reportsOf(stdout).flatMap((report) => report.rows);
		const statesOf = ({ tid }: Workload) =>
			rows.filter((row) => row.event === 'switch' && row.tid === tid).map(({ state }) => state);
		const [left, stayed] = [statesOf(leaves), statesOf(stays)];
		assert.ok(left.length >= 18 && stayed.length >= 28, `${left.length} and ${stayed.length}`);
		assert.deepEqual([left.includes('X'), left.at(-1)], [false, 'S'], left.join());
		assert.deepEqual([stayed.filter((state) => state === 'X').length, stayed.at(-1)], [1, 'X']);
	} finally {
		for (const pid of readFileSync(join(path, 'cgroup.procs'), 'utf8').trim().split('\n')) {
			if (pid) moveTo(mount, Number(pid));
		}
		rmdirSync(path);
	}
});

test('options that would do nothing are refused', () => {
	const cases = [
		...['-w', '-M', '-n', '-g', '--cpu-visual', '--wall-clock'].map((option) => ({
			args: ['-S', option],
			says: /--summary-only shows no lines/,
		})),
		{ args: ['--max-depth', '4'], says: /add -g/ },
		{ args: ['--json', '--summary'], says: /--summary is for text, not JSON/ },
	];
	for (const { args, says } of cases) {
		const { status, stderr } = tstrace(['timehist', ...args, '1']);
		assert.equal(status, 2);
		assert.match(stderr, says);
	}
});
