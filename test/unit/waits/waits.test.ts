/** Waits out of the kernel's maps: who ended them, what is told of all of them, and how programs are set for them. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { StackFindings, StackRow } from '../../../src/aggregate/stack-rows.js';
import { chooseInterrupts } from '../../../src/bpf/scheduling/interrupts.js';
import { chooseOffcpu } from '../../../src/bpf/scheduling/off-cpu.js';
import { askedOf } from '../../../src/cli/tool-command.js';
import { off_cpu as layout } from '../../../src/generated/off_cpu.js';
import type { BpfObject } from '../../../src/loader/object.js';
import { offcputime } from '../../../src/tools/offcputime/offcputime.js';
import { offwaketime } from '../../../src/tools/offwaketime.js';
import { wakeuptime } from '../../../src/tools/wakeuptime.js';
import { planWaits } from '../../../src/waits/plan.js';
import { readWakers } from '../../../src/waits/wakers.js';
import { ringFile } from '../loader/ring-file.js';
import { Kernel as AnyKernel, type Elements } from '../tools/kernel.js';
import { type Fields, structs } from '../tools/structs.js';
import { recordOf } from './wait-record.js';

type Raw = Readonly<Record<string, unknown>>;
const { stack_key, stack_sum, waker } = layout.structs;
const { cpu_context_kind: KIND, interrupt: INTERRUPT } = layout.enums;
const { COUNT_ONE, NO_STACK } = layout.enums.stack_constant;
const typed = (raw: Raw) => ({ raw, interval_s: 1, count: 1, command: [] });
const SUBJECTS = { filter: { pids: [], tids: [], cpus: [], comms: [] }, words: [] } as never;

class Kernel extends AnyKernel {
	constructor(t: TestContext) {
		super(t, layout);
	}
}

interface Sum {
	readonly comm: string;
	/** The key of who ended it. */
	readonly by?: number;
	readonly count: number;
	readonly doubt?: number;
	/** In ns. */
	readonly parts: readonly number[];
}

function waits(...all: readonly Sum[]): Elements {
	const keys = all.map(({ comm, by = 0 }, i) => {
		const none = { kernel: BigInt(NO_STACK), user: BigInt(NO_STACK) };
		return { ...none, tgid: 70 + i, tid: 80 + i, comm, waker: by };
	});
	const values = all.map(({ parts, count, doubt = 0 }) => {
		const bytes = new Uint8Array(BigUint64Array.from(parts.map(BigInt)).buffer);
		return { count, doubt, first_ns: 7, parts: bytes };
	});
	return [structs(stack_key, keys), structs(stack_sum, values), all.length];
}

const WAKER = {
	...{ kernel: BigInt(NO_STACK), user: BigInt(NO_STACK), tgid: 60, tid: 61, comm: 'waker' },
	...{ by_thread: 1, first_ns: 9 },
};
const wakers = (all: Readonly<Record<number, Fields<typeof waker>>>): Elements => [
	new DataView(BigUint64Array.from(Object.keys(all).map(BigInt)).buffer),
	structs(waker, Object.values(all)),
	Object.keys(all).length,
];

