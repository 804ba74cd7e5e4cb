import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackSnapshot } from '../../../src/bpf/stacks/stacks.js';
import { off_cpu as layout } from '../../../src/generated/off_cpu.js';
import { OpenWaits } from '../../../src/waits/open-waits.js';

const WAIT = layout.structs.still_waiting;
const KEY = layout.structs.stack_key.fields;
const BEGUN_NS = 1000;
const ENDED_NS = 5000;

interface Wait {
	readonly tgid: number;
	readonly tid: number;
	readonly blocked_ns: number;
	readonly inRunQueue_ns?: number;
	/** A stack that a program walked; undefined: it is to be walked from outside. */
	readonly user?: bigint;
}

/** As the kernel writes them. */
function written(waits: readonly Wait[]): DataView {
	const view = new DataView(new ArrayBuffer(WAIT.size * waits.length));
	for (const [i, { tgid, tid, blocked_ns, inRunQueue_ns = 0, user = 0n }] of waits.entries()) {
		const at = i * WAIT.size;
		const key = at + WAIT.fields.key.offset;
		view.setUint32(key + KEY.tgid.offset, tgid, true);
		view.setBigUint64(key + KEY.user.offset, user, true);
		view.setUint32(at + WAIT.fields.tid.offset, tid, true);
		view.setBigUint64(at + WAIT.fields.parts.offset, BigInt(blocked_ns), true);
		view.setBigUint64(at + WAIT.fields.parts.offset + 8, BigInt(inRunQueue_ns), true);
		for (const word of [0, 8, 16])
			view.setBigUint64(at + WAIT.fields.registers.offset + word, BigInt(0x5000 + tid), true);
	}
	return view;
}

/** Of each stack only whose it is, and which mutex it waits for. */
const snapshot = {
	captured: (view: DataView, at: number, counted: object) => ({
		pid: view.getUint32(at + KEY.tgid.offset, true),
		tid: 0,
		comm: 'worker',
		object: { type: 'futex', owner: { tid: 77 } },
		...counted,
	}),
} as unknown as StackSnapshot;

/** `stackOf`: what is found of a thread's stack. */
function taken(waits: readonly Wait[], stackOf: (tid: number) => number[]) {
	const walked: number[] = [];
	const open = new OpenWaits();
	open.take(written(waits), ({ tid }) => {
		walked.push(tid);
		return { user: stackOf(tid), userEnd: 'whole' };
	});
	return { open, walked, captured: open.captured(snapshot, BEGUN_NS, ENDED_NS) };
}

test('waits of a process that are alike are one stack, which has the sum of them', () => {
	const waits = [
		{ tgid: 1, tid: 11, blocked_ns: 100 },
		{ tgid: 1, tid: 12, blocked_ns: 30 },
		{ tgid: 1, tid: 13, blocked_ns: 7 },
		{ tgid: 2, tid: 21, blocked_ns: 5 },
	];
	const { captured } = taken(waits, (tid) => (tid === 13 ? [1, 2, 9] : [1, 2, 3]));
	const shown = captured.map(({ pid, user, count, parts, at_ns }) => [
		pid,
		user,
		count,
		parts,
		at_ns,
	]);
	assert.deepEqual(shown, [
		[1, [1, 2, 3], 2, [130, 0, 0, 0], ENDED_NS],
		[1, [1, 2, 9], 1, [7, 0, 0, 0], ENDED_NS],
		[2, [1, 2, 3], 1, [5, 0, 0, 0], ENDED_NS],
	]);
});

test('stacks that end otherwise, or go through other functions, are not alike; what a program has walked has none of these', () => {
	const waits = [11, 12, 13, 14].map((tid) => ({ tgid: 1, tid, blocked_ns: tid }));
	const walked = { tgid: 1, tid: 15, blocked_ns: 15, user: 5n };
	const open = new OpenWaits();
	const place = (name: string) => new Map([[1, [{ place: name }]]]) as never;
	const stacks: Record<number, object> = {
		11: { user: [1], userEnd: 'whole' },
		12: { user: [1], userEnd: 'cut' },
		13: { user: [1], userEnd: 'whole', functions: place('a') },
		14: { user: [1], userEnd: 'whole', functions: place('b') },
	};
	open.take(written([...waits, walked]), ({ tid }) => stacks[tid] as never);
	const captured = open.captured(snapshot, BEGUN_NS, ENDED_NS);
	assert.deepEqual(
		captured.map(({ user, userEnd, parts }) => [user, userEnd, parts[0]]),
		[
			[[1], 'whole', 11],
			[[1], 'cut', 12],
			[[1], 'whole', 13],
			[[1], 'whole', 14],
			[undefined, undefined, 15],
		],
	);
});

test('threads that are alike stayed if one of them did, not if they did together', () => {
	const half = (ENDED_NS - BEGUN_NS) / 2;
	const waits = [11, 12].map((tid) => ({ tgid: 1, tid, blocked_ns: half }));
	assert.deepEqual([...taken(waits, () => [1]).open.stayed], []);
});

test('a thread that was never blocked is apart: nobody woke it', () => {
	const waits = [
		{ tgid: 1, tid: 11, blocked_ns: 100, inRunQueue_ns: 1 },
		{ tgid: 1, tid: 12, blocked_ns: 0, inRunQueue_ns: 40 },
	];
	const { captured } = taken(waits, () => [1]);
	assert.deepEqual(
		captured.map(({ parts }) => parts),
		[
			[100, 1, 0, 0],
			[0, 40, 0, 0],
		],
	);
});

test('the shortest waits are walked first, and those that a program has walked are not', () => {
	const waits = [
		{ tgid: 1, tid: 11, blocked_ns: 100 },
		{ tgid: 1, tid: 12, blocked_ns: 30 },
		{ tgid: 1, tid: 13, blocked_ns: 60, user: 5n },
		{ tgid: 1, tid: 14, blocked_ns: 60 },
	];
	assert.deepEqual(taken(waits, () => [1]).walked, [12, 14, 11]);
});

test('each thread that waits for a mutex is told, however many are alike; and who stayed', () => {
	const waits = [11, 12, 13].map((tid) => ({ tgid: 1, tid, blocked_ns: ENDED_NS - BEGUN_NS }));
	const { open } = taken(waits, () => [1]);
	assert.deepEqual(
		open.forMutexes,
		[11, 12, 13].map((tid) => ({ tid, comm: 'worker', owner: 77 })),
	);
	assert.deepEqual([...open.stayed], [0]);
	const shorter = [{ tgid: 1, tid: 11, blocked_ns: 10 }];
	assert.deepEqual([...taken(shorter, () => [1]).open.stayed], []);
});

test('a stack is walked in its own process, from the registers that the thread had', () => {
	const view = written([{ tgid: 7, tid: 12, blocked_ns: 100 }]);
	for (const [i, register] of [0x5012, 0x7000, 0x7040, 0x6000].entries())
		view.setBigUint64(WAIT.fields.registers.offset + 8 * i, BigInt(register), true);
	const walked: unknown[] = [];
	new OpenWaits().take(view, (thread) => {
		walked.push(thread);
		return { user: [], userEnd: 'whole' };
	});
	const registers = { ip: 0x5012, sp: 0x7000, fp: 0x7040, link: 0x6000 };
	assert.deepEqual(walked, [{ pid: 7, tid: 12, registers }]);
});
