/** offcputime against workloads that say themselves where they waited, and how long. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { leftOut, nearSchedInfo, otherLosses, unseenIn } from './reports.js';
import {
	errorOf,
	foldedLines,
	near,
	SLACK,
	type StackReport,
	stackReport,
	sumOf,
	traceWork,
	withFrame,
} from './stacks.js';
import { needs, runToEnd, Tracing, TSTRACE, until, Workload } from './support.js';
import { now_ns, schedstat, stealing } from './times.js';

/** How long a thread stands still, that has waited for a CPU for longer before. */
const STOPPED_NS = 2e8;
/** In the order in which the workload `waits` reports them. */
const FUNCTIONS = ['wait_in_nanosleep', 'wait_in_pipe', 'wait_in_futex', 'wait_in_vfork'];
const ROUNDS = 50;
const NAP_USEC = 10_000;
/** And what they need; no kernel has all. */
const HOOKS = [
	['sched_exit', 'sched_exit_tp'],
	['kprobe', 'kprobes'],
	['switch', undefined],
] as const;

let before = kernelObjects();
beforeEach(() => {
	before = kernelObjects();
});
afterEach(() => untilReleased(before));

/** Of n waits, those whose end this kernel did not trace are not in the sums, but are said. */
function unseenShare({ lost }: StackReport, waits: number): number {
	return Math.min(1, (lost.waits_unseen ?? 0) / waits);
}

/** `value`, against what the workload measured: some of it may have been stolen from the worker
 * itself, and is in neither its CPU time nor its waits. */
function nearTime(value: number, most: number, stolen: number, share: number, what: string): void {
	near(value, most - stolen / 2, stolen / 2 + most * share, what);
}

for (const [hook, feature] of HOOKS) {
	test(
		`${hook}: --exact: time in known functions, as they measured it`,
		needs(feature),
		async () => {
			const workload = await Workload.start('waits', `${ROUNDS}`, `${NAP_USEC}`);
			const args = ['offcputime', '-t', `${workload.tid}`, '--exact', '--json'];
			const stolen_ns = stealing();
			const { finished, done } = await traceWork(workload, args, { TSTRACE_FORCE: hook });
			const report = stackReport(finished);
			const unseen = unseenShare(report, ROUNDS);
			const cut_ns = sumOf(report.stacks.filter(({ cut }) => cut));
			const said = `lost: ${JSON.stringify(report.lost)}; ${cut_ns} ns are in cut stacks`;
			for (const [index, name] of FUNCTIONS.entries()) {
				const stacks = withFrame(report.stacks, name);
				nearTime(sumOf(stacks), done[index] ?? 0, stolen_ns(), 0.02 + unseen, `${name}, ${said}`);
				const least_ns = ROUNDS * NAP_USEC * 1000 * (0.98 - unseen) - stolen_ns();
				if (/nanosleep|vfork/.test(name)) assert.ok(sumOf(stacks) >= least_ns, name);
				// On a busy machine a thread may come to wait for what has already happened.
				assert.ok(sumOf(stacks, 'count') >= ROUNDS * (0.9 - unseen), `each wait in ${name}`);
				assert.equal(errorOf(stacks), 0, 'exact');
				for (const stack of stacks) {
					assert.deepEqual(stack.key, { pid: workload.pid, comm: 'waits' });
					assert.equal(stack.value, stack.blocked + stack.run_queue + stack.preempted);
					assert.match(stack.kinds, /^u+k+$/);
					assert.equal(stack.kinds.length, stack.frames.length);
				}
			}
			assert.equal(report.unit, 'ns');
		},
	);

	test(`${hook}: sampled: within what is stated as the error`, needs(feature), async () => {
		const workload = await Workload.start('waits', '1500', '400');
		const args = ['offcputime', '-t', `${workload.tid}`, '--json'];
		const stolen_ns = stealing();
		const { finished, done } = await traceWork(workload, args, { TSTRACE_FORCE: hook });
		const report = stackReport(finished);
		for (const [index, name] of FUNCTIONS.entries()) {
			const stacks = withFrame(report.stacks, name);
			const most_ns = done[index] ?? 0;
			// Four, so that of ten thousand runs with four functions each less than three fail by chance.
			const share = (4 * errorOf(stacks)) / most_ns + 0.02 + unseenShare(report, 1500);
			nearTime(sumOf(stacks), most_ns, stolen_ns(), share, name);
		}
		assert.ok(errorOf(report.stacks) > 0, 'it is an estimate');
	});

	test(`${hook}: time on and off the CPU are all the time there was`, needs(feature), async () => {
		const hog = await Workload.start('hog', '0');
		const workload = await Workload.start('mixes');
		const { tid } = workload;
		// What it has waited for a CPU until then is nothing of what is traced.
		await until(() => schedstat(tid).delay_ns > 2 * STOPPED_NS);
		// It stands still at both ends, so that sched_info and our sum are of the same time.
		await workload.stop();
		const stolen_ns = stealing();
		const { run_ns, delay_ns } = schedstat(tid);
		const args = ['offcputime', '-t', `${tid}`, '--exact', '--json'];
		const tracing = await Tracing.start(args, { TSTRACE_FORCE: hook });
		const begins_ns = now_ns();
		await until(() => now_ns() > begins_ns + STOPPED_NS);
		workload.continue();
		await until(() => schedstat(tid).waits > 400 && schedstat(tid).run_ns - run_ns > 1e9);
		await workload.stop();
		const queued_ns = schedstat(tid).delay_ns - delay_ns;
		const ran_ns = schedstat(tid).run_ns - run_ns;
		const report = stackReport(await tracing.end('SIGINT'));
		workload.continue();
		await workload.end();
		await hog.end();
		const { stacks, duration_s } = report;
		const waits = sumOf(stacks, 'count');
		const all_ns = duration_s * 1e9;
		const parts = (['blocked', 'run_queue', 'preempted'] as const).map((part) => {
			assert.ok(sumOf(stacks, part) > 0, part);
			return sumOf(stacks, part);
		});
		const off_ns = parts.reduce((sum, part) => sum + part, 0);
		const unknown_ns = all_ns * (0.01 + unseenShare(report, waits)) + stolen_ns();
		near(ran_ns + off_ns, all_ns, unknown_ns, 'all the time');
		// Least of all that it was stopped.
		const ready_ns = sumOf(stacks, 'run_queue') + sumOf(stacks, 'preempted');
		const most_ns = queued_ns + STOPPED_NS / 2 + unknown_ns;
		assert.ok(ready_ns < most_ns, `${ready_ns} of ${queued_ns} in queues`);
	});
}

