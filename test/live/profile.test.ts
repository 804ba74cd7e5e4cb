/** profile against workloads that know where they ran, and against perf. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { onlineCpus } from '../../src/perf/cpus.js';
import { hasPmu } from '../../src/perf/events.js';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import {
	foldedLines,
	type JsonStack,
	near,
	type StackReport,
	stackReport,
	sumOf,
	traceWork,
	withFrame,
} from './stacks.js';
import { type Finished, runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';
import { schedstat } from './times.js';

/** So that a second has enough of them. */
const HZ = '997';
const CLOCK = ['-e', 'cpu-clock', '-F', HZ];

let before = kernelObjects();
beforeEach(() => {
	before = kernelObjects();
});
afterEach(() => untilReleased(before));

/** Samples `burns` for as long as a tool runs that ends by itself; returns what burns says. */
async function burning(
	kind: string,
	action: (workload: Workload) => void | Promise<void>,
): Promise<number[]> {
	const workload = await Workload.start('burns', kind);
	workload.begin();
	await action(workload);
	return workload.end();
}

function profile(...args: readonly string[]): StackReport {
	return stackReport(tstrace(['profile', '--json', ...args]));
}

/**
 * Whether `part` of `all` samples is what a share gives: within four standard deviations, and 2 % as
 * the share was measured over a longer time, and on a CPU whose speed others have a part in.
 */
function agrees(part: number, all: number, share: number, what: string): void {
	assert.ok(all > 200, `${all} samples`);
	const deviation = Math.sqrt(all * share * (1 - share));
	near(part, all * share, 4 * deviation + 0.02 * all, what);
}

test('two functions have the shares of samples that they have of CPU time', async () => {
	let stacks: readonly JsonStack[] = [];
	const [more_ns = 0, less_ns = 0] = await burning('user', ({ pid }) => {
		stacks = profile('-p', `${pid}`, ...CLOCK, '2').stacks;
	});
	const more = sumOf(withFrame(stacks, 'burn_more'));
	const less = sumOf(withFrame(stacks, 'burn_less'));
	const share = more_ns / (more_ns + less_ns);
	near(share, 0.7, 0.05, 'of what it burns');
	agrees(more, more + less, share, 'samples in burn_more');
	for (const stack of stacks) assert.equal(stack.value, stack.count);
});

test('the default: as many samples as there is CPU time', async () => {
	const workload = await Workload.start('burns', 'user');
	workload.begin();
	const tracing = await Tracing.start(['profile', '-p', `${workload.pid}`, '--json']);
	const ran_ns = () => schedstat(workload.pid).run_ns;
	const from_ns = ran_ns();
	await until(() => ran_ns() > from_ns + 2e9);
	const ran_s = (ran_ns() - from_ns) / 1e9;
	const { stacks, duration_s, unit } = stackReport(await tracing.end('SIGINT'));
	await workload.end();
	const samples = sumOf(stacks);
	// A hardware counter has to find its period on each CPU: kernel/events/core.c, perf_adjust_period().
	const more = hasPmu() ? 10 * onlineCpus().length : 2;
	// Each second that it ran, less ticks that a hypervisor was late with.
	const [least, most] = [0.5 * 99 * ran_s, 1.05 * 99 * duration_s + more];
	assert.ok(samples > least && samples < most, `${samples} samples, not ${least}..${most}`);
	assert.equal(unit, 'samples');
});

test('perf sees the same', async () => {
	await burning('user', ({ pid }) => {
		const ours = profile('-p', `${pid}`, ...CLOCK, '2').stacks;
		const record = ['record', '-q', '-e', 'cpu-clock', '-F', HZ, '-g', '-p', `${pid}`, '-o', '-'];
		const script = `perf ${record.join(' ')} -- sleep 2 | perf script -i - -F ip,sym`;
		const { stdout } = runToEnd('sh', ['-c', `${script} 2>/dev/null`]);
		const theirs = stdout.split('\n\n').filter((block) => block.trim() !== '');
		const has = (name: string) => theirs.filter((block) => block.includes(name)).length;
		const share = has('burn_more') / (has('burn_more') + has('burn_less'));
		const more = sumOf(withFrame(ours, 'burn_more'));
		const all = more + sumOf(withFrame(ours, 'burn_less'));
		assert.ok(theirs.length > 200, `${theirs.length} samples of perf's`);
		// Both are samples: each has its deviation.
		const deviation = Math.sqrt(0.7 * 0.3 * (1 / theirs.length + 1 / all));
		near(more / all, share, 4 * deviation + 0.02, 'share of burn_more');
	});
});

