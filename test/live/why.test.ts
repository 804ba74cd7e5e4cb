/** why: its account is all of the time; what it says where there is little to say. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { seenWholly } from './reports.js';
import { SLACK } from './stacks.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';
import { schedstat } from './times.js';
import { near, type Report, total, why } from './why-reports.js';

const NAP_NS = 1e8;
/** Below it there is no verdict. */
const TOO_SHORT_NS = 50e6;
/** On its CPU, while tstrace looks. */
const RUN_NS = 3e8;
const WAKEUPS = 2000;
/** From one reading of a clock to the next, for one moment. */
const READING_NS = 2000;

test('threads that begin and end within the window: all of their time, and theirs only', () => {
	const { account, wall_ns, window_ns, threads, stacks, worst } = seenWholly(() =>
		why(...['--follow', '--', 'sh', '-c', 'for i in 1 2 3 4 5; do sleep 0.1; done']),
	);
	assert.equal(threads, 6, 'a shell and five that sleep');
	near(total(account), wall_ns, 0.001, 'the account');
	near(
		stacks.reduce((sum, { value }) => sum + value, 0) +
			total(account.filter(({ place }) => place === 'not_seen')),
		wall_ns,
		0.001,
		'the stacks',
	);
	const naps = account.filter(({ place, kind }) => place === 'waiting' && kind === 'sleep');
	// Where programs are slow it is later that they see the thread wake up.
	near(total(naps), 5 * NAP_NS, 0.03 * SLACK, 'sleep');
	assert.equal(
		naps.reduce((sum, { count }) => sum + count, 0),
		5,
	);
	const longest = worst.filter(({ comm, kind }) => comm === 'sleep' && kind === 'sleep');
	assert.equal(new Set(longest.map(({ tid }) => tid)).size, 5);
	assert.equal(longest.length, 5);
	const inTime = longest.sort((a, b) => a.begin_s - b.begin_s);
	for (const [i, { begin_s, duration_ns }] of inTime.entries()) {
		near(duration_ns, NAP_NS, 0.2 * SLACK, 'a nap');
		const before = inTime[i - 1];
		// One after the other.
		if (before) assert.ok(begin_s > before.begin_s + before.duration_ns / 1e9);
		assert.ok(begin_s >= 0 && begin_s + duration_ns / 1e9 <= window_ns / 1e9);
	}
	// The shell waits for each, and what these did is told already.
	const forThem = account.filter(({ kind, for_traced }) => kind === 'child' && for_traced);
	assert.ok(total(forThem) >= 5 * NAP_NS, `${total(forThem)}`);
	// The shell is there from the first nap to the last, each of the others for a nap; and nobody else.
	const [first, last] = [inTime[0], inTime.at(-1)];
	assert.ok(first && last);
	const shell_ns = (last.begin_s - first.begin_s) * 1e9 + last.duration_ns;
	assert.ok(wall_ns >= shell_ns + 5 * NAP_NS, `${wall_ns}, of which the shell ${shell_ns}`);
	assert.ok(wall_ns <= 2 * window_ns, `${wall_ns} of ${window_ns}`);
});

test('thousands of threads that wait all the time: none for longer than the window', async () => {
	const threads = 3000;
	const workload = await Workload.start('crowd', `${threads}`, '1', '60000000');
	workload.begin();
	const tasks = `/proc/${workload.pid}/task`;
	const isAsleep = (tid: string) =>
		readFileSync(join(tasks, tid, 'wchan'), 'utf8').includes('nanosleep');
	await until(() => readdirSync(tasks).filter(isAsleep).length === threads);
	const { window_ns, wall_ns, account, ...report } = why('-p', `${workload.pid}`, '1');
	process.kill(workload.pid, 'SIGKILL');
	assert.equal(report.threads, threads + 1);
	assert.equal(report.excess_ns, 0);
	near(total(account), wall_ns, 0.001, 'the account');
	near(wall_ns, (threads + 1) * window_ns, 0.001, 'all of the window, of each thread');
	for (const { kind, max } of account) assert.ok((max ?? 0) <= window_ns, `${kind}: ${max}`);
	const [sleep] = account.filter(({ kind }) => kind === 'sleep');
	assert.deepEqual([sleep?.count, sleep?.max], [threads, window_ns]);
});

