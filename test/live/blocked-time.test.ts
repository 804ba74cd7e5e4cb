/** Blocked time with who ended it: offwaketime and wakeuptime, where both are known by construction. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { walksByTables } from '../../src/bpf/stacks/stacks.js';
import { ringBufferMissing } from '../../src/loader/realtime.js';
import { errorOf, foldedLines, type JsonStack, near, stackReport, sumOf } from './stacks.js';
import { Tracing, tstrace, until, Workload } from './support.js';
import { TIMER_CONTEXT } from './timer-context.js';

const COUNT = 100;
const NAP_NS = 2e6;
/** Who calls the C library. Without a ring buffer, walks go by frame pointers, and the library hides its caller. */
const WAKES = ringBufferMissing() === undefined ? 'wake' : 'main';
/** Where an interrupt begins, on x86-64 and arm64; what it interrupted is not shown. */
const ENTRY = /^(asm_sysvec_\w+|asm_common_interrupt|el[01][ht]_64_irq)$/;

/** What a tool says of the thread "sleeper", which is woken COUNT times in one way. */
async function traced(tool: string, way: string, ...options: readonly string[]) {
	const woken = await Workload.start('woken', way, `${COUNT}`);
	const args = [tool, '-v', '--json', '--no-edges', '-L', '-p', `${woken.pid}`, ...options];
	const tracing = await Tracing.start(args);
	// On a slow machine they are not there as tracing begins, and stacks would be cut.
	if (walksByTables({ user: true, unwind: 'tables' }))
		await tracing.says(/has read the unwind tables of/);
	await woken.work();
	const { stacks } = stackReport(await tracing.end('SIGINT'));
	await woken.end();
	return { stacks, pid: woken.pid, sleeps: stacks.filter(({ key }) => key.tid === woken.tid) };
}

/** The first wait is for the byte to begin, which the main thread sends in any case. */
const atMostOne = (stacks: readonly JsonStack[]) => assert.ok(sumOf(stacks, 'count') <= 1);

for (const way of ['nanosleep', 'timerfd'])
	test(`offwaketime: woken by ${way}: the timer's interrupt, without what it interrupted`, async () => {
		const { sleeps } = await traced('offwaketime', way, '--exact');
		const timed = sleeps.filter(({ wait }) => wait?.waker?.irq === 'timer');
		atMostOne(sleeps.filter((stack) => !timed.includes(stack)));
		// On a busy machine a period of a timerfd may pass while the thread does not get to sleep.
		if (way === 'nanosleep') {
			near(sumOf(timed, 'count'), COUNT, 0.1 * COUNT, 'wake-ups');
			assert.ok(sumOf(timed) > 0.9 * COUNT * NAP_NS);
		}
		assert.ok(timed.length > 0);
		for (const { wait: { waker } = {} } of timed) {
			assert.equal(waker?.context, TIMER_CONTEXT);
			if (TIMER_CONTEXT === 'softirq') continue;
			assert.equal(waker?.comm, '<irq: timer>');
			assert.ok(!waker?.pid && !waker?.kinds?.includes('u'), JSON.stringify(waker));
			assert.match(waker?.frames?.[0] ?? '', ENTRY);
			assert.ok(waker?.frames?.includes('__hrtimer_run_queues'), JSON.stringify(waker));
		}
	});

test('offwaketime: an interrupt has no part of the stack that it interrupts, nor is it cut for that', async () => {
	// Any program's stack is deeper than that, the bystander's too, which the timer interrupts.
	const { sleeps } = await traced('offwaketime', 'nanosleep', '--exact', '--max-depth', '1');
	const interrupts = sleeps.flatMap(({ wait }) =>
		wait?.waker?.irq && !wait.waker.tid ? [wait.waker] : [],
	);
	assert.ok(interrupts.length > 0, JSON.stringify(sleeps));
	for (const { kinds, cut } of interrupts) {
		assert.doesNotMatch(kinds ?? '', /u/);
		assert.equal(cut, undefined);
	}
});