test('who ended waits: threads by their numbers, interrupts by what they serve', (t) => {
	const kernel = new Kernel(t);
	const interrupt = { ...WAKER, by_thread: 0, comm: 'interrupted' };
	kernel.maps.set(
		'wakers',
		wakers({
			5: { ...WAKER, kernel: 51n, user: 52n },
			6: {
				...{ ...interrupt, context: KIND.CONTEXT_SOFTIRQ },
				interrupt: INTERRUPT.INTERRUPT_NETWORK,
			},
			7: {
				...{ ...interrupt, context: KIND.CONTEXT_HARDIRQ, irq: 1_000_000 },
				interrupt: INTERRUPT.INTERRUPT_DEVICE,
			},
		}),
	);
	const addressesOf = (inKernel: bigint, inUser: bigint) => {
		return { kernel: [Number(inKernel)], user: [Number(inUser)], lost: false };
	};
	const read = readWakers(kernel.object, { addressesOf } as never);
	const told = (key: number) => {
		const { pid, tid, comm, context, at_ns } = read.get(BigInt(key)) ?? {};
		return { pid, tid, comm, context, at_ns };
	};
	const numbers = { pid: 60, tid: 61, at_ns: 9 };
	assert.deepEqual(told(5), { ...numbers, comm: 'waker', context: { context: 'thread' } });
	assert.deepEqual(told(6), {
		...{ ...numbers, comm: '<softirq: network>' },
		context: { context: 'softirq', irq: 'network' },
	});
	assert.deepEqual(told(7), {
		...{ ...numbers, comm: '<irq: 1000000>' },
		context: { context: 'hardirq', irq: 'device', irq_number: 1_000_000, device: '1000000' },
	});
	const { kernel: inKernel, user } = read.get(5n) ?? {};
	assert.deepEqual([inKernel, user], [[51], [52]]);
	const lost = read.get(BigInt(layout.enums.waker_constant.LOST_WAKER));
	assert.deepEqual([lost?.comm, lost?.pid, lost?.context], ['[waker lost]', 0, undefined]);
	assert.equal(read.size, 4);
});

/** What a tool of waits finds; `does`: what happens meanwhile. */
async function found(
	t: TestContext,
	open: (kernel: Kernel) => {
		begin?: unknown;
		begun?: () => unknown;
		end?: () => unknown;
		read: () => Promise<StackFindings>;
		close?: () => unknown;
		slowDown?: () => string | undefined;
	},
	kernel: Kernel,
) {
	const reader = open(kernel);
	t.after(() => reader.close?.());
	reader.begun?.();
	return reader;
}

const openOf =
	(tool: typeof offcputime | typeof offwaketime | typeof wakeuptime, raw: Raw) =>
	(kernel: Kernel) => {
		const { settings } = askedOf(tool as typeof offcputime, typed(raw));
		const open = tool.reader as typeof offcputime.reader;
		return open(kernel.object, settings, SUBJECTS, () => undefined, undefined);
	};

const MANY: readonly Sum[] = [
	{ comm: 'woken', by: 5, count: 3 * COUNT_ONE, parts: [400, 30, 2, 1] },
	{ comm: 'unseen', count: 2 * COUNT_ONE, parts: [50, 0, 0, 0] },
	{ comm: 'ready', count: COUNT_ONE, parts: [0, 6, 0, 0] },
	// The sum of all others, which is there from the start.
	{ comm: '', count: 0, parts: [0, 0, 0, 0] },
];
const byName = (rows: readonly StackRow[], name: string) =>
	rows.find(({ key }) => key.comm === name) as StackRow;

test('offcputime: all parts of waits, and how short ones were sampled', async (t) => {
	const kernel = new Kernel(t);
	kernel.maps.set('sums', waits(...MANY));
	const reader = await found(t, openOf(offcputime, { period: 250 }), kernel);
	const { about, parts, stacks } = await reader.read();
	assert.deepEqual(about, { period_ns: 250_000 });
	assert.deepEqual(parts, ['blocked', 'run queue', 'preempted', 'throttled']);
	assert.equal(kernel.told.period_ns, 250_000);
	assert.equal(stacks.length, 3);
	const woken = byName(stacks, 'woken');
	assert.deepEqual([woken.value, woken.parts, woken.count], [433, [400, 30, 2, 1], 3]);
	assert.equal(woken.waker, undefined);
});

test('who ended waits, or that nobody was seen to; a thread that could run was ended by nobody', async (t) => {
	const kernel = new Kernel(t);
	kernel.maps.set('sums', waits(...MANY));
	kernel.maps.set('wakers', wakers({ 5: WAKER }));
	const reader = await found(t, openOf(offcputime, { by: 'waker' }), kernel);
	const { stacks } = await reader.read();
	assert.deepEqual(
		['woken', 'unseen', 'ready'].map((name) => byName(stacks, name).waker?.key.comm),
		['waker', '[waker not seen]', undefined],
	);
});

