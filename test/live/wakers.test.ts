/** Who wakes and moves threads, where that is known by construction; no bystander is ever named. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { Tracing, tstrace, Workload } from './support.js';
import { isRealtimeHere, TIMER_CONTEXT } from './timer-context.js';

type Row = Readonly<Record<string, string | number>>;

interface Seen {
	readonly rows: readonly Row[];
	/** Wake-ups of the thread "sleeper", since it began. */
	readonly wakeups: readonly Row[];
	readonly pid: number;
	readonly sleeper: number;
	readonly bystander: number;
}

const COUNT = 100;

async function seenOf(way: string, ...options: readonly string[]): Promise<Seen> {
	const woken = await Workload.start('woken', way, `${COUNT}`);
	const tracing = await Tracing.start(['timehist', '--json', ...options, '-p', `${woken.pid}`]);
	const [bystander = 0] = await woken.work();
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	await woken.end();
	assert.equal(status, 0, stderr);
	const rows = reportsOf(stdout).flatMap((report) => report.rows as Row[]);
	const wakeups = rows.filter((row) => row.event === 'wakeup' && row.woken_tid === woken.tid);
	return { rows, wakeups, pid: woken.pid, sleeper: woken.tid, bystander };
}

/** How often each waker is there, without what differs each time. */
function wakersOf(wakeups: readonly Row[]): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const { waker_context, waker_irq = '', tid = '' } of wakeups) {
		const waker = `${waker_context} ${waker_irq} ${tid}`;
		counts[waker] = (counts[waker] ?? 0) + 1;
	}
	return counts;
}

/**
 * Neither of the threads is named as the one that did what an interrupt did meanwhile, or the scheduler; but for
 * the sleeper's end, for which the main thread waits. Before 5.18 the next thread on a CPU frees the
 * stack of one that has ended, and may wake a kworker for that.
 */
function assertBlameless({ rows, pid, sleeper, bystander }: Seen): void {
	const blamed = rows.filter(
		(row) =>
			row.event !== 'switch' &&
			!`${row.woken_comm}`.startsWith('kworker/') &&
			// There whoever frees memory wakes a thread of RCU's.
			!(isRealtimeHere && `${row.woken_comm}`.startsWith('rcuc/')) &&
			(row.tid === bystander || (row.tid === sleeper && row.woken_tid !== pid)),
	);
	assert.deepEqual(blamed, []);
}

for (const way of ['nanosleep', 'timerfd']) {
	test(`woken by ${way}: the timer is named, not the thread that it interrupts`, async () => {
		const seen = await seenOf(way, '-w');
		const { wakeups } = seen;
		assertBlameless(seen);
		const ofTimer = wakeups.filter((row) => row.waker_irq === 'timer');
		// The first is the main thread's, by which it begins; a period of a timerfd may pass unslept.
		assert.ok(ofTimer.length >= 0.9 * COUNT && ofTimer.length <= COUNT, `${ofTimer.length}`);
		assert.ok(wakeups.length - ofTimer.length <= 1, JSON.stringify(wakersOf(wakeups)));
		for (const row of ofTimer) {
			assert.equal(row.waker_context, TIMER_CONTEXT);
			assert.ok(!('pid' in row || 'tid' in row || 'comm' in row), JSON.stringify(row));
		}
	});
}

for (const [way, by] of [
	['pipe', 'a pipe'],
	['futex', 'a futex'],
	['quiet', 'a pipe, on a CPU that is idle'],
] as const) {
	test(`woken by ${by}: each wake-up is that of the thread on the other CPU`, async () => {
		const seen = await seenOf(way, '-w');
		const { wakeups, pid } = seen;
		assertBlameless(seen);
		// And the one by which it begins.
		assert.deepEqual(wakersOf(wakeups), { [`thread  ${pid}`]: COUNT + 1 });
	});
}

test('of a thread that is chosen alone: whom it wakes', async () => {
	const woken = await Workload.start('woken', 'pipe', `${COUNT}`);
	const tracing = await Tracing.start(['timehist', '--json', '-w', '-t', `${woken.pid}`]);
	await woken.work();
	const { stdout } = await tracing.end('SIGINT');
	await woken.end();
	const rows = reportsOf(stdout).flatMap((report) => report.rows as Row[]);
	const wakeups = rows.filter((row) => row.event === 'wakeup' && row.woken_tid === woken.tid);
	assert.deepEqual(wakersOf(wakeups), { [`thread  ${woken.pid}`]: COUNT + 1 });
});

