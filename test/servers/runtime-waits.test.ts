/** Waits inside runtimes: look-ups of names that fill the thread pool of Node.js, and Java threads at one monitor. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { done, written } from '../../bench/shared/servers.js';
import { sumOf, timeFor, withFrame } from '../live/stacks.js';
import { Workload } from '../live/support.js';
import { during, serverFolder } from './support.js';

const folder = serverFolder();

/** How many look-ups each thread makes that is busy with them. */
const LOOKUPS = 2;
/** Threads of the pool, and how many of them libuv lets look up names at once (`slow_work_thread_threshold`). */
const POOLS = [
	{ threads: 4, busy: 2 },
	{ threads: 1, busy: 1 },
] as const;
/** How long the C library waits for a server of names, as its configuration says. */
const TIMEOUT_NS = 1e9;
const SILENT = '127.0.0.77';

const NODE = `
const dns = require('node:dns');
const fs = require('node:fs');
console.log('ready ' + process.pid + ' ' + process.pid);
process.stdin.once('data', () => {
	const began = process.hrtime.bigint();
	const since_ns = () => process.hrtime.bigint() - began;
	let left = Number(process.argv[2]), all_ns, read_ns;
	const end = () => { if (left === 0 && read_ns) console.log('done ' + all_ns + ' ' + read_ns); };
	for (let i = left; i > 0; i--)
		dns.lookup('name' + i + '.invalid.', (error) => {
			if (!error) process.exit(3);
			left--;
			all_ns = since_ns();
			end();
		});
	// Behind them.
	fs.readFile(__filename, () => { read_ns = since_ns(); end(); });
	process.stdin.once('end', () => process.exit(0)).resume();
});
`;

for (const { threads, busy } of POOLS)
	test(`Node.js: look-ups at a server of names that never answers keep ${busy} of ${threads} threads of its pool`, async () => {
		const server = createSocket('udp4');
		server.bind(53, SILENT);
		await once(server, 'listening');
		try {
			const settings = `nameserver ${SILENT}\noptions timeout:${TIMEOUT_NS / 1e9} attempts:1\n`;
			const resolv = join(folder, written(folder, 'resolv.conf', settings));
			const script = join(folder, written(folder, 'lookups.cjs', NODE));
			const node = await Workload.startBy(
				...['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolv],
				...['env', `UV_THREADPOOL_SIZE=${threads}`, process.execPath, script],
				`${busy * LOOKUPS}`,
			);
			const args = ['offcputime', '-L', '-p', `${node.pid}`];
			const { report, done: says } = await during(args, () => node.work());
			await node.end();
			const [all_ns = 0, read_ns = 0] = says;
			// It reads /etc/hosts and loads a library first, which may be on the disk still.
			const asking = withFrame(withFrame(report.stacks, 'getaddrinfo'), 'do_sys_poll').filter(
				({ blocked }) => blocked > 0,
			);
			const self = { pid: process.pid, comm: readFileSync('/proc/self/comm', 'utf8').trim() };
			const asked_ns = timeFor(asking, ({ remote, value_ns: _, local: __, ...object }) => {
				if (remote !== `${SILENT}:53`) return false;
				assert.deepEqual(object, { type: 'socket', protocol: 'udp', other_end: [self] });
				return true;
			});
			const least_ns = busy * LOOKUPS * TIMEOUT_NS;
			assert.ok(
				asked_ns >= 0.99 * least_ns && asked_ns <= busy * all_ns,
				`${asked_ns} ns of ${least_ns}, in ${all_ns}`,
			);
			assert.equal(new Set(asking.map(({ key }) => key.tid)).size, busy);
			for (const { wait, frames } of asking) assert.equal(wait?.kind, 'poll', frames.join());
			// Where all threads look up names, a file is not read before one of them has done so.
			if (busy === threads) assert.ok(read_ns >= 0.99 * TIMEOUT_NS, `${read_ns}`);
		} finally {
			server.close();
		}
	});

const HELD_MS = 500;
const JAVA = `
public class Monitors {
	static final Object monitor = new Object();
	static volatile boolean held;
	static final long[] waited_ns = new long[1];
	public static void main(String[] args) throws Exception {
		long pid = ProcessHandle.current().pid();
		System.out.println("ready " + pid + " " + pid);
		System.in.read();
		Thread waiter = new Thread(() -> {
			long began = System.nanoTime();
			synchronized (monitor) { waited_ns[0] = System.nanoTime() - began; }
		}, "waiter");
		Thread holder = new Thread(() -> {
			synchronized (monitor) {
				held = true;
				while (waiter.getState() != Thread.State.BLOCKED) Thread.onSpinWait();
				try { Thread.sleep(${HELD_MS}); } catch (InterruptedException e) { }
			}
		}, "holder");
		holder.start();
		while (!held) Thread.onSpinWait();
		waiter.start();
		holder.join();
		waiter.join();
		System.out.println("done " + waited_ns[0]);
		System.in.read();
	}
}
`;

test('JVM: a monitor is a lock, and who ended the wait for it slept meanwhile', async () => {
	done(['javac', written(folder, 'Monitors.java', JAVA)], folder);
	const run = () => Workload.startBy('java', '-Xmx100m', '-cp', folder, 'Monitors');
	const java = await run();
	const { report, done: says } = await during(['offcputime', '-L', '-p', `${java.pid}`], () =>
		java.work(),
	);
	await java.end();
	const [waited_ns = 0] = says;
	const waiting = report.stacks.filter(
		({ key, wait, blocked }) => key.comm === 'waiter' && wait?.kind === 'lock' && blocked > 0,
	);
	const blocked_ns = sumOf(waiting, 'blocked');
	assert.ok(
		blocked_ns >= 0.97 * HELD_MS * 1e6 && blocked_ns <= 1.03 * waited_ns,
		`${blocked_ns} of ${waited_ns} ns`,
	);
	const again = await run();
	const args = ['offwaketime', '-L', '--hops', '4', '-p', `${again.pid}`];
	const chains = await during(args, () => again.work());
	await again.end();
	const locked = chains.report.stacks.filter(
		({ key, wait }) => key.comm === 'waiter' && wait?.kind === 'lock',
	);
	// HotSpot has one of those that wait look again by itself, at first after 1, 9 and 73 ms.
	const byHolder = locked.filter(({ wait }) => wait?.waker?.comm === 'holder');
	const slept = byHolder.filter(
		({ wait: { waker } = {} }) => waker?.did === 'blocked' && waker.wait?.waker?.irq === 'timer',
	);
	// It spins before it waits; on a busy machine it may wait for a CPU then.
	assert.ok(
		sumOf(locked) >= 0.9 * HELD_MS * 1e6 && sumOf(slept) >= 0.97 * (sumOf(locked) - 83e6),
		JSON.stringify(locked.map(({ wait, value }) => [value, wait?.waker?.comm, wait?.waker?.did])),
	);
	for (const { wait } of slept)
		assert.equal(wait?.waker?.wait?.kind, 'sleep', `${wait?.waker?.frames}`);
});