for (const [way, call] of [
	['pipe', 'write'],
	['futex', 'syscall'],
	['udp', 'send'],
] as const)
	test(`offwaketime: woken by ${way}: the thread on the other CPU, in the function that does it`, async () => {
		const { sleeps, pid } = await traced('offwaketime', way, '--exact');
		const byMain = sleeps.filter(({ wait }) => wait?.waker?.tid === pid);
		near(sumOf(byMain, 'count'), COUNT, 2, 'wake-ups');
		// The main thread may be so quick that the sleeper is not yet off its CPU, and nobody sees the waker.
		const others = sleeps.filter((stack) => !byMain.includes(stack));
		assert.ok(sumOf(others, 'count') <= 2, JSON.stringify(others));
		const inWake = byMain.filter(({ wait }) => wait?.waker?.frames?.includes(WAKES));
		const elsewhere = byMain.find((stack) => !inWake.includes(stack))?.wait?.waker;
		near(
			sumOf(inWake, 'count'),
			COUNT,
			2,
			`wake-ups in ${WAKES}(), not ${JSON.stringify(elsewhere)}`,
		);
		for (const { wait: { waker } = {}, frames } of inWake) {
			assert.equal(waker?.comm, 'woken');
			assert.ok(waker?.frames?.includes('main'), 'the way from main');
			assert.ok(
				waker?.frames?.some((name) => name.includes(call)),
				`${call} is missing in ${waker?.frames}`,
			);
			// Neither the tracepoint's own frames nor the sleeper's.
			assert.ok(!waker?.frames?.some((name) => /^(bpf_|__traceiter_)|sleep_often/.test(name)));
			assert.ok(frames.includes('sleep_often') && !frames.includes('main'));
		}
	});

test('wakeuptime: the waker is whose stack it is, and its leaf says whom it wakes', async () => {
	const { stacks, pid } = await traced('wakeuptime', 'pipe', '--exact');
	const wakes = stacks.filter(({ frames }) => frames.at(-1) === 'wakes sleeper');
	const byMain = wakes.filter(({ key, frames }) => key.tid === pid && frames.includes('wake'));
	near(sumOf(byMain, 'count'), COUNT, 2, 'wake-ups');
	for (const { key, frames } of byMain) {
		assert.equal(key.comm, 'woken');
		assert.ok(frames.indexOf('main') < frames.indexOf('wake'));
	}
});

test('sampled: blocked time is that of every wait, within its error', async () => {
	const pairs = await Workload.start('woken', 'pipe', '5000');
	const pid = `${pairs.pid}`;
	const args = ['offwaketime', '--json', '-L', '-p', pid, '--no-edges'];
	const every = await Tracing.start([...args, '--exact']);
	const sampled = await Tracing.start(args);
	await pairs.work();
	const ofSleeper = ({ key }: JsonStack) => key.tid === pairs.tid;
	const woken = stackReport(await sampled.end('SIGINT')).stacks.filter(ofSleeper);
	const all = stackReport(await every.end('SIGINT')).stacks.filter(ofSleeper);
	await pairs.end();
	const error = errorOf(woken);
	assert.ok(error > 0, 'some waits are shorter than the period');
	const inSleep = ({ frames }: JsonStack) => frames.includes('sleep_once');
	const waits = woken.filter(inSleep);
	near(sumOf(waits), sumOf(all.filter(inSleep)), 4 * error, 'blocked time');
	const known = waits.filter(({ wait }) => wait?.waker?.frames?.includes(WAKES));
	assert.ok(sumOf(known) > 0.98 * sumOf(waits), 'each that counts has its waker');
});

