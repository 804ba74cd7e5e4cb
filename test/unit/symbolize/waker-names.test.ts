/** Who woke whom, what for, and where, once stacks have names; names are given by the test. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CapturedStack, CapturedWaker, Cut } from '../../../src/aggregate/stack.js';
import type { WaitObject } from '../../../src/aggregate/wait-object.js';
import { WAIT_PARTS } from '../../../src/aggregate/wait-parts.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { type NamingOptions, nameStacks } from '../../../src/symbolize/naming.js';
import { Symbolizer } from '../../../src/symbolize/symbolizer.js';
import { stackOf } from './support.js';

const KERNEL = [
	'bpf_prog_0123_switch',
	'bpf_trace_run4',
	'__traceiter_sched_switch',
	'__schedule',
	'pipe_read',
	'asm_sysvec_apic_timer_interrupt',
	'handle_softirqs',
];
const [PROG, RUN, ITER, SCHEDULE, PIPE, HARDIRQ, SOFTIRQ] = [-1, -2, -3, -4, -5, -6, -7] as const;

interface Told {
	readonly cut?: Cut;
	readonly callerMissing?: boolean;
}

/** Kernel functions have the names above, user functions "u1", …; `told`: of the stack with this leaf. */
async function named(
	t: TestContext,
	stacks: readonly CapturedStack[],
	options: Partial<NamingOptions> = {},
	told: Readonly<Record<number, Told>> = {},
) {
	let all: readonly CapturedStack[] = [];
	let depth: number | undefined;
	const { mock } = t.mock.method(
		Symbolizer.prototype,
		'resolve',
		async (given: readonly CapturedStack[], most: number) => {
			all = given;
			depth = most;
			return given.map(({ kernel, user }) => ({
				kernel: Array.from(kernel, (at) => ({ name: KERNEL[-1 - at] ?? '?', kind: 'kernel' })),
				user: Array.from(user, (at) => ({ name: `u${at}`, kind: 'user' })),
				...told[user[0] ?? 0],
			}));
		},
	);
	const result = await nameStacks(stacks, new ProcessHistory(), {
		...{ debuginfod: false, maxDepth: 99, ...options },
	});
	mock.restore();
	return { rows: result.stacks, all, depth };
}

const namesOf = (frames: readonly { readonly name: string }[] = []) =>
	frames.map(({ name }) => name);

/** A wait; all of it blocked, unless it is said. */
const wait = (value: number, more: Partial<CapturedStack> = {}): CapturedStack => {
	const parts = WAIT_PARTS.map((_, i) => (i === 0 ? value : 0));
	return stackOf([1], { pid: 70, comm: 'waiter', parts, count: 2, variance: 16, ...more });
};

const waker = (more: Partial<CapturedWaker> = {}): CapturedWaker => ({
	...stackOf([5], { pid: 80, tid: 81, comm: 'waker', parts: [], count: 0, variance: 0 }),
	...more,
});

const FILE: WaitObject = { type: 'file', path: '/a' };
const DEVICE: WaitObject = { type: 'device', path: '/dev/b' };

test('the way from the tracepoint to our program is left out where stacks begin there, and nowhere else', async (t) => {
	const kernel = [PROG, RUN, ITER, SCHEDULE, PIPE];
	const of = async (fromTracepoint: boolean, more: Partial<CapturedStack> = {}) => {
		const { rows } = await named(t, [wait(3, { kernel, ...more })], { fromTracepoint });
		return namesOf(rows[0]?.frames);
	};
	const ours = ['__traceiter_sched_switch', 'bpf_trace_run4', 'bpf_prog_0123_switch'];
	assert.deepEqual(await of(true), ['u1', 'pipe_read', '__schedule']);
	assert.deepEqual(await of(false), ['u1', 'pipe_read', '__schedule', ...ours]);
	assert.deepEqual(await of(true, { lost: true }), [
		...['u1', '[stack lost]', 'pipe_read', '__schedule'],
	]);
	// There is nothing else.
	assert.deepEqual(await of(true, { kernel: [PROG, RUN, ITER] }), ['u1', ...ours]);
});

test('what threads waited for: for as much of the wait as they were blocked', async (t) => {
	const of = async (stack: CapturedStack) => (await named(t, [stack])).rows[0]?.objects;
	assert.deepEqual(await of(wait(12, { object: FILE })), [
		{ object: FILE, value: 12, count: 2, variance: 16 },
	]);
	// A quarter of it; of squares a sixteenth.
	const parts = WAIT_PARTS.map((_, i) => [3, 9][i] ?? 0);
	assert.deepEqual(await of(wait(0, { object: FILE, parts })), [
		{ object: FILE, value: 3, count: 2, variance: 1 },
	]);
	const runnable = WAIT_PARTS.map((_, i) => [0, 9][i] ?? 0);
	assert.equal(await of(wait(0, { object: FILE, parts: runnable })), undefined);
	assert.equal(await of(wait(12)), undefined);
});