test('woken by UDP on the loopback device: the sender is named, or the network, nobody else', async () => {
	const seen = await seenOf('udp', '-w');
	const { wakeups, pid } = seen;
	assertBlameless(seen);
	const { [`softirq network ${pid}`]: sender = 0, ...others } = wakersOf(wakeups);
	// Where ksoftirqd, or an interrupt of a network device, takes the packet.
	const { 'softirq network ': network = 0, ...rest } = others;
	assert.equal(sender + network, COUNT, JSON.stringify(others));
	assert.ok(sender >= COUNT / 2, `${sender}`);
	assert.deepEqual(rest, { [`thread  ${pid}`]: 1 });
});

test('who has sent to its own machine once wakes nobody that other softirqs of its CPU wake', async () => {
	const send = 'echo x > /dev/udp/127.0.0.1/9';
	const spin = 'end=$((SECONDS + 2)); while ((SECONDS < end)); do :; done';
	const script = `echo "ready $$ $$"; read -rn 1; ${send}; ${spin}; echo "done 0"; read -rn 1`;
	const sender = await Workload.startBy('taskset', '-c', '0', 'bash', '-c', script);
	const tracing = await Tracing.start(['timehist', '--json', '-w']);
	await sender.work();
	const { stdout } = await tracing.end('SIGINT');
	await sender.end();
	const rows = reportsOf(stdout).flatMap((report) => report.rows as Row[]);
	const softirqs = rows.filter(
		({ event, cpu, waker_context }) =>
			event === 'wakeup' && cpu === 0 && String(waker_context).startsWith('softirq'),
	);
	// The kernel's own threads sleep by timers, which a softirq ends.
	assert.ok(softirqs.length > 10, `${softirqs.length}`);
	const byIt = softirqs.filter(
		({ pid, waker_irq }) => pid === sender.pid && waker_irq !== 'network',
	);
	assert.deepEqual(byIt, []);
});

/** How often each interrupt came, by its number. */
function interruptCounts(): Map<number, number> {
	const lines = readFileSync('/proc/interrupts', 'utf8').matchAll(/^ *(\d+):((?: +\d+)+)/gm);
	return new Map(
		[...lines].map(([, number, counts = '']) => [
			Number(number),
			counts
				.trim()
				.split(/ +/)
				.map(Number)
				.reduce((sum, count) => sum + count, 0),
		]),
	);
}

test('a device that wakes somebody is one whose interrupt came', async (t) => {
	const before = interruptCounts();
	const { stdout } = tstrace(['timehist', '--json', '-w', '2']);
	const after = interruptCounts();
	const rows = reportsOf(stdout).flatMap((report) => report.rows as Row[]);
	const numbers = rows
		.filter((row) => row.waker_irq === 'device')
		.map((row) => row.waker_irq_number);
	if (numbers.length === 0) return t.skip('no device has woken anybody');
	for (const number of numbers.map(Number))
		assert.ok((after.get(number) ?? 0) > (before.get(number) ?? 0), `${number}`);
});

test('a thread that leaves its CPU idle does not move the threads that the scheduler fetches', async () => {
	const seen = await seenOf('idle', '-M');
	const { rows, pid } = seen;
	assertBlameless(seen);
	const moves = rows.filter((row) => row.event === 'migrate' && row.migrated_pid === pid);
	assert.ok(moves.length > 0);
	assert.ok(moves.every((row) => row.mover_context !== undefined));
});

test('as text: what an interrupt serves stands where threads have their names', async () => {
	const woken = await Workload.start('woken', 'nanosleep', '20');
	const tracing = await Tracing.start(['timehist', '-w', '-p', `${woken.pid}`]);
	await woken.work();
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	await woken.end();
	assert.equal(status, 0, stderr);
	const sleeper = `sleeper\\[${woken.tid}/${woken.pid}\\]`;
	const line = new RegExp(`\\] {2}<irq: timer> {19} +awakened: ${sleeper}$`, 'gm');
	const count = stdout.match(line)?.length ?? 0;
	assert.ok(count >= 18 && count <= 20, stdout);
	assert.doesNotMatch(stdout, /bystander.*awakened/);
});