test('text says who woke whom; folded stacks go on with the waker, from where it woke to its name', async () => {
	const woken = await Workload.start('woken', 'pipe', `${COUNT}`);
	const args = ['offwaketime', '--exact', '--no-edges', '-p', `${woken.pid}`];
	const text = await Tracing.start([...args, '--format', 'text']);
	const folded = await Tracing.start(args);
	await woken.work();
	const { stdout } = await text.end('SIGINT');
	const lines = foldedLines((await folded.end('SIGINT')).stdout);
	await woken.end();
	assert.match(
		stdout,
		/pipe[^\n]* {2}sleeper[^\n]*\n( {4}.*\n)+ {4}woken by woken \(\d+\)\n {4}\S/,
	);
	const [frames] = lines.find(([each]) => each.includes('wake')) ?? assert.fail('no wake');
	assert.equal(frames[0], 'sleeper');
	const at = frames.indexOf('--');
	assert.ok(frames.indexOf('sleep_once') < at && at < frames.indexOf('wake'));
	assert.ok(frames.indexOf('wake') < frames.indexOf('main'));
	assert.equal(frames.at(-1), 'woken');
});

test("offcputime --by waker: blocked time is the waker's, all other time is not", async () => {
	const woken = await Workload.start('woken', 'pipe', `${COUNT}`);
	const args = ['offcputime', '--exact', '--no-edges', '--by', 'waker', '-p', `${woken.pid}`];
	const json = await Tracing.start([...args, '--json']);
	const text = await Tracing.start([...args, '--format', 'text']);
	await woken.work();
	const { stacks } = stackReport(await json.end('SIGINT'));
	const { stdout } = await text.end('SIGINT');
	await woken.end();
	const ofSleeper = stacks.filter(({ key }) => key.comm === 'sleeper');
	const byMain = ofSleeper.filter(({ wait }) => wait?.waker?.pid === woken.pid);
	near(sumOf(byMain, 'count'), COUNT, 2, 'wake-ups');
	assert.ok(sumOf(byMain) > 0.98 * sumOf(ofSleeper, 'blocked'), JSON.stringify(ofSleeper));
	for (const { key, wait: { waker } = {}, run_queue, preempted } of byMain) {
		assert.deepEqual([key.kind, key.waker], [undefined, `woken (${woken.pid})`]);
		assert.equal(waker?.comm, 'woken');
		assert.equal(run_queue + preempted, 0);
		assert.ok(!waker?.frames, 'only who it is');
	}
	for (const { key, blocked, wait } of ofSleeper.filter((stack) => !byMain.includes(stack)))
		if (key.waker === 'run queue' || key.waker === 'preempted') assert.ok(!blocked && !wait);
	assert.match(stdout, /WOKEN BY/);
	assert.match(stdout, new RegExp(` woken \\(${woken.pid}\\) +\\d+ % +sleeper`));
});

test('offwaketime: who is blocked all the time has not been woken, and --no-edges leaves that out', async () => {
	const woken = await Workload.start('woken', 'pipe', `${COUNT}`);
	const trace = (...options: readonly string[]) =>
		stackReport(tstrace(['offwaketime', '--json', '-L', '-p', `${woken.pid}`, ...options, '0.3']));
	const { stacks } = trace();
	const none = trace('--no-edges').stacks;
	await woken.end();
	const sleeps = stacks.filter(({ key }) => key.tid === woken.tid);
	assert.ok(sumOf(sleeps) > 0.1e9);
	for (const { wait } of sleeps) assert.deepEqual(wait?.waker, { comm: '[not woken yet]' });
	assert.deepEqual(none, []);
});