test('tools of blocked time have no other part, and those of wakers no user stacks of who waited', async (t) => {
	for (const tool of [offwaketime, wakeuptime]) {
		const kernel = new Kernel(t);
		kernel.maps.set('sums', waits(MANY[0] as Sum));
		kernel.maps.set('wakers', wakers({ 5: WAKER }));
		const reader = await found(t, openOf(tool, {}), kernel);
		const { parts, stacks } = await reader.read();
		assert.deepEqual(parts, ['blocked']);
		assert.deepEqual(
			stacks.map((row) => [row.value, row.parts]),
			[[433, [433]]],
		);
	}
});

test('where tracing costs too much, each time fewer waits are sampled, up to one second; errors are those of that', async (t) => {
	const kernel = new Kernel(t);
	const doubt = COUNT_ONE / 2;
	kernel.maps.set('sums', waits({ comm: 'short', count: COUNT_ONE, parts: [9, 0, 0, 0], doubt }));
	const reader = await found(t, openOf(offcputime, { period: 1000 }), kernel);
	const periods: unknown[] = [];
	for (let times = 0; times < 10; times++) {
		const told = reader.slowDown?.();
		if (told !== undefined) periods.push([told, kernel.told.period_ns]);
	}
	assert.deepEqual(
		periods,
		[4, 16, 64, 256].map((ms) => [
			`tstrace now samples waits shorter than ${ms.toPrecision(3)} ms`,
			ms * 1e6,
		]),
	);
	const { about, stacks } = await reader.read();
	assert.equal(about.period_ns, 256e6);
	assert.equal(stacks[0]?.variance, 256e6 ** 2 / 2);
	const exact = await found(t, openOf(offcputime, { exact: true }), new Kernel(t));
	assert.equal(exact.slowDown?.(), undefined);
});

test('which waits count, and where: what programs are told', (t) => {
	const planned = (tool: typeof offcputime, raw: Raw, more: Raw = {}) => {
		const kernel = new Kernel(t);
		const { settings } = askedOf(tool, typed({ ...raw, unwind: 'fp' }));
		const plan = planWaits(kernel.object, { ...settings, ...more }, SUBJECTS, () => undefined);
		return { ...kernel, plan, settings };
	};
	const usual = planned(offcputime, {});
	const of = ({ told }: ReturnType<typeof planned>) => [
		...[told.shortest_ns, told.longest_ns, told.state_mask, told.state_exclusive],
		...[told.stacks_by_thread, told.with_wakers ?? false, told.walk_wakers ?? false],
	];
	assert.deepEqual(of(usual), [0, 0, 0, false, false, false, false]);
	const some = planned(offcputime, { min: 20, max: 3000, hideIdle: true });
	assert.deepEqual(of(some).slice(0, 5), [20_000, 3_000_000, 0, false, true]);
	const who = planned(offcputime, { by: 'waker', maxStacks: 777 });
	assert.deepEqual(of(who).slice(5), [true, false]);
	assert.equal(who.room.wakers, 777);
	assert.ok(who.plan.attach.includes('offcpu_waking'));
	assert.ok(!usual.plan.attach.includes('offcpu_waking'));
	assert.deepEqual(of(planned(offwaketime as never, {})).slice(5), [true, true]);
	// Edges: what was open as tracing began, and what is at its end.
	assert.deepEqual(usual.plan.runOnce, ['seed_waiting']);
	assert.deepEqual(usual.plan.load, ['end_waiting', 'find_holders']);
	const inner = planned(offcputime, { edges: false, userStacks: true });
	assert.deepEqual([inner.plan.runOnce, inner.plan.load], [[], []]);
	assert.equal(usual.told.find_objects, true);
	assert.equal(inner.told.find_objects, undefined);
	// Each program that walks a stack has a place to do that in.
	const { RESUMED_SCRATCH, WAKER_SCRATCH, SAMPLE_SCRATCH } = layout.enums.wait_scratch;
	assert.deepEqual(
		[usual.room.scratch, who.room.scratch],
		[RESUMED_SCRATCH + 1, WAKER_SCRATCH + 1],
	);
	const kernel = new Kernel(t);
	const following = { ...who.settings, followed: 3, maxStacks: 50 };
	planWaits(kernel.object, following, SUBJECTS, () => undefined, { withSamples: true });
	assert.deepEqual([kernel.room.scratch, kernel.room.sums], [SAMPLE_SCRATCH + 1, 51]);
	const inStates = planned(offcputime, { state: { mask: 3, letters: true } });
	assert.deepEqual(of(inStates).slice(2, 4), [3, true]);
	// As this kernel is: by what programs learn that threads resume, and who wakes them.
	const way = chooseOffcpu();
	const wakers = chooseInterrupts();
	assert.equal(usual.told.walk_at_switch, way.resumed === undefined);
	// Where nothing tells that, stacks are walked at the switch: by a program that can.
	assert.deepEqual(
		usual.plan.attach.filter((name) => name.startsWith('offcpu_switch')),
		[way.resumed === undefined ? 'offcpu_switch_walks' : 'offcpu_switch'],
	);
	for (const name of way.others) assert.ok(usual.plan.attach.includes(name), name);
	assert.equal(
		usual.plan.attach.some((name) => /^offcpu_(resumed|finish)/.test(name)),
		way.resumed !== undefined,
	);
	for (const name of wakers.programs) assert.ok(who.plan.attach.includes(name), name);
	assert.equal(who.told.in_hardirq, wakers.in_hardirq);
	assert.equal(who.told.preempt_count_from_rq, wakers.preempt_count_from_rq);
	assert.equal(who.plan.because, `${way.because}; ${wakers.because}`);
	// Who is followed was there before.
	const followed = planned(offwaketime as never, { edges: false }, { followed: 3 });
	assert.deepEqual(followed.plan.runOnce, ['seed_waiting']);
	assert.deepEqual(
		[followed.told.followed_wakers, followed.told.edges_count, followed.room.sums],
		[3, false, 1],
	);
});

