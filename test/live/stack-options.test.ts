/** Options of the stack tools: who is traced, which waits, which frames; and what is refused. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { cgroupMount } from '../../src/proc/cgroup.js';
import {
	foldedLines,
	type JsonStack,
	type StackReport,
	stackReport,
	sumOf,
	traceWork,
	withFrame,
} from './stacks.js';
import { runToEnd, Tracing, TSTRACE, tstrace, Workload } from './support.js';

const ROUNDS = 30;
/** In each round `waits` sleeps for 2, 4 and 6 ms, and 2 ms uninterruptibly. */
const NAP_USEC = 2000;

/** Traces the thread of `waits` that waits, or what the options say. */
async function traceWaits(...args: readonly string[]): Promise<StackReport & { tid: number }> {
	const workload = await Workload.start('waits', `${ROUNDS}`, `${NAP_USEC}`);
	const { pid, tid } = workload;
	const own = args.some((arg) => /^(-t|-p|--comm)$/.test(arg));
	const all = ['offcputime', '--exact', '--json', ...(own ? [] : ['-t', `${tid}`]), ...args];
	const given = all.map((arg) => arg.replace('PID', `${pid}`).replace('TID', `${tid}`));
	const { finished } = await traceWork(workload, given);
	return { ...stackReport(finished), tid };
}

function has(stacks: readonly JsonStack[], name: string): boolean {
	return withFrame(stacks, name).length > 0;
}

test('--min and --max: waits of that length only', async () => {
	const long = (await traceWaits('--min', '5000')).stacks;
	assert.ok(has(long, 'wait_in_futex'));
	for (const { value, count } of long) assert.ok(value / count >= 5e6);
	const short = (await traceWaits('--max', '3500')).stacks;
	assert.ok(has(short, 'wait_in_nanosleep'));
	for (const { value, count } of short) assert.ok(value / count <= 3.5e6);
	// A nap is never shorter than it was asked to be.
	const shorter = (await traceWaits('--max', '1900')).stacks;
	for (const name of ['wait_in_nanosleep', 'wait_in_vfork'])
		assert.equal(sumOf(withFrame(shorter, name), 'blocked'), 0, name);
	const between = (await traceWaits('--min', '3000', '--max', '100000')).stacks;
	assert.ok(has(between, 'wait_in_pipe'));
	for (const { value, count } of between) assert.ok(value >= count * 3e6 && value <= count * 1e8);
});

test('--state: by letter, by mask', async () => {
	for (const state of ['D', '0x2', '2']) {
		const { stacks } = await traceWaits('--state', state);
		assert.ok(has(stacks, 'wait_in_vfork') && !has(stacks, 'wait_in_pipe'), state);
		assert.equal(sumOf(stacks, 'preempted'), 0);
	}
	for (const state of ['S', '0x1']) {
		const { stacks } = await traceWaits('--state', state);
		assert.ok(has(stacks, 'wait_in_pipe') && !has(stacks, 'wait_in_vfork'), state);
	}
	const both = (await traceWaits('--state', 'SD')).stacks;
	assert.ok(has(both, 'wait_in_pipe') && has(both, 'wait_in_vfork'));
});

test('--state R and 0: who could have gone on', async () => {
	const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
	const pids = hogs.map(({ pid }) => pid).join();
	const trace = (state: string) =>
		stackReport(tstrace(['offcputime', '-p', pids, '--json', '--state', state, '0.5'])).stacks;
	const [runnable, zero, asleep] = [trace('R'), trace('0'), trace('S')];
	for (const hog of hogs) await hog.end();
	// Who is on a run queue as tracing begins may have been woken or preempted: run queue.
	for (const stacks of [runnable, zero]) {
		assert.ok(sumOf(stacks, 'preempted') > 0);
		assert.equal(sumOf(stacks, 'blocked'), 0);
	}
	assert.deepEqual(asleep, []);
});

test('--state: what a new thread waits for its first CPU is a wait of R, and of no other state', async () => {
	const THREADS = 320;
	const trace = async (state: string) => {
		const workload = await Workload.start('churn', `${THREADS}`);
		const args = ['offcputime', '--exact', '--json', '--state', state, '-p', `${workload.pid}`];
		const { finished } = await traceWork(workload, args);
		const { stacks } = stackReport(finished);
		const naps = withFrame(stacks, /nanosleep/);
		// Who has not slept yet has not been blocked.
		return { naps, first: stacks.filter(({ blocked }) => blocked === 0) };
	};
	const [runnable, asleep, both] = [await trace('R'), await trace('S'), await trace('RS')];
	assert.deepEqual(asleep.first, []);
	assert.ok(sumOf(asleep.naps, 'count') > THREADS * 0.9, 'each sleeps once');
	for (const { first } of [runnable, both])
		assert.ok(sumOf(first, 'count') > THREADS / 2, 'most of them wait for a CPU');
});