for (const by of ['kind,waker', 'object,waker', 'kind,object,waker'])
	test(`offcputime --by ${by}: what was waited for, and by whom that was ended, in one line`, async () => {
		const woken = await Workload.start('woken', 'pipe', `${COUNT}`);
		const args = ['offcputime', '--exact', '--no-edges', '--by', by, '-p', `${woken.pid}`];
		const json = await Tracing.start([...args, '--json']);
		const text = await Tracing.start([...args, '--format', 'text']);
		const folded = await Tracing.start(args);
		await woken.work();
		const all = stackReport(await json.end('SIGINT')).stacks;
		const { stdout } = await text.end('SIGINT');
		const lines = foldedLines((await folded.end('SIGINT')).stdout);
		await woken.end();
		const object = `pipe read ← woken (${woken.pid})`;
		const names = by.split(',').map((name) => ({ kind: 'pipe', object })[name]);
		const who = [...names.filter((name) => name !== undefined), `woken (${woken.pid})`];
		// The main thread waits for the sleeper to end.
		const stacks = all.filter(({ key }) => key.comm === 'sleeper');
		const rows = stacks.filter(({ wait }) => wait?.waker?.pid === woken.pid);
		near(sumOf(rows, 'count'), COUNT, 2, 'wake-ups');
		for (const { key, wait } of rows) {
			const { kind, object: of, waker } = key;
			assert.deepEqual([kind, of, waker].filter(Boolean), who);
			assert.deepEqual(
				[kind !== undefined, of !== undefined],
				[/kind/.test(by), /object/.test(by)],
			);
			assert.equal(wait?.kind, 'pipe');
		}
		// What could run waits for nothing, and nobody ends that. The bystander is preempted each
		// time; the sleeper is in the run queue for no time where the kernel switches at once.
		const ready = all.filter(({ run_queue, preempted }) => run_queue + preempted > 0);
		assert.ok(sumOf(ready, 'preempted') > 0);
		for (const { key, wait, run_queue } of ready) {
			assert.equal(key.waker, run_queue > 0 ? '[run queue]' : '[preempted]');
			assert.equal(wait, undefined);
		}
		const [first = ''] = who;
		const shown = first.slice(0, 8).replace(/[(]/g, '\\(');
		assert.match(stdout, new RegExp(`^ *[\\d.]+ m?s .* ${shown}.* woken .*slee`, 'm'));
		for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
		const roots = lines.map(([frames]) => frames.slice(0, who.length + 1));
		assert.ok(
			roots.some((root) => root.join() === [...who, 'sleeper'].join()),
			roots.join('\n'),
		);
	});

test('wakeuptime: of stacks that it does not show nothing is said, also of waits that go on', async () => {
	const sleep = spawn('sleep', ['100']);
	const pid = `${sleep.pid}`;
	try {
		await until(() => / S /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));
		for (const [tool, isSaid] of [
			['offwaketime', true],
			['wakeuptime', false],
		] as const) {
			const tracing = await Tracing.start([tool, '--json', '-p', pid]);
			const { stacks, notices } = stackReport(await tracing.end('SIGINT'));
			assert.ok(stacks.length > 0);
			// Debian's programs are stripped.
			const unnamed = notices.filter((text) => /\/sleep has functions without names/.test(text));
			assert.equal(unnamed.length > 0, isSaid, `${tool}: ${notices}`);
		}
	} finally {
		sleep.kill();
	}
});

/** Two threads wake a third one in turn, for which they have no more to do. */
const TWO_WAKERS = `
import ctypes, os, sys, threading, time
hears, tells = os.pipe()
def wake(name):
    ctypes.CDLL(None).prctl(15, name)
    for _ in range(${COUNT}):
        time.sleep(0.002)
        os.write(tells, b'x')
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
for name in b'its-waker-1', b'its-waker-2': threading.Thread(target=wake, args=(name,)).start()
for _ in range(2 * ${COUNT}): os.read(hears, 1)
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('wakers of one process whose names begin alike are told apart', async () => {
	const python = await Workload.startBy('python3', '-c', TWO_WAKERS);
	const args = ['offcputime', '--exact', '--no-edges', '--json', '--by', 'kind,waker'];
	const tracing = await Tracing.start([...args, '-p', `${python.pid}`]);
	await python.work();
	const { stacks } = stackReport(await tracing.end('SIGINT'));
	await python.end();
	const pipes = stacks.filter(({ key }) => key.kind === 'pipe');
	for (const name of ['its-waker-1', 'its-waker-2']) {
		const its = pipes.filter(({ key }) => key.waker === `${name} (${python.pid})`);
		// The other one may be so soon that nobody sleeps.
		assert.ok(sumOf(its, 'count') > COUNT / 2, JSON.stringify(pipes.map(({ key }) => key)));
	}
});