test('kernel frames have names', async () => {
	await burning('kernel', ({ pid }) => {
		const { stacks } = profile('-p', `${pid}`, ...CLOCK, '1');
		const reads = withFrame(withFrame(stacks, 'read_zeroes'), /^(ksys|vfs)_read$/);
		assert.ok(sumOf(reads) > 0.5 * sumOf(stacks), 'most of its time');
		for (const { kinds } of reads) assert.match(kinds, /^u+k+$/);
		const only = profile('-p', `${pid}`, ...CLOCK, '-K', '0.5').stacks;
		assert.ok(only.some(({ kinds }) => kinds !== ''));
		for (const { kinds } of only) assert.match(kinds, /^k*$/);
		const user = profile('-p', `${pid}`, ...CLOCK, '-U', '0.5').stacks;
		assert.ok(user.length > 0);
		for (const { kinds } of user) assert.match(kinds, /^u+$/);
	});
});

test('-e page-faults -c 1: each of them', async () => {
	const PAGES = 5000;
	const workload = await Workload.start('faults', `${PAGES}`);
	const args = ['profile', '-e', 'page-faults', '-c', '1', '-p', `${workload.pid}`, '--json'];
	const { finished, done } = await traceWork(workload, args);
	const touched = sumOf(withFrame(stackReport(finished).stacks, 'touch_pages'));
	const [faults = 0] = done;
	assert.ok(faults >= PAGES);
	near(touched, faults, 3, 'page faults');
});

test('-C: only what runs there; -I: idle CPUs, too', async () => {
	const hog = await Workload.start('hog', '0');
	const there = profile('-C', '0', '-p', `${hog.pid}`, ...CLOCK, '0.5');
	const elsewhere = profile('-C', '1', '-p', `${hog.pid}`, ...CLOCK, '0.5');
	const busy = profile(...CLOCK, '0.5').stacks;
	await hog.end();
	assert.ok(sumOf(there.stacks) > 0);
	assert.deepEqual(elsewhere.stacks, []);
	assert.ok(busy.some(({ key }) => key.pid === hog.pid));
	assert.ok(busy.every(({ key }) => key.pid !== 0));
	// In some virtual machines timers do not fire on the other ones while they are idle, nor for perf.
	const tracing = await Tracing.start(['profile', '-I', '-C', '0', ...CLOCK, '--json']);
	const already = idleTicks();
	let looks = 0;
	// On a machine where others want all CPUs it never idles.
	await until(() => idleTicks() - already > 30 || ++looks > 300);
	const least = (idleTicks() - already) / 10;
	const { stacks } = stackReport(await tracing.end('SIGINT'));
	const idle = stacks.filter(({ key }) => key.pid === 0);
	assert.ok(sumOf(idle) >= least, `${sumOf(idle)} samples, and not ${least}`);
	for (const { key, kinds } of idle) {
		assert.match(`${key.comm}`, /^swapper/);
		assert.match(kinds, /^k+$/);
	}
});

/** How often the tick found CPU 0 idle, 100 times a second: man 5 proc_stat. */
function idleTicks(): number {
	const [, ticks] = /^cpu0(?: \d+){3} (\d+)/m.exec(readFileSync('/proc/stat', 'utf8')) ?? [];
	return Number(ticks);
}

test('text and folded have the same names', async () => {
	await burning('user', ({ pid }) => {
		const text = tstrace(['profile', '-p', `${pid}`, ...CLOCK, '--format', 'text', '0.5']);
		assert.match(
			text.stdout,
			/^ +[\d,]+ samples +[\d.]+ % +burns \(\d+\)\n {4}burn_more\n {4}main$/m,
		);
		const folded = tstrace(['profile', '-p', `${pid}`, ...CLOCK, '--folded', '0.5']);
		const lines = foldedLines(folded.stdout).filter(([frames]) => frames.at(-1) === 'burn_more');
		assert.ok(lines.length > 0 && lines.every(([frames]) => frames[0] === 'burns'));
	});
});

/** Without privileges; our user, so that it does not matter where we are cloned. */
function unprivileged(...args: readonly string[]): Finished {
	return runToEnd('setpriv', ['--bounding-set=-all', TSTRACE, 'profile', ...args]);
}