test('--state: an idle kernel thread is I and not D; as a mask it has the bit of D, too', () => {
	const idle = (state: string) => {
		const args = ['offcputime', '-k', '--json', '--state', state, '0.2'];
		// Workers without work wait in worker_thread itself: kernel/workqueue.c. One that has work may wait in D:
		// the kernel frees the maps of the trace before this one there.
		const workers = withFrame(stackReport(tstrace(args)).stacks, 'worker_thread');
		return workers.some(({ frames }) => !frames.includes('process_one_work'));
	};
	for (const state of ['I', '0x402', '0x2', '0x400']) assert.ok(idle(state), state);
	for (const state of ['D', 'S', '0x1', 'SD']) assert.ok(!idle(state), state);
});

test('-U and -K: only user frames, only kernel frames', async () => {
	const user = (await traceWaits('-U')).stacks;
	assert.ok(has(user, 'wait_in_futex'));
	for (const { kinds } of user) assert.match(kinds, /^u+$/);
	const kernel = (await traceWaits('-K')).stacks;
	assert.ok(has(kernel, 'futex_wait'));
	for (const { kinds } of kernel) assert.match(kinds, /^k+$/);
	// From the first function of the kernel to the one that waits.
	for (const { frames } of withFrame(kernel, 'hrtimer_nanosleep')) {
		assert.match(frames[0] ?? '', /^(entry_SYSCALL_64_after_hwframe|el0t?(_64)?_sync)$/);
		assert.equal(frames.at(-1), 'do_nanosleep');
	}
});

test('-L: threads apart', async () => {
	const { stacks, tid } = await traceWaits('-p', 'PID', '-L');
	const waits = withFrame(stacks, 'measure');
	assert.ok(waits.length > 0 && waits.every(({ key }) => key.tid === tid));
	assert.ok(stacks.some(({ key }) => key.tid !== tid));
});

test('--comm and -t', async () => {
	const byName = (await traceWaits('--comm', 'waits')).stacks;
	assert.ok(has(byName, 'wait_in_pipe') && has(byName, 'main'));
	assert.ok(byName.every(({ key }) => key.comm === 'waits'));
	const byThread = (await traceWaits('-t', 'TID')).stacks;
	assert.ok(has(byThread, 'wait_in_pipe') && !has(byThread, 'main'));
});

test('--cgroup: tasks in it', async () => {
	const mount = cgroupMount();
	assert.ok(mount, 'a cgroup2 mount is needed');
	const name = `tstrace-stacks-${process.pid}`;
	const path = join(mount, name);
	mkdirSync(path);
	const workload = await Workload.start('waits', `${ROUNDS}`, `${NAP_USEC}`);
	try {
		writeFileSync(join(path, 'cgroup.procs'), `${workload.pid}`);
		const args = ['offcputime', '--cgroup', name, '--exact', '--json'];
		const { finished } = await traceWork(workload, args);
		const { stacks } = stackReport(finished);
		assert.ok(has(stacks, 'wait_in_pipe'));
		// Children are born into it.
		assert.ok(stacks.every(({ key }) => key.comm === 'waits'));
	} finally {
		for (const pid of readFileSync(join(path, 'cgroup.procs'), 'utf8').trim().split('\n')) {
			if (pid) writeFileSync(join(mount, 'cgroup.procs'), pid);
		}
		rmdirSync(path);
	}
});

test('-C: a wait that goes on as tracing ends is one of the CPU that the thread last had', async () => {
	const CPUS = ['0', '1'];
	const naps = resolve('build/workloads/naps');
	// They wait to be told to begin.
	const [first, second] = await Promise.all(
		CPUS.map((cpu) => Workload.startBy('taskset', '-c', cpu, naps, '0', '0', '0')),
	);
	assert.ok(first && second);
	const pids = [first.pid, second.pid];
	for (const chosen of ['0', '1', '0,1']) {
		// Wherever tstrace itself looks for such waits.
		for (const own of CPUS) {
			const args = ['offcputime', '--json', '-C', chosen, '-p', pids.join(), '0.3'];
			const report = stackReport(runToEnd('taskset', ['-c', own, TSTRACE, ...args]));
			const seen = report.stacks.map(({ key }) => Number(key.pid)).sort((a, b) => a - b);
			const due = pids.filter((_, i) => chosen.includes(`${i}`)).sort((a, b) => a - b);
			assert.deepEqual(seen, due, `-C ${chosen}, by tstrace on CPU ${own}`);
			for (const { count } of report.stacks) assert.equal(count, 1);
		}
	}
	for (const each of [first, second]) await each.end();
});

for (const tool of ['offcputime', 'profile']) {
	test(`${tool} -u and -k: user processes, kernel threads`, async () => {
		const trace = (option: string) => stackReport(tstrace([tool, option, '--json', '0.5'])).stacks;
		const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
		const [user, kernel] = [trace('-u'), trace('-k')];
		for (const hog of hogs) await hog.end();
		assert.ok(user.some(({ key }) => key.comm === 'hog'));
		assert.ok(!user.some(({ key }) => `${key.comm}`.startsWith('kworker')));
		assert.ok(!kernel.some(({ key }) => key.comm === 'hog'));
		for (const { kinds } of kernel) assert.match(kinds, /^k+$/);
	});
}

