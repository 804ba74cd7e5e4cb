/** Threads that could run, and have no CPU as tracing ends: since when, why, and who has woken them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { type JsonStack, stackReport, sumOf } from './stacks.js';
import { Tracing, until, Workload } from './support.js';
import { now_ns, schedstat } from './times.js';
import { type Report, total } from './why-reports.js';

const CPU = '1';
/** How long they wait for a CPU at least; the kernel leaves it to a real-time thread for longer. */
const WAITED_NS = 5e7;
const MOST_TRIES = 5;

const TOOLS = ['offcputime --exact --json -L', 'offwaketime --exact --json -L', 'why --json'];

/** One thread is taken off the CPU, the other one is woken there; what tools say that are ended meanwhile. */
async function traced() {
	const taking = await Workload.start('hog', CPU);
	await taking.stop();
	assert.equal(spawnSync('chrt', ['-f', '-p', '1', `${taking.pid}`]).status, 0);
	const hog = await Workload.start('hog', CPU);
	const naps = resolve('build/workloads/naps');
	const woken = await Workload.startBy('taskset', '-c', CPU, naps, '0', '0', '0');
	const whose = ['-p', `${hog.pid},${woken.pid}`];
	const elsewhere = ['taskset', '-c', '0'];
	const tracings = await Promise.all(
		TOOLS.map((tool) => Tracing.start([...tool.split(' '), ...whose, '60'], {}, elsewhere)),
	);
	try {
		taking.continue();
		// Its run time is brought up to date at each tick only.
		const { run_ns } = schedstat(taking.pid);
		await until(() => schedstat(taking.pid).run_ns > run_ns);
		woken.begin();
		const begun_ns = now_ns();
		await until(() => now_ns() > begun_ns + WAITED_NS);
		const ended = await Promise.all(tracings.map((tracing) => tracing.end('SIGINT')));
		return { ended, hog, woken, most_ns: now_ns() - begun_ns };
	} finally {
		taking.continue();
		for (const each of [taking, hog, woken]) await each.end();
	}
}

function check({ ended, hog, woken, most_ns }: Awaited<ReturnType<typeof traced>>): void {
	const [off, wake] = ended.slice(0, 2).map((each) => stackReport(each).stacks);
	const of = ({ pid }: Workload, stacks: readonly JsonStack[] = []) =>
		stacks.filter(({ key }) => key.pid === pid);
	const is = (value: number, what: string) =>
		assert.ok(value >= WAITED_NS && value < 3 * most_ns, `${what}: ${value} of ${most_ns}`);
	is(sumOf(of(hog, off), 'preempted'), 'preempted');
	is(sumOf(of(woken, off), 'run_queue'), 'in the run queue');
	// It was blocked until it was woken, by us.
	const wakers = of(woken, wake).map(({ wait }) => wait?.waker?.pid);
	assert.ok(wakers.includes(process.pid), `${wakers}`);
	const { account } = JSON.parse(ended[2]?.stdout ?? '') as Report;
	for (const kind of ['preempted', 'run_queue'])
		is(total(account.filter((each) => each.place === 'runnable' && each.kind === kind)), kind);
}

test('who was taken off its CPU, and who was woken, both wait for one as tracing ends', async () => {
	for (let left = MOST_TRIES; ; left--) {
		const found = await traced();
		try {
			return check(found);
		} catch (error) {
			// The kernel may hide that one leaves its CPU, or leave that to it after all.
			if (left === 0) throw error;
		}
	}
});
