/** Blocked time that nobody was seen to end: the program that sees wakers does not run here. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import type { StackRow } from '../../src/aggregate/stack-rows.js';
import { valuesOf } from '../../src/options/typed-option.js';
import { commonSettings } from '../../src/run/common-options.js';
import { BpfTracing } from '../../src/run/tracing.js';
import { offcputime } from '../../src/tools/offcputime/offcputime.js';
import { offwaketime } from '../../src/tools/offwaketime.js';
import { planWaits } from '../../src/waits/plan.js';
import { near } from './stacks.js';
import { Workload } from './support.js';

/** As the bundle finds them beside itself. */
process.env.TSTRACE_BPF_DIR = resolve('dist/bpf', process.arch);

const COUNT = 100;
const UNSEEN = '[waker not seen]';
/** Each wait, of each thread, that begins and ends while it is traced. */
const CHOICE = { exact: true, edges: false, tids: true };

/** All the programs that there are but one. */
const blind: typeof planWaits = (object, settings, subjects, note) => {
	const plan = planWaits(object, settings, subjects, note);
	const attach = plan.attach.filter((name) => name !== 'offcpu_waking');
	assert.equal(attach.length, plan.attach.length - 1);
	return { ...plan, attach };
};

/** Traces of a process that go on; what they find, as programs are told it. */
const TOOLS = {
	offwaketime(pid: number, plan: typeof planWaits) {
		const [common, subjects] = ofProcess(pid);
		const settings = offwaketime.settings(valuesOf(offwaketime.options(), CHOICE), common);
		const tracing = new BpfTracing({ ...offwaketime, plan }, settings, subjects, QUIETLY);
		const shown = async () => (await tracing.reader.read()).stacks;
		return { tracing, shown };
	},
	byWaker(pid: number, plan: typeof planWaits) {
		const [common, subjects] = ofProcess(pid);
		const values = valuesOf(offcputime.options(), { ...CHOICE, by: 'waker' });
		const settings = offcputime.settings(values, common);
		const tracing = new BpfTracing({ ...offcputime, plan }, settings, subjects, QUIETLY);
		const shown = async () => {
			const found = await tracing.reader.read();
			return offcputime.text(settings).shown?.(found, true).stacks ?? assert.fail();
		};
		return { tracing, shown };
	},
};

const QUIETLY = { verbose: false, note: () => {} };

function ofProcess(pid: number) {
	const common = commonSettings({ pid: [pid] }, [], 'stacks');
	return [common, { filter: common.filter, command: undefined, words: [] }] as const;
}

/** Of one thread, which is woken COUNT times: what is found by who sees wakers, and by who does not. */
async function foundBy(tool: keyof typeof TOOLS): Promise<[StackRow[], StackRow[]]> {
	const woken = await Workload.start('woken', 'pipe', `${COUNT}`);
	const traces = [planWaits, blind].map((plan) => TOOLS[tool](woken.pid, plan));
	try {
		await woken.work();
		for (const { tracing } of traces) tracing.detach();
		const found = await Promise.all(traces.map(({ shown }) => shown()));
		const ofSleeper = (rows: readonly StackRow[] = []) =>
			rows.filter(({ key }) => key.tid === woken.tid);
		return [ofSleeper(found[0]), ofSleeper(found[1])];
	} finally {
		for (const { tracing } of traces) tracing.close();
		await woken.end();
	}
}

const blocked_ns = (rows: readonly StackRow[]) =>
	rows.reduce((all, { parts }) => all + (parts[0] ?? 0), 0);

test('offwaketime: all blocked time is there, and nobody is named for it', async () => {
	const [seen, sleeps] = await foundBy('offwaketime');
	for (const { waker } of seen) assert.notEqual(waker?.key.comm, UNSEEN);
	const waits = sleeps.reduce((all, { count }) => all + count, 0);
	near(waits, COUNT, 2, 'waits');
	// Who sees the waker counts until it acts, and not until the thread is in the run queue.
	assert.ok(blocked_ns(sleeps) > 0.95 * blocked_ns(seen), 'blocked time');
	for (const { value, waker } of sleeps) {
		assert.ok(value > 0);
		assert.deepEqual([waker?.key.comm, waker?.frames, waker?.key.pid || 0], [UNSEEN, [], 0]);
	}
});

test('offcputime --by waker: blocked time says so, and no other part of a wait does', async () => {
	const [seen, rows] = await foundBy('byWaker');
	for (const { waker } of seen) assert.notEqual(waker?.key.comm, UNSEEN);
	near(blocked_ns(rows), blocked_ns(seen), 0.05 * blocked_ns(seen), 'blocked time');
	assert.ok(blocked_ns(rows) > 0);
	for (const { key, parts, waker } of rows) {
		if (parts[0]) {
			assert.deepEqual([key.waker, waker?.key.comm], [UNSEEN, UNSEEN]);
		} else {
			assert.match(`${key.waker}`, /^(run queue|preempted|throttled)$/);
			assert.equal(waker, undefined);
		}
	}
});