test('options of waits: in microseconds, with limits that leave something', () => {
	const of = (raw: Raw) => {
		const { settings } = askedOf(offcputime, typed(raw));
		const { period_usec, min_usec, max_usec, edges } = settings;
		return { period_usec, min_usec, max_usec, edges };
	};
	const usual = { period_usec: 1000, min_usec: 0, max_usec: 0, edges: true };
	assert.deepEqual(of({}), usual);
	assert.deepEqual(of({ exact: true }), { ...usual, period_usec: 0 });
	assert.deepEqual(of({ min: 30 }), { ...usual, min_usec: 30 });
	assert.deepEqual(of({ max: 40, edges: false }), { ...usual, max_usec: 40, edges: false });
	assert.deepEqual(of({ min: 5, max: 5 }), { ...usual, min_usec: 5, max_usec: 5 });
	assert.throws(() => of({ min: 6, max: 5 }), { message: '--min 6 is more than --max 5' });
	assert.equal(of({ period: 1_000_000 }).period_usec, 1_000_000);
	assert.throws(() => of({ period: 1_000_001 }), { message: /at most one second/ });
});

test('waits that are shown without all of their wakers, as there are too many: said by the tool', async (t) => {
	const records = Array.from({ length: 30 }, (_, i) => {
		const wait = { type: layout.enums.wait_record_type.WAIT_BLOCKED, pid: 7, counts: 1 };
		return { bytes: recordOf({ ...wait, begin_ns: 1000 + i, end_ns: 2000 + i }, i + 1) };
	});
	const ring = ringFile(records);
	t.after(ring.close);
	const kernel = new Kernel(t);
	kernel.variables.begun_ns = 1;
	const { object } = kernel as { object: BpfObject<typeof layout> };
	const map = (name: string) => (name === 'wait_records' ? ring.map : object.map(name as never));
	const { settings } = askedOf(offwaketime, typed({ maxStacks: 3, hops: 2 }));
	const withRing = { ...object, map } as never;
	const reader = offwaketime.reader(withRing, settings, SUBJECTS, () => undefined, undefined);
	t.after(() => reader.close?.());
	reader.begun?.();
	reader.drain?.();
	const { chains_cut } = reader.lost?.() ?? {};
	// Of 30 keys, 12 have room: four for each chain.
	assert.ok(chains_cut !== undefined && chains_cut >= 17 && chains_cut <= 30, `${chains_cut}`);
});