test('an ordinary user: own processes, as a COMMAND and by number', async () => {
	const command = ['sh', '-c', 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'];
	const { stacks } = stackReport(unprivileged(...CLOCK, '--json', '--', ...command));
	assert.ok(sumOf(stacks) > 20);
	assert.ok(stacks.every(({ key }) => key.comm === 'sh'));
	// One with more privileges than we have is not ours to look into.
	const burns = resolve('build/workloads/burns');
	const workload = await Workload.startBy('setpriv', '--bounding-set=-all', burns, 'user');
	workload.begin();
	const own = stackReport(unprivileged(...CLOCK, '--json', '-p', `${workload.pid}`, '1')).stacks;
	await workload.end();
	assert.ok(sumOf(withFrame(own, 'burn_more')) > sumOf(withFrame(own, 'burn_less')));
	for (const { kinds } of own) assert.match(kinds, /^u/);
});

test('an ordinary user: of COMMAND, and not of the shell that held it', () => {
	// Of faults there are as many each time; the shell has its own before it becomes COMMAND.
	const args = ['-e', 'page-faults', '-c', '1', '--json', '--', 'dd', 'count=1', 'of=/dev/null'];
	const { stacks } = stackReport(unprivileged(...args, 'if=/dev/zero'));
	assert.ok(sumOf(stacks) > 20);
	assert.deepEqual([...new Set(stacks.map(({ key }) => key.comm))], ['dd']);
	assert.ok(withFrame(stacks, '_dl_start').length > 0, 'names of what the exec has mapped');
});

test('an ordinary user: kernel threads or those of processes, as asked', () => {
	const traced = (threads: string) => {
		const args = [threads, '-e', 'page-faults', '-c', '1', '--json', '--', 'dd', 'count=1'];
		return stackReport(unprivileged(...args, 'if=/dev/zero', 'of=/dev/null')).stacks;
	};
	assert.ok(sumOf(traced('--user-threads')) > 20);
	assert.deepEqual(traced('--kernel-threads'), []);
});

test("an ordinary user: somebody else's process is refused in one line", async () => {
	const others = spawn('setpriv', ['--reuid=65534', '--clear-groups', 'sleep', '1000']);
	try {
		await until(() => statSync(`/proc/${others.pid}`).uid === 65534);
		const { status, stderr } = unprivileged('-p', `${others.pid}`, '0.5');
		assert.equal(status, 1, stderr);
		assert.match(stderr, new RegExp(`^tstrace profile: .*${others.pid}.*\n$`));
	} finally {
		others.kill();
	}
});

function perfEventsOf(pid: number): number {
	return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
		try {
			return readlinkSync(`/proc/${pid}/fd/${fd}`) === 'anon_inode:[perf_event]';
		} catch {
			return false; // closed between the two
		}
	}).length;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
	test(`ended with ${signal}: the result, and nothing stays`, async () => {
		const tracing = await Tracing.start(['profile', '--format', 'text']);
		assert.ok(perfEventsOf(tracing.pid) > 0);
		assert.notDeepEqual(kernelObjects(), before);
		const { status, stdout, stderr } = await tracing.end(signal);
		if (signal === 'SIGKILL') return;
		assert.equal(status, 0, stderr);
		assert.match(stdout + stderr, /samples? taken in|no samples were taken/);
	});
}

test('a closed pipe ends it quietly', () => {
	const script = `set -o pipefail; ${TSTRACE} profile -q --folded 0.5 | head -n 1 >/dev/null`;
	const { status, stderr } = runToEnd('bash', ['-c', script]);
	assert.equal(status, 0);
	// A busy machine loses samples; long lines go on below.
	assert.equal(stderr.replace(/^(lost|note): .*\n( {6}.*\n)*/gm, ''), '');
});

test('a process that ends while it is sampled: the result', async () => {
	const workload = await Workload.start('burns', 'user');
	const tracing = await Tracing.start(['profile', '-p', `${workload.pid}`, ...CLOCK, '--json']);
	workload.begin();
	const { run_ns } = schedstat(workload.pid);
	await until(() => schedstat(workload.pid).run_ns > run_ns + 1e8);
	await workload.end();
	const { stacks } = stackReport(await tracing.end());
	assert.ok(sumOf(withFrame(stacks, 'main')) > 0);
});