test('a process that ends: the verdict is of the time that it had', async () => {
	const workload = await Workload.start('hog', '0');
	const tracing = await Tracing.start(['why', '--json', '-p', `${workload.pid}`, '60']);
	const ran_ns = () =>
		Number(readFileSync(`/proc/${workload.pid}/schedstat`, 'utf8').split(' ')[0]);
	const before_ns = ran_ns();
	await until(() => ran_ns() >= before_ns + RUN_NS);
	await workload.end();
	const { stdout, status } = await tracing.end();
	assert.equal(status, 0);
	const { wall_ns, rule, account } = JSON.parse(stdout) as Report;
	assert.equal(rule === 'on CPU' || rule === 'too few CPUs', true, rule);
	assert.ok(wall_ns >= RUN_NS && wall_ns < 60e9, `${wall_ns}`);
	near(total(account), wall_ns, 0.001, 'the account');
});

test('who is woken on an idle CPU: the run queue is what the kernel counts, the rest is the wake-up of the CPU', async (t) => {
	if (availableParallelism() < 2) return t.skip('there is one CPU only');
	const workload = await Workload.start('wakeups', `${WAKEUPS}`, 'apart');
	const tracing = await Tracing.start(['why', '--json', '-t', `${workload.tid}`, '60']);
	const [waits = 0, delay_ns = 0] = await workload.work();
	const { stdout, status } = await tracing.end('SIGINT');
	await workload.end();
	if (waits === 0) return t.skip('the kernel does not count waits for a CPU');
	assert.equal(status, 0);
	const { account, working_ns } = JSON.parse(stdout) as Report;
	const runnable = account.filter(({ place }) => place === 'runnable');
	const [waking, queued] = [
		runnable.filter(({ kind }) => kind === 'cpu_wake_up'),
		runnable.filter(({ kind }) => kind !== 'cpu_wake_up'),
	];
	// Short waits are sampled, and clocks are read at different moments.
	const error_ns = 4 * Math.hypot(...queued.map((place) => place.error_ns ?? 0));
	near(total(queued), delay_ns, 0.05, 'the run queue', error_ns + waits * READING_NS * SLACK);
	// A kernel may let the waker put the thread on the other CPU's run queue itself.
	if (SLACK === 1) assert.ok(total(waking) > 0, 'the waker runs on another CPU');
	assert.ok(total(runnable) <= working_ns);
});

test('who was taken off its CPU was preempted', async () => {
	const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
	const { account } = why('-p', `${hogs[0]?.pid}`, '0.5');
	for (const hog of hogs) await hog.end();
	const runnable = account.filter(({ place }) => place === 'runnable');
	const preempted = runnable.filter(({ kind }) => kind === 'preempted');
	assert.ok(total(preempted) > 1e8, JSON.stringify(runnable));
	// It never sleeps.
	assert.ok(total(preempted) > 0.9 * total(runnable), JSON.stringify(runnable));
});

test('COMMAND is looked at until it ends, for longer than a process that goes on', () => {
	// That would be ten seconds.
	const { window_ns, account } = why('--', 'sleep', '10.5');
	assert.ok(window_ns >= 10.5e9, `${window_ns}`);
	near(total(account.filter(({ kind }) => kind === 'sleep')), 10.5e9, 0.01 * SLACK, 'sleep');
});

test('who has ended, and is not waited for by its parent, is nobody', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-why-'));
	t.after(() => rmSync(folder, { recursive: true }));
	// A name that no other program has.
	const own = join(folder, 'why-ended');
	copyFileSync('/bin/sleep', own);
	const parent = spawn('sh', ['-c', `${own} 0.1 & echo $!; exec sleep 1000`]);
	t.after(() => parent.kill());
	const [pid] = await once(parent.stdout, 'data');
	await until(() => readFileSync(`/proc/${Number(pid)}/stat`, 'utf8').includes('(why-ended) Z'));
	const { rule, threads } = why('--comm', 'why-ended', '0.1');
	assert.deepEqual([rule, threads], ['nobody', 0]);
});

