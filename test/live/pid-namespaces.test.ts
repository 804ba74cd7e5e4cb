/** In a PID namespace, every tool tells threads and processes by the numbers that they have there. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { reportsOf } from './reports.js';
import { foldedLines } from './stacks.js';
import { runToEnd, TSTRACE, Workload } from './support.js';
import { tracedLines } from './traced-lines.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-namespace-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const NAMESPACE = ['--pid', '--fork', '--kill-child', '--mount-proc'];

/**
 * A thread that runs, fails to open a file, sleeps, and wakes the first one, which waits for that, and then for a
 * child. Says the numbers of its process, of that thread and of the child.
 */
const TWO_THREADS = `
import ctypes, os, threading, time
hears, tells = os.pipe()
numbers = [os.getpid()]
def second():
    ctypes.CDLL(None).prctl(15, b'second')
    numbers.append(threading.get_native_id())
    for _ in range(20):
        until = time.thread_time() + 0.005
        while time.thread_time() < until: pass
        try: os.open('/no/such', 0)
        except OSError: time.sleep(0.002)
        os.write(tells, b'x')
threading.Thread(target=second).start()
for _ in range(20): os.read(hears, 1)
child = os.fork()
if not child:
    os.close(hears)
    os.close(tells)
    time.sleep(0.05)
    os._exit(0)
os.waitpid(child, 0)
print(*numbers, child)
`;

type Row = Readonly<Record<string, unknown>>;

interface Report {
	readonly groups: readonly { readonly key: Row }[];
	readonly rows: readonly Row[];
	readonly stacks: readonly {
		readonly key: Row;
		readonly wait?: { readonly waker?: Row; readonly objects?: readonly Row[] };
	}[];
	readonly sufferers: readonly Row[];
}

/** Traces a program of Python's on one CPU, so that one thread waits behind the other; what both write. */
function traced(program: string, ...args: readonly string[]) {
	const file = join(folder, 'told');
	const command = ['taskset', '-c', '0', 'python3', '-c', program];
	const words = [...NAMESPACE, TSTRACE, ...args, '-q', '-o', file, '--', ...command];
	const { status, stdout, stderr } = runToEnd('unshare', words);
	assert.equal(status, 0, stderr);
	return { text: readFileSync(file, 'utf8'), stdout };
}

/** What tstrace writes of TWO_THREADS, or of a program like it, and the numbers of these. */
function toldOf(program: string, ...args: readonly string[]) {
	const { text, stdout } = traced(program, ...args);
	const [pid = 0, tid = 0, child = 0] = stdout.split(' ').map(Number);
	assert.ok(pid < tid && tid < child && child < 200, `${stdout}: small, as in a new namespace`);
	return { text, pid, tid, child };
}

const toldBy = (...args: readonly string[]) => toldOf(TWO_THREADS, ...args);

/** Of rows about the second thread, by which numbers they tell it; with words in front of what tells it. */
const told = (rows: readonly Row[], front = '') =>
	rows
		// In its last moments, when it is not to be found any more, it has no number there.
		.filter((row) => row[`${front}comm`] === 'second' && row[`${front}tid`])
		.map((row) => [row[`${front}pid`], row[`${front}tid`]]);

/** Of the program: what starts it may be a script, which waits for others. */
const objectsIn = ({ stacks }: Report) =>
	stacks.filter(({ key }) => key.comm === 'python3').flatMap(({ wait }) => wait?.objects ?? []);

/** Each tool, and where its JSON tells who it is about. */
const CASES: ReadonlyArray<readonly [tool: string, numbers: (report: Report) => unknown[][]]> = [
	['runqlat -L', ({ groups }) => told(groups.map(({ key }) => key))],
	['runqlat --slower 1', ({ rows }) => [...told(rows), ...told(rows, 'prev_')]],
	['schedlat', ({ rows }) => told(rows.map(({ key }) => key as Row))],
	['timehist -w -n', ({ rows }) => told(rows)],
	['timehist -n', ({ rows }) => told(rows, 'next_')],
	['timehist -w', ({ rows }) => told(rows, 'woken_')],
	['trace', ({ rows }) => told(rows)],
	['offcputime --exact -L', ({ stacks }) => told(stacks.map(({ key }) => key))],
	[
		'offwaketime --exact -L',
		({ stacks }) => told(stacks.flatMap(({ wait }) => (wait?.waker ? [wait.waker] : []))),
	],
	['profile -e cpu-clock -F 997 -L', ({ stacks }) => told(stacks.map(({ key }) => key))],
	['why', ({ sufferers }) => told(sufferers)],
];

for (const [tool, numbers] of CASES)
	test(`${tool}: a thread that is not the first one of its process`, () => {
		const { text, pid, tid } = toldBy(...tool.split(' '), '--json');
		const found = reportsOf(text).flatMap((report) => numbers(report as unknown as Report));
		assert.deepEqual([...new Set(found.map((each) => each.join(' ')))], [`${pid} ${tid}`]);
	});

test('syscount --paths: the process whose calls fail', () => {
	const { text, pid } = toldBy('syscount', '--paths', '--json');
	const rows = reportsOf(text).flatMap((report) => report.rows);
	const found = rows.filter(({ path }) => path === '/no/such').map((row) => row.pid);
	assert.deepEqual(found, [pid]);
});

test('offcputime: who is at the other end of a pipe, and which child is waited for', () => {
	// Who holds a pipe is looked for now and then: the process is there for long enough, however slow the machine is.
	const lasting = TWO_THREADS.replace('child = os.fork()', 'time.sleep(2)\nchild = os.fork()');
	const { text, pid, child } = toldOf(lasting, 'offcputime', '--exact', '--json');
	const objects = reportsOf(text).flatMap((report) => objectsIn(report as unknown as Report));
	const ends = objects.flatMap(({ other_end }) => (other_end as Row[] | undefined) ?? []);
	assert.deepEqual([...new Set(ends.map((end) => end.pid))], [pid]);
	const children = objects.filter(({ type, comm }) => type === 'child' && comm === 'python3');
	assert.deepEqual([...new Set(children.map((each) => each.pid))], [child]);
});