test('what a waker waited for meanwhile, who ended that, and so on; the names of each are given once', async (t) => {
	const third = waker({ user: [7], pid: 90, tid: 0, comm: 'third', did: 'ran', object: DEVICE });
	const second = waker({ did: 'was blocked', object: FILE, waker: third });
	const { rows, all, depth } = await named(
		t,
		[
			wait(12, { waker: second }),
			wait(5, { pid: 71, waker: second }),
			wait(2, { pid: 72, waker: third }),
		],
		{},
		{ 5: { cut: 'no table', callerMissing: true } },
	);
	const [first = assert.fail()] = rows;
	const asSecond = {
		key: { pid: 80, tid: 81, comm: 'waker' },
		frames: [{ name: 'u5', kind: 'user' }],
		...{ cut: 'no table', callerMissing: true, did: 'was blocked' },
	};
	// It ran: what it may have waited for at another time has nothing to do with this.
	const asThird = {
		key: { pid: 90, comm: 'third' },
		frames: [{ name: 'u7', kind: 'user' }],
		did: 'ran',
	};
	assert.deepEqual(first.waker, {
		...asSecond,
		objects: [{ object: FILE, value: 12, count: 2, variance: 16 }],
		waker: asThird,
	});
	assert.equal(rows[1]?.waker?.objects?.[0]?.value, 5);
	assert.deepEqual(rows[2]?.waker, asThird);
	// Each with the value of the waits that it ended: notices say in how much names are missing.
	const weights = all.slice(3).map(({ comm, parts }) => [comm, ...parts]);
	assert.deepEqual(weights, [
		['waker', 17],
		['third', 19],
	]);
	assert.equal(depth, 99);
});

test('of an interrupt its own frames, without what it has interrupted; of a thread all of them', async (t) => {
	const kernel = [SCHEDULE, SOFTIRQ, PIPE, HARDIRQ, PIPE];
	const of = async (more: Partial<CapturedWaker>) => {
		const stack = wait(3, { waker: waker({ kernel, ...more }) });
		const { rows } = await named(t, [stack]);
		const { key, frames } = rows[0]?.waker ?? assert.fail();
		return { key, names: namesOf(frames) };
	};
	const whole = [
		...['u5', 'pipe_read', 'asm_sysvec_apic_timer_interrupt'],
		...['pipe_read', 'handle_softirqs', '__schedule'],
	];
	const key = { pid: 80, tid: 81, comm: 'waker' };
	const timer = { context: 'hardirq', irq: 'timer' };
	assert.deepEqual(await of({ context: timer }), {
		key: { ...key, ...timer },
		names: whole.slice(2),
	});
	const softirq = { context: 'softirq' };
	assert.deepEqual(await of({ context: softirq }), {
		key: { ...key, ...softirq },
		names: whole.slice(4),
	});
	assert.deepEqual(await of({ context: { context: 'thread' } }), {
		key: { ...key, context: 'thread' },
		names: whole,
	});
	// Where it was blocked before is no interrupt's.
	assert.deepEqual((await of({ context: timer, did: 'was blocked' })).names, whole);
	assert.deepEqual((await of({ pid: 0, tid: 0, comm: '<timer>' })).key, { comm: '<timer>' });
});

test('where a waker was blocked its stack is that of then; elsewhere it begins at a tracepoint', async (t) => {
	const kernel = [PROG, RUN, SCHEDULE];
	const of = async (more: Partial<CapturedWaker>) => {
		const { rows } = await named(t, [wait(3, { waker: waker({ kernel, ...more }) })]);
		return namesOf(rows[0]?.waker?.frames);
	};
	assert.deepEqual(await of({ did: 'ran' }), ['u5', '__schedule']);
	assert.deepEqual(await of({}), ['u5', '__schedule']);
	assert.deepEqual(await of({ did: 'was blocked' }), [
		...['u5', '__schedule', 'bpf_trace_run4', 'bpf_prog_0123_switch'],
	]);
});

test('a stack of its own for each thread, and for what the kernel does for nobody', async (t) => {
	const { rows } = await named(
		t,
		[
			wait(4, { pid: 0, tid: 0, comm: 'swapper' }),
			wait(3, { pid: 7, tid: 0, comm: '' }),
			wait(2, { pid: 0, tid: 0, comm: '' }),
			wait(1, { user: [2] }),
		],
		{},
		{ 2: { cut: 'too deep', callerMissing: true } },
	);
	assert.deepEqual(
		rows.map(({ key }) => key),
		[
			{ pid: 0, comm: 'swapper' },
			{ pid: 7, comm: '' },
			{ comm: '[others]' },
			{ pid: 70, comm: 'waiter' },
		],
	);
	assert.deepEqual(
		rows.map(({ cut, callerMissing }) => [cut, callerMissing]),
		[...Array.from({ length: 3 }, () => [undefined, undefined]), ['too deep', true]],
	);
});