test('nobody, and a window that is too short, are said to be that', async () => {
	const none = why('--comm', 'no-such-name', '0.1');
	assert.equal(none.rule, 'nobody');
	assert.equal(none.wall_ns, 0);
	const workload = await Workload.start('hog', '0');
	// A machine that is busy may take longer to end the window than to begin it.
	let short = why('-p', `${workload.pid}`, '10ms');
	for (let tries = 1; tries < 20 && short.window_ns >= TOO_SHORT_NS; tries++)
		short = why('-p', `${workload.pid}`, '10ms');
	await workload.end();
	assert.equal(short.rule, 'too short');
	assert.match(short.verdict, /10 s are enough/);
});

test('the whole machine, as text and folded: where a thread is, is the root', () => {
	const text = tstrace(['why', '0.5']).stdout;
	assert.match(text, /^ *share +time +where/m);
	for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
	const { stdout, status } = runToEnd(TSTRACE, ['why', '--folded', '-q', '0.5']);
	assert.equal(status, 0);
	assert.match(stdout, /^(idle|waiting|runnable|running): /);
});

test('of the whole machine: tstrace itself is no part of the answer, and what it ran is told apart', async () => {
	const hogs = await Promise.all(Array.from({ length: 3 }, () => Workload.start('hog')));
	const tracing = await Tracing.start(['why', '--json', '60']);
	const [hog] = hogs as [Workload];
	const begun_ns = schedstat(hog.pid).run_ns;
	await until(() => schedstat(hog.pid).run_ns >= begun_ns + RUN_NS);
	const { stdout, status } = await tracing.end('SIGINT');
	for (const each of hogs) await each.end();
	assert.equal(status, 0);
	const { stacks, sufferers, machine } = JSON.parse(stdout) as Report;
	const pids = [...stacks.map(({ key }) => key.pid), ...sufferers.map(({ pid }) => pid)];
	assert.ok(pids.includes(hog.pid));
	assert.ok(!pids.includes(tracing.pid));
	assert.ok(machine.tracer_ns > 0);
});

test('a script that sleeps between its rounds: trouble if it was chosen, none of the machine', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-why-'));
	t.after(() => rmSync(folder, { recursive: true }));
	// A name that no other program has.
	const own = join(folder, 'why-sleeps');
	copyFileSync('/bin/sleep', own);
	const script = spawn('sh', ['-c', `while :; do ${own} 0.02; done`], { stdio: 'ignore' });
	t.after(() => script.kill());
	const placesOf = (...target: readonly string[]) => {
		const { stacks } = why(...target, '0.5');
		const sleeps = stacks.filter(({ key }) => key.comm === 'why-sleeps' && key.kind === 'sleep');
		return [...new Set(sleeps.map(({ key }) => key.place))];
	};
	assert.deepEqual(placesOf(), ['idle']);
	assert.deepEqual(placesOf('--comm', 'why-sleeps'), ['waiting']);
});

test('a page has the verdict, the wait, and the place as the root', (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-why-'));
	t.after(() => rmSync(folder, { recursive: true }));
	const file = join(folder, 'report.html');
	symlinkSync('/usr/bin/sleep', join(folder, '<b>'));
	const { status, stderr } = tstrace(['why', '-q', '-o', file, '--', join(folder, '<b>'), '0.3']);
	assert.equal(status, 0, stderr);
	const page = readFileSync(file, 'utf8');
	assert.match(page, /<p class="statement">[^<]*sleep/);
	assert.match(page, /<title>\d+: [^<]* sleep<\/title>/);
	assert.match(page, /"waiting: sleep"/);
	assert.doesNotMatch(page, /<b>/);
});

test('a page says what was lost: whoever reads it has not seen the terminal', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-why-'));
	t.after(() => rmSync(folder, { recursive: true }));
	const file = join(folder, 'report.html');
	const workload = await Workload.start('paths', '0', '3000');
	const room = ['--max-stacks', '100'];
	const tracing = await Tracing.start(['why', '-o', file, ...room, '-p', `${workload.pid}`, '60']);
	await workload.work();
	const { status, stderr } = await tracing.end('SIGINT');
	await workload.end();
	assert.equal(status, 0, stderr);
	assert.match(stderr, /^lost: .*--max-stacks/ms);
	assert.match(readFileSync(file, 'utf8'), /Lost: [^<"]*no room for [^<"]*--max-stacks/);
});