test('offcputime: stacks through libraries, whose files are found by the number that the process has there', () => {
	const naps = 'import time\nfor _ in range(60): time.sleep(0.05)';
	const { text } = traced(naps, 'offcputime', '--exact', '--folded');
	const ofSleeps = foldedLines(text).filter(([frames]) => /clock_nanosleep/.test(frames.join(' ')));
	// At first the rules of these files are not there yet, and stacks are cut; later none is.
	const whole = ofSleeps.filter(([frames]) => !frames.includes('[cut]'));
	assert.ok(whole.length > 0, text);
});

test('trace: the same in lines, and whose child has ended', () => {
	const { text, pid, tid, child } = toldBy('trace', '--follow');
	const lines = tracedLines(text);
	const own = told(lines as unknown as Row[]).map((each) => each.join(' '));
	assert.deepEqual([...new Set(own)], [`${pid} ${tid}`]);
	const ended = lines.find((line) => line.tid === child && line.text.startsWith('+++'));
	assert.match(ended?.text ?? '', new RegExp(`exited with 0 .* parent python3\\[${pid}\\]$`));
});

/** As TWO_THREADS, in a namespace below that of tstrace; says what it is called above. */
const BELOW = `
import ctypes, os, threading
above = os.readlink('/proc/thread-self').split('/')
def second():
    ctypes.CDLL(None).prctl(15, b'second')
    numbers = os.readlink('/proc/thread-self').split('/')
    print(numbers[0], numbers[2], os.getpid(), threading.get_native_id(), flush=True)
    try: os.open('/no/such', 0)
    except OSError: pass
thread = threading.Thread(target=second)
thread.start()
thread.join()
`;

test('processes of a namespace below it have the numbers of the one that tstrace is in', () => {
	const below = ['unshare', '--pid', '--fork', 'python3', '-c', BELOW];
	const toldBelow = (...args: readonly string[]) => {
		const file = join(folder, 'below');
		const words = [...NAMESPACE, TSTRACE, ...args, '--follow', '-q', '-o', file, '--', ...below];
		const { status, stdout, stderr } = runToEnd('unshare', words);
		assert.equal(status, 0, stderr);
		const [pid, tid, ...inside] = stdout.split(' ').map(Number);
		assert.notDeepEqual([pid, tid], inside);
		const rows = reportsOf(readFileSync(file, 'utf8')).flatMap((report) => report.rows);
		return { rows: rows as readonly Row[], pid, tid };
	};
	const calls = toldBelow('trace', '--json');
	const found = new Set(told(calls.rows).map((each) => each.join(' ')));
	assert.deepEqual([...found], [`${calls.pid} ${calls.tid}`]);
	const failures = toldBelow('syscount', '--paths', '--json');
	const failed = failures.rows.filter(({ path }) => path === '/no/such');
	assert.deepEqual(
		failed.map((row) => row.pid),
		[failures.pid],
	);
});

/** Fails to open a file again and again, by a name of its own, and rests in between. */
const FAILS = `
import ctypes, os, sys, threading, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
print('ready', os.getpid(), os.getpid(), flush=True)
def fail():
    while True:
        try: os.open('/no/such', 0)
        except OSError: time.sleep(0.002)
threading.Thread(target=fail, daemon=True).start()
sys.stdin.buffer.raw.read(1)
`;
const OUTSIDE = ['other', 'twin', 'twin'];

test('processes outside of the namespace have no number, and each is by itself', async (t) => {
	const pids: number[] = [];
	for (const name of OUTSIDE) {
		const workload = await Workload.startBy('python3', '-c', FAILS, name);
		t.after(() => workload.end());
		pids.push(workload.pid);
	}
	const cases: ReadonlyArray<readonly [tool: string, keys: (report: Report) => Row[]]> = [
		['runqlat -P', ({ groups }) => groups.map(({ key }) => key)],
		['runqlat -L', ({ groups }) => groups.map(({ key }) => key)],
		['syscount -P', ({ rows }) => [...rows]],
		['syscount --latency -P', ({ rows }) => [...rows]],
		['syscount --paths', ({ rows }) => rows.filter(({ path }) => path === '/no/such')],
	];
	for (const [tool, keysOf] of cases) {
		const words = [...NAMESPACE, TSTRACE, ...tool.split(' '), '--json', '-q', '0.3', '1'];
		const { status, stdout, stderr } = runToEnd('unshare', words);
		assert.equal(status, 0, stderr);
		const keys = reportsOf(stdout).flatMap((report) => keysOf(report as unknown as Report));
		const names = keys.flatMap(({ pid, comm }) => (pid === 0 ? [`${comm}`] : []));
		const found = names.filter((name) => OUTSIDE.includes(name)).sort();
		// Of threads: of each process the one that fails, and perhaps its first.
		const most = tool.endsWith('-L') ? 2 : 1;
		for (const name of OUTSIDE) {
			const [there = 0, least = 0] = [found, OUTSIDE].map(
				(names) => names.filter((each) => each === name).length,
			);
			assert.ok(there >= least && there <= least * most, `${tool}: ${found}`);
		}
		const numbers = keys.flatMap(({ host_pid }) => (host_pid === undefined ? [] : [host_pid]));
		if (tool.endsWith('-P'))
			assert.ok(
				pids.every((pid) => numbers.includes(pid)),
				`${tool}: ${numbers}`,
			);
	}
});
