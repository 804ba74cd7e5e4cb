/** Fields of timehist beside the durations: what is not known, whole stacks, times of one clock, from and to. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { Tracing, until, Workload } from './support.js';
import { linesOf } from './timehist-lines.js';

interface Row {
	readonly event: string;
	readonly time_ns: number;
	readonly cpu: number;
	readonly tid?: number;
	readonly woken_tid?: number;
	readonly wait_ns?: number;
	readonly delay_ns?: number;
	readonly run_ns?: number;
	readonly state?: string;
	readonly stack?: string;
	readonly migrated_tid?: number;
	readonly from_cpu?: number;
	readonly to_cpu?: number;
}

const rowsOf = (stdout: string): Row[] =>
	reportsOf(stdout).flatMap(({ rows }) => rows as unknown as Row[]);

const asleep = (pid: number) => / S /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

test('of a thread that slept before tracing began, nobody knows how long: no number, and no 0', async () => {
	for (const json of [true, false]) {
		const naps = await Workload.start('naps', '20', '100', '1000');
		await until(() => asleep(naps.pid));
		const args = ['timehist', '-t', `${naps.tid}`, ...(json ? ['--json'] : [])];
		const tracing = await Tracing.start(args);
		await naps.work();
		const { stdout } = await tracing.end('SIGINT');
		await naps.end();
		const waits = json
			? rowsOf(stdout).map(({ wait_ns }) => wait_ns)
			: linesOf(stdout).map(({ wait_ms }) => wait_ms);
		assert.ok(waits.length >= 20);
		assert.equal(waits[0], undefined);
		// Those in between are known, unless the kernel hid a switch.
		assert.ok(waits.slice(1).filter((wait) => wait !== undefined).length >= waits.length / 2);
	}
});

test('stacks are of their own event: each ends in the one function that all calls begin with', async () => {
	const waits = await Workload.start('waits', '3000', '200');
	// Room for 17: later events are written over older ones.
	const args = ['timehist', '--json', '-g', '--max-depth', '16', '--ring-kb', '4'];
	const tracing = await Tracing.start([...args, '-t', `${waits.tid}`]);
	await waits.work();
	const { stdout } = await tracing.end('SIGINT');
	await waits.end();
	// Those of a thread that blocked: one that is preempted was interrupted, with any stack.
	const stacks = rowsOf(stdout).filter(({ state }) => state === 'S' || state === 'D');
	// Two rings full, even where tstrace hardly gets a CPU to look.
	assert.ok(stacks.length > 34, `${stacks.length} stacks`);
	const frames = stacks.map(({ stack = '' }) => stack.split(' <- '));
	const [root] = frames[0]?.slice(-1) ?? [];
	assert.ok(root);
	const depths = new Set<number>();
	for (const stack of frames) {
		assert.equal(stack.indexOf(root), stack.length - 1, stack.join(' <- '));
		depths.add(stack.length);
	}
	assert.ok(depths.size > 1, 'some are deeper than others');
});

test('time slices begin as long after the wake-up as their latency says: all times are of one clock', async () => {
	const naps = await Workload.start('naps', '1000', '0', '3000');
	const args = ['timehist', '--json', '-w', '-t', `${naps.tid}`];
	const tracing = await Tracing.start(args);
	await naps.work();
	const rows = rowsOf((await tracing.end('SIGINT')).stdout);
	await naps.end();
	const wakeups = rows.filter(
		({ event, woken_tid }) => event === 'wakeup' && woken_tid === naps.tid,
	);
	const slices = rows.filter(({ event, tid }) => event === 'switch' && tid === naps.tid);
	assert.ok(wakeups.length > 900 && slices.length > 900);
	// By CLOCK_MONOTONIC; those of switches are calculated from the scheduler's clock.
	const off_ns = slices.slice(-500).map(({ time_ns, run_ns = 0, delay_ns = 0 }) => {
		const woken_ns = time_ns - run_ns - delay_ns;
		return Math.min(...wakeups.map((wakeup) => Math.abs(wakeup.time_ns - woken_ns)));
	});
	const [median = 0] = off_ns.sort((a, b) => a - b).slice(250);
	assert.ok(median < 300_000, `${median} ns apart`);
});

test('who was moved, and from where to where', async () => {
	const moved = await Workload.start('moved', '10');
	const tracing = await Tracing.start(['timehist', '-M', '--json', '-t', `${moved.tid}`]);
	await moved.work();
	const rows = rowsOf((await tracing.end('SIGINT')).stdout);
	await moved.end();
	const moves = rows.filter(({ migrated_tid }) => migrated_tid === moved.tid);
	const slices = rows.filter(({ event, tid }) => event === 'switch' && tid === moved.tid);
	assert.ok(moves.length >= 10);
	for (const [i, { time_ns, from_cpu, to_cpu }] of moves.entries()) {
		assert.notEqual(from_cpu, to_cpu);
		const until_ns = moves[i + 1]?.time_ns ?? Number.POSITIVE_INFINITY;
		const before = slices.filter((slice) => slice.time_ns < time_ns).at(-1);
		const after = slices.find((slice) => slice.time_ns > time_ns);
		// It ran where it was, and then where it came to, unless it was moved again before that.
		if (i > 0) assert.equal(from_cpu, moves[i - 1]?.to_cpu);
		else if (before) assert.equal(before.cpu, from_cpu);
		if (after && after.time_ns < until_ns) assert.equal(after.cpu, to_cpu);
	}
});

/** Sleeps on one CPU, and then on the other. */
const TO_AND_FRO = `
import os, sys, time
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
for i in range(40):
    os.sched_setaffinity(0, {i % 2})
    time.sleep(0.002)
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('-C: lines are those of this CPU in a trace of all, with what was before on another one', async () => {
	const goes = await Workload.startBy('python3', '-c', TO_AND_FRO);
	const trace = (...more: readonly string[]) =>
		Tracing.start(['timehist', '--json', '-t', `${goes.tid}`, ...more]);
	const [everywhere, here] = [await trace(), await trace('-C', '1')];
	await goes.work();
	const [all, some] = [await everywhere.end('SIGINT'), await here.end('SIGINT')].map(({ stdout }) =>
		rowsOf(stdout).filter(({ event, tid }) => event === 'switch' && tid === goes.tid),
	);
	await goes.end();
	assert.ok(all && some && some.length >= 20);
	const known = ({ wait_ns }: Row) => wait_ns !== undefined;
	// By the same clock, which each has read for itself.
	for (const row of some.slice(1)) {
		assert.equal(row.cpu, 1);
		const same: Row | undefined = all.find(
			({ time_ns, cpu }) => cpu === 1 && Math.abs(time_ns - row.time_ns) < 2e5,
		);
		assert.ok(same, `none at ${row.time_ns}`);
		assert.equal(known(row), known(same), JSON.stringify([row, same]));
		const off_ns = Math.abs((row.wait_ns ?? 0) - (same.wait_ns ?? 0));
		assert.ok(off_ns < 4e5, `${off_ns} ns: ${JSON.stringify([row, same])}`);
	}
});

test('what a new thread waits for its first CPU is time off the CPU, too', async () => {
	const THREADS = 200;
	const churn = await Workload.start('churn', `${THREADS}`);
	const tracing = await Tracing.start(['timehist', '--json', '-w', '-p', `${churn.pid}`]);
	await churn.work();
	const rows = rowsOf((await tracing.end('SIGINT')).stdout);
	await churn.end();
	const first = new Map<number, Row>();
	for (const row of rows) {
		const { event, tid = 0 } = row;
		if (event === 'switch' && tid !== churn.pid && !first.has(tid)) first.set(tid, row);
	}
	// And who begins a thread is who wakes it.
	const begun = rows.filter(
		({ event, tid, woken_tid = 0 }) =>
			event === 'wakeup' && tid === churn.pid && first.has(woken_tid),
	);
	const woken = new Set(begun.map(({ woken_tid }) => woken_tid));
	assert.ok(woken.size >= 0.95 * first.size, `${woken.size} of ${first.size}`);
	const waits = [...first.values()].filter(({ delay_ns = 0 }) => delay_ns > 0);
	assert.ok(waits.length > THREADS / 2, `${waits.length} of ${first.size}`);
	for (const { wait_ns = 0, delay_ns = 0, tid } of waits)
		assert.ok(wait_ns >= delay_ns, `${tid}: ${wait_ns} ns off the CPU, ${delay_ns} of them queued`);
});