test('--max-depth: deeper stacks are cut, and that is said', async () => {
	const { stacks, lost } = await traceWaits('--max-depth', '4');
	for (const { kinds } of stacks) {
		assert.ok(kinds.replaceAll('k', '').length <= 4, kinds);
		assert.ok(kinds.replaceAll('u', '').length <= 5, `${kinds}: four, and what was called`);
	}
	assert.ok((lost.stacks_truncated ?? 0) >= ROUNDS);
	const whole = await traceWaits();
	assert.equal(whole.lost.stacks_truncated, undefined);
});

test('--top, -d, --annotated', async () => {
	const trace = async (...args: readonly string[]) => {
		const workload = await Workload.start('waits', `${ROUNDS}`, `${NAP_USEC}`);
		const all = ['offcputime', '--exact', '-t', `${workload.tid}`, ...args];
		const { finished } = await traceWork(workload, all);
		assert.equal(finished.status, 0, finished.stderr);
		return finished.stdout;
	};
	const text = await trace('--format', 'text', '--top', '1', '-d', '--annotated');
	assert.equal(text.match(/^ {4}--$/gm)?.length, 1, text);
	assert.match(text, /^ {4}do_syscall_64_\[k\]$/m);
	assert.match(text, /^… \d+ more stacks: .* \(--top 0 shows all\)$/m);
	const all = await trace('--format', 'text', '--top', '0');
	assert.doesNotMatch(all, /more stack/);
	for (const name of ['nanosleep', 'pipe', 'futex', 'vfork'])
		assert.match(all, new RegExp(`^ {4}wait_in_${name}$`, 'm'));
	const folded = await trace('--folded', '-d', '--annotated');
	for (const [frames] of foldedLines(folded)) {
		const at = frames.indexOf('-');
		assert.ok(at > 0, frames.join(';'));
		assert.ok(frames.slice(1, at).every((frame) => !frame.endsWith('_[k]')));
		assert.ok(frames.slice(at + 1).every((frame) => frame.endsWith('_[k]')));
	}
});

test('where the result does not go to a terminal, stacks to draw are folded; a report is text', async () => {
	const hog = await Workload.start('hog', '0');
	const { stdout } = tstrace(['profile', '-e', 'cpu-clock', '0.5']);
	await hog.end();
	assert.ok(foldedLines(stdout).some(([[comm]]) => comm === 'hog'));
	const tracing = await Tracing.start(['offcputime', '-p', `${process.pid}`, '0.5']);
	assert.ok(foldedLines((await tracing.end()).stdout).every(([[comm]]) => comm !== ''));
	const { stdout: report } = tstrace(['memleak', '--growth', '--', 'sleep', '0.01']);
	assert.match(report, /^ *by page faults|by page faults in \d+ stack/m);
});

const REFUSED: ReadonlyArray<readonly [string, RegExp]> = [
	['offcputime --state d', /--state.*d is no state: D\?/],
	['offcputime --state Q', /--state.*letters of RSDTtPI/],
	['offcputime --state 0x10000', /a mask of 0 to 0xffff/],
	['offcputime --exact --period 100', /cannot be used with/],
	['offcputime --period 2000000', /--period can be at most one second/],
	['offcputime --period 0', /microseconds from 1/],
	['offcputime --min 10 --max 5', /--min 10 is more than --max 5/],
	['offcputime --min x', /microseconds from 1 to/],
	['offcputime -U -K', /cannot be used with/],
	['offcputime -u -k', /cannot be used with/],
	['offcputime --folded --json', /one format, not/],
	['offcputime --format flame', /text, json, folded, svg/],
	['offcputime --max-depth 128', /from 1 to 127/],
	['offcputime --max-depth 0', /from 1 to 127/],
	['offcputime --max-stacks 0', /from 1 to 4194304/],
	['offcputime --top -1', /from 0 to/],
	['offcputime --no-edge', /unknown option '--no-edge'.*--no-edges/],
	['offcputime 1 2', /too many arguments/],
	['offcputime --hdr x 1', /unknown option '--hdr'/],
	['profile -e cycle', /cycles/],
	['profile -e page-fault', /page-faults/],
	['profile -e nonsense', /--event.*nonsense/],
	['profile -F 0', /from 1 to 100000/],
	['profile -F 99 -c 10', /cannot be used with/],
	['profile -c 0', /from 1 to/],
	['profile -I -p 1', /cannot be used with/],
	['profile -I -u', /--idle/],
	['profile -U -K', /cannot be used with/],
	['profile -C 99999', /CPUs from 0 to/],
	['profile --json --format folded', /one format, not/],
];

for (const [line, says] of REFUSED) {
	test(`refused: ${line}`, () => {
		const [tool = '', ...args] = line.split(' ');
		const { status, stdout, stderr } = tstrace([tool, ...args]);
		assert.match(stderr, /^tstrace \w+: .*\n$/);
		assert.match(stderr, says);
		assert.equal(stdout, '');
		assert.equal(status, 2, stderr);
	});
}