test('the same stacks in text and folded', async () => {
	for (const format of ['text', 'folded']) {
		const workload = await Workload.start('waits', '50', `${NAP_USEC}`);
		const args = ['offcputime', '-t', `${workload.tid}`, '--exact', '--format', format];
		const { finished, done } = await traceWork(workload, args);
		assert.equal(finished.status, 0, finished.stderr);
		for (const [index, name] of FUNCTIONS.entries()) {
			const expected_usec = (done[index] ?? 0) / 1000;
			// Waits that were not traced are said on stderr, there; a few of 50.
			if (format === 'folded') {
				const lines = foldedLines(finished.stdout).filter(([frames]) => frames.includes(name));
				assert.ok(lines.every(([frames]) => frames[0] === 'waits'));
				const sum_usec = lines.reduce((sum, [, value]) => sum + value, 0);
				near(sum_usec, expected_usec, expected_usec * 0.1, name);
			} else {
				// Leaf first; the first line has the time.
				const block = finished.stdout.split('\n\n').find((each) => each.includes(`    ${name}\n`));
				const [, number, unit] =
					/^\s*([\d.,]+) (s|ms|us)\s/.exec(block ?? '') ?? assert.fail(block);
				const usec = { s: 1e6, ms: 1e3, us: 1 }[unit as 's'] * Number(number?.replace(',', ''));
				near(usec, expected_usec, expected_usec * 0.1, name);
			}
		}
	}
});

