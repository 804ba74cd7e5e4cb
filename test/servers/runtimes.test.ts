/** A JVM, Node.js and Python: a monitor, an event loop that stands still, and a lock that only one can have. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { done, written } from '../../bench/shared/servers.js';
import { reportsOf } from '../live/reports.js';
import { sumOf, withFrame } from '../live/stacks.js';
import { Tracing, Workload } from '../live/support.js';
import { switches } from '../live/times.js';
import { during, serverFolder, totalOf } from './support.js';

const folder = serverFolder();

/** All of these are workloads: they say "ready PID TID", begin at a byte, say "done …", end at the next. */
const JAVA = `
public class Monitor {
	static final Object monitor = new Object();
	static volatile boolean held, waits;
	static long waited_ns;
	public static void main(String[] args) throws Exception {
		long pid = ProcessHandle.current().pid();
		System.out.println("ready " + pid + " " + pid);
		System.in.read();
		Thread holder = new Thread(() -> {
			synchronized (monitor) {
				held = true;
				while (!waits) Thread.onSpinWait();
				try { Thread.sleep(500); } catch (InterruptedException e) { }
			}
		}, "holder");
		Thread waiter = new Thread(() -> {
			long began = System.nanoTime();
			waits = true;
			synchronized (monitor) { waited_ns = System.nanoTime() - began; }
		}, "waiter");
		holder.start();
		while (!held) Thread.onSpinWait();
		waiter.start();
		holder.join();
		waiter.join();
		System.out.println("done " + waited_ns);
		System.in.read();
	}
}
`;

test('JVM: the thread that waits for a monitor, by its name, as long as the JVM says; and who holds it', async () => {
	done(['javac', written(folder, 'Monitor.java', JAVA)], folder);
	const java = await Workload.startBy('java', '-Xmx100m', '-cp', folder, 'Monitor');
	const { report, done: says } = await during(['offcputime', '-L', '-p', `${java.pid}`], () =>
		java.work(),
	);
	await java.end();
	const [waited_ns = 0] = says;
	const of = (name: string) =>
		sumOf(
			report.stacks.filter(({ key }) => key.comm === name),
			'blocked',
		);
	assert.ok(waited_ns >= 4e8, `${waited_ns}`);
	// Before it blocks it tries for a while.
	const blocked_ns = of('waiter');
	assert.ok(
		blocked_ns >= 0.8 * waited_ns && blocked_ns <= 1.1 * waited_ns,
		`${blocked_ns} of ${waited_ns} ns`,
	);
	assert.ok(of('holder') >= 5e8, 'it sleeps');
});

const NODE = `
function standsStill(ms) {
	const end = performance.now() + ms;
	while (performance.now() < end);
}
console.log('ready ' + process.pid + ' ' + process.pid);
process.stdin.once('data', () => {
	standsStill(1000);
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
	console.log('done 1');
	process.stdin.once('end', () => process.exit(0)).resume();
});
`;

test('Node.js: the function that keeps the event loop, and the wait that does', async () => {
	const script = join(folder, written(folder, 'blocked.js', NODE));
	const run = () =>
		Workload.startBy(
			process.execPath,
			'--perf-basic-prof',
			'--interpreted-frames-native-stack',
			script,
		);
	const busy = await run();
	const { report } = await during(['profile', '-F', '499', '-t', `${busy.tid}`], () => busy.work());
	await busy.end();
	const [all, still] = [sumOf(report.stacks), sumOf(withFrame(report.stacks, /standsStill/))];
	assert.ok(all > 0 && still >= 0.7 * all, `${still} of ${all} samples`);
	const waits = await run();
	const found = await during(['offcputime', '-t', `${waits.tid}`], () => waits.work());
	await waits.end();
	const blocked_s =
		sumOf(withFrame(found.report.stacks, /FutexEmulation|AtomicsWait/), 'blocked') / 1e9;
	assert.ok(blocked_s >= 0.5 && blocked_s <= found.seconds, `${blocked_s} s`);
});

const PYTHON = `
import os, sys, threading, time
def compute():
    end = time.thread_time() + 0.5
    while time.thread_time() < end: pass
def naps():
    for _ in range(10): time.sleep(0.05)
print('ready', os.getpid(), os.getpid(), flush=True)
os.read(0, 1)
(naps if sys.argv[1:] == ['naps'] else lambda: None)()
if sys.argv[1:] == ['lock']:
    threads = [threading.Thread(target=compute) for _ in range(2)]
    for each in threads: each.start()
    for each in threads: each.join()
print('done 1', flush=True)
os.read(0, 1)
`;
const python = (kind: string) =>
	Workload.startBy('/usr/bin/python3', join(folder, written(folder, 'work.py', PYTHON)), kind);

test('Python: two threads compute, and only one at a time: schedlat, and offcputime has the others wait', async () => {
	const both = await python('lock');
	const { report, seconds } = await during(['schedlat', '-p', `${both.pid}`], () => both.work());
	await both.end();
	const threads = report.rows.filter(({ runtime }) => Number(runtime) >= 4e8);
	assert.equal(threads.length, 2, 'each has computed for half a second');
	// Two CPUs would take half of it.
	const run_s = totalOf(report.rows, 'runtime') / 1e9;
	assert.ok(run_s >= 1 && run_s <= 1.1 * seconds, `${run_s} s in ${seconds} s`);
	const again = await python('lock');
	const found = await during(['offcputime', '-L', '-p', `${again.pid}`], () => again.work());
	await again.end();
	const locked = withFrame(found.report.stacks, /pthread_cond_(timed|clock)wait|futex_abstimed/);
	const of = new Set(locked.filter(({ blocked }) => blocked > 0).map(({ key }) => key.tid));
	assert.ok(of.size >= 2, 'both wait for the lock');
});

/** A thread that wakes up may be preempted where it slept: that is another wait. */
const ASLEEP = ['offcputime', '--exact', '--state', 'S'];

test('Python: 10 sleeps are 10 waits for offcputime, and lines of timehist', async () => {
	const naps = await python('naps');
	const { report } = await during([...ASLEEP, '-p', `${naps.pid}`], () => naps.work());
	await naps.end();
	const asleep = withFrame(report.stacks, 'clock_nanosleep');
	// Python sleeps until a time: a thread that was preempted before has less of it, or nothing.
	const [count, blocked_ns] = [sumOf(asleep, 'count'), sumOf(asleep, 'blocked')];
	assert.ok(count >= 9 && count <= 10, `${count} waits, lost: ${JSON.stringify(report.lost)}`);
	assert.ok(blocked_ns >= 0.8 * 10 * 5e7, `${blocked_ns}`);
	// Its lines, and those of the same thread in the kernel's own books.
	const lines = await python('naps');
	const tracing = await Tracing.start(['timehist', '--json', '-p', `${lines.pid}`]);
	const before = switches(lines.pid);
	await lines.work();
	const counted = switches(lines.pid) - before;
	const { stdout } = await tracing.end('SIGINT');
	await lines.end();
	const rows = reportsOf(stdout).flatMap((each) => each.rows);
	assert.ok(rows.length >= Math.max(9, counted), `${rows.length} lines of ${counted} switches`);
	const slept = rows.filter(({ wait_ns }) => Number(wait_ns) >= 3e7);
	assert.ok(slept.length >= 9, `${slept.length} of 10`);
});
