/** why, of Python threads that compute, and of Java threads at one monitor. */
import { join } from 'node:path';
import { test } from 'node:test';
import { done, written } from '../../bench/shared/servers.js';
import { around, assertWhy, atWork, serverFolder } from './support.js';

const folder = serverFolder();

/** Each says how long it was there, ran, and was ready to run, by the kernel's sums. */
const PYTHON = `
import os, threading, time
all_ns = [0, 0, 0]
def compute():
    began = time.monotonic_ns()
    end = time.thread_time() + 0.5
    while time.thread_time() < end: pass
    took_ns = time.monotonic_ns() - began
    run_ns, delay_ns, _ = open('/proc/thread-self/schedstat').read().split()
    for i, each in enumerate([took_ns, int(run_ns), int(delay_ns)]): all_ns[i] += each
print('ready', os.getpid(), os.getpid(), flush=True)
os.read(0, 1)
threads = [threading.Thread(target=compute) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
print('done', *all_ns, flush=True)
os.read(0, 1)
`;

test('Python: four threads compute, and three of them wait for the interpreter', async () => {
	const script = join(folder, written(folder, 'compute.py', PYTHON));
	await assertWhy(
		() => atWork('/usr/bin/python3', script),
		({ done: [all_ns = 0, run_ns = 0, delay_ns = 0] }) => [
			{
				place: 'waiting',
				kinds: ['lock'],
				object: /of the Python interpreter \(GIL\)/,
				share: around((all_ns - run_ns - delay_ns) / all_ns),
			},
		],
	);
});

const JAVA = `
public class Clerks {
	static final Object till = new Object();
	static long waited_ns, served_ns;
	static void serve() {
		for (int i = 0; i < 12; i++) {
			long began = System.nanoTime();
			synchronized (till) {
				long taken = System.nanoTime();
				try { Thread.sleep(40); } catch (InterruptedException e) { }
				waited_ns += taken - began;
				served_ns += System.nanoTime() - taken;
			}
			Thread.yield();
		}
	}
	public static void main(String[] args) throws Exception {
		long pid = ProcessHandle.current().pid();
		System.out.println("ready " + pid + " " + pid);
		System.in.read();
		Thread[] clerks = new Thread[5];
		for (int i = 0; i < 5; i++) (clerks[i] = new Thread(Clerks::serve, "clerk")).start();
		for (Thread each : clerks) each.join();
		System.out.println("done " + waited_ns + " " + served_ns);
		System.in.read();
	}
}
`;

test('JVM: five threads at one monitor, and the one that has it sleeps', async () => {
	done(['javac', written(folder, 'Clerks.java', JAVA)], folder);
	await assertWhy(
		() => atWork('java', '-Xmx100m', '-cp', folder, 'Clerks'),
		({ done: [waited_ns = 0, served_ns = 0] }) => [
			{
				place: 'waiting',
				kinds: ['lock'],
				share: around(waited_ns / (waited_ns + served_ns)),
				function: 'ObjectMonitor::EnterI',
				culprit: { comm: 'clerk', function: 'JavaThread::sleep' },
			},
			{
				place: 'waiting',
				kinds: ['sleep'],
				share: around(served_ns / (waited_ns + served_ns)),
				function: 'JavaThread::sleep',
			},
		],
	);
});