test('--split: each part as the root of a stack of its own', async () => {
	const workload = await Workload.start('waits', '50', `${NAP_USEC}`);
	const args = ['offcputime', '-t', `${workload.tid}`, '--exact', '--split', '--folded'];
	const { finished, done } = await traceWork(workload, args);
	const lines = foldedLines(finished.stdout);
	for (const [frames] of lines) {
		assert.match(frames[0] ?? '', /^(blocked|run queue|preempted)$/);
		assert.equal(frames[1], 'waits');
	}
	// It sleeps on purpose only, and is hardly ever kept waiting for a CPU.
	const nap = lines.filter(([frames]) => frames.includes('wait_in_nanosleep'));
	const blocked = nap.filter(([[kind]]) => kind === 'blocked');
	assert.ok((blocked[0]?.[1] ?? 0) * 1000 >= 0.9 * 50 * NAP_USEC * 1000, 'naps are blocked');
	const all = nap.reduce((sum, [, value]) => sum + value, 0);
	near(all, (done[0] ?? 0) / 1000, (done[0] ?? 0) / 10_000, 'the parts are the whole');
});

test('two that keep one CPU busy are preempted, and nothing else', async () => {
	const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
	const pids = hogs.map(({ pid }) => pid);
	// The one that waits as tracing begins may have been woken; sched_info does not say.
	const tracing = await Tracing.start(['offcputime', '--no-edges', '-p', pids.join(), '--json']);
	const waits = schedstat(pids[0] as number).waits;
	await until(() => schedstat(pids[0] as number).waits > waits + 50);
	const { stacks, duration_s } = stackReport(await tracing.end('SIGINT'));
	for (const hog of hogs) await hog.end();
	assert.equal(sumOf(stacks, 'preempted'), sumOf(stacks));
	for (const pid of pids) {
		const its = stacks.filter(({ key }) => key.pid === pid);
		assert.ok(sumOf(its) > duration_s * 1e9 * 0.3, 'each waits about half of the time');
		assert.ok(withFrame(its, 'main').length > 0);
	}
});

test('who is woken behind somebody else waits on a run queue, as long as the kernel says', async () => {
	const workload = await Workload.start('wakeups', '5000');
	const args = ['offcputime', '-t', `${workload.tid}`, '--exact', '--json'];
	const stolen_ns = stealing();
	const { finished, done } = await traceWork(workload, args);
	const [waits = 0, delay_ns = 0] = done;
	const { stacks } = stackReport(finished);
	const queued_ns = sumOf(stacks, 'run_queue') + sumOf(stacks, 'preempted');
	const left = { out: leftOut(finished.stdout), of: waits, stolen_ns: stolen_ns() };
	nearSchedInfo(queued_ns, delay_ns, 5 * SLACK, left);
	assert.ok(sumOf(stacks, 'run_queue') > 0.5 * queued_ns);
});

for (const [hook, feature] of HOOKS) {
	test(`${hook}: who waits as tracing begins, or still as it ends`, needs(feature), async () => {
		const workload = await Workload.start('edges');
		const args = ['offcputime', '-p', `${workload.pid}`, '-L', '--exact', '--json'];
		const stolen_ns = stealing();
		const { finished, done } = await traceWork(workload, args, { TSTRACE_FORCE: hook });
		const { stacks, duration_s, lost } = stackReport(finished);
		const all_ns = duration_s * 1e9;
		const throughout = withFrame(stacks, 'asleep_throughout');
		const unknown_ns = all_ns * 0.02 + stolen_ns();
		near(sumOf(throughout), all_ns, unknown_ns, 'asleep throughout');
		assert.equal(throughout[0]?.key.tid, done[0]);
		assert.ok(throughout[0]?.frames.includes('futex_wait'), throughout[0]?.frames.join());
		const its = stacks.filter(({ key }) => key.tid === workload.tid);
		const then = withFrame(its, 'asleep_from_then_on');
		const first = its.filter((stack) => !then.includes(stack));
		assert.ok(sumOf(then) > 1.2e9);
		// The kernel may not show that it got a CPU; then the wait before that is not known.
		const unseen_ns = lost.waits_unseen ? all_ns - sumOf(then) : 0;
		assert.ok(unseen_ns > 0 || sumOf(first) > 0);
		near(sumOf(first) + sumOf(then), all_ns, unknown_ns + unseen_ns, 'asleep but for a moment');
		// By way of switch, user frames are walked as a thread stops; this one had before.
		if (hook !== 'switch' && unseen_ns === 0)
			assert.ok(withFrame(first, 'woken_in_between').length > 0);
	});
}

test('--no-edges: these are left out', async () => {
	const workload = await Workload.start('edges');
	const args = ['offcputime', '-p', `${workload.pid}`, '--no-edges', '--json'];
	const { finished } = await traceWork(workload, args);
	const { stacks } = stackReport(finished);
	const edges = /^(asleep_throughout|woken_in_between|asleep_from_then_on)$/;
	assert.deepEqual(withFrame(stacks, edges), []);
});

/** As test/workloads/paths.c has it. */
const PATH_BITS = 15;

test('20,000 different stacks: none is lost', async () => {
	const COUNT = 20_000;
	const workload = await Workload.start('paths', '0', `${COUNT}`);
	const args = ['offcputime', '-p', `${workload.pid}`, '--exact', '--json'];
	const { finished, done } = await traceWork(workload, args);
	const [slept = 0] = done;
	const { stacks, lost } = stackReport(finished);
	const paths = withFrame(withFrame(stacks, 'path_ends'), 'do_nanosleep');
	const unseen = unseenIn(lost);
	assert.deepEqual(otherLosses(lost), {});
	const names = new Set(paths.map(({ frames }) => frames.join(';')));
	assert.equal(names.size, paths.length, 'each is there once');
	// All begin and end alike, and have their own path in between: the bits of its number.
	const alike = ({ frames }: (typeof paths)[number], from: number, to?: number) =>
		frames.slice(from, to).join(';');
	const first = paths[0] as (typeof paths)[number];
	const main = first.frames.indexOf('main');
	const end = main + 1 + PATH_BITS;
	assert.match(first.frames[0] ?? '', /^_start$|^__libc_start/);
	for (const path of paths) {
		assert.equal(alike(path, 0, main + 1), alike(first, 0, main + 1));
		assert.equal(alike(path, end), alike(first, end));
	}
	const numbers = paths.map(({ frames }) =>
		frames.slice(main + 1, end).reduce((sum, frame, bit) => {
			assert.match(frame, /^(zero|one)$/);
			return sum + (frame === 'one' ? 2 ** bit : 0);
		}, 0),
	);
	assert.ok(numbers.every((number) => number < COUNT));
	assert.equal(new Set(numbers).size, paths.length);
	assert.ok(slept > 0.98 * COUNT);
	assert.ok(paths.length >= slept - unseen, `${paths.length} stacks of ${slept} waits`);
});

test('--max-stacks: what has no room is counted, and its time is not lost', async () => {
	const COUNT = 5000;
	const workload = await Workload.start('paths', '0', `${COUNT}`);
	const args = ['offcputime', '-p', `${workload.pid}`, '--exact', '--json', '--max-stacks', '100'];
	const { finished, done } = await traceWork(workload, args);
	const [slept = 0] = done;
	const { stacks, lost } = stackReport(finished);
	// A hundred, the others, and one that waits still.
	assert.ok(stacks.length <= 102, `${stacks.length} stacks`);
	assert.ok((lost.stacks_full ?? 0) >= slept - 101 - (lost.waits_unseen ?? 0));
	assert.ok(sumOf(stacks, 'count') >= slept - (lost.waits_unseen ?? 0), 'all are counted');
	for (const { kinds } of stacks) assert.match(kinds, /^u*k*$/);
	assert.match(finished.stderr, /^lost: [\s\S]*?--max-stacks\s+\(stacks_full\)$/m);
});

test('Ctrl-C ends with the result, a closed pipe quietly', async () => {
	const tracing = await Tracing.start(['offcputime', '--format', 'text']);
	const { status, stdout } = await tracing.end('SIGINT');
	assert.equal(status, 0);
	assert.match(stdout, / waited in [\d,]+ stacks/);
	const closed = runToEnd('bash', [
		'-c',
		`set -o pipefail; ${TSTRACE} offcputime -q --folded 0.5 | head -n 1 >/dev/null`,
	]);
	assert.equal(closed.status, 0);
	assert.equal(closed.stderr.replace(/^lost: .*\n( {6}.*\n)*/gm, ''), '');
});
