/** Waits one by one, as programs record them: what an observer is told of each. */
import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Chains } from '../../../src/aggregate/chains.js';
import { loss } from '../../../src/generated/common.js';
import { off_cpu as layout } from '../../../src/generated/off_cpu.js';
import { possibleCpus } from '../../../src/loader/map.js';
import type { BpfObject } from '../../../src/loader/object.js';
import { keepFrom, WaitRecords } from '../../../src/waits/records.js';
import { ringFile } from '../loader/ring-file.js';
import { recordOf } from './wait-record.js';

const { WAIT_BLOCKED, WAIT_FOR_CPU } = layout.enums.wait_record_type;
const { LOSS_WAIT_TABLE_FULL } = loss;
const ONE = layout.enums.stack_constant.COUNT_ONE;

function observed(...records: readonly Uint8Array[]) {
	const { map, close } = ringFile(records.map((bytes) => ({ bytes })));
	const losses = { lookupPerCpu: () => undefined };
	const object = { map: (name: string) => (name === 'losses' ? losses : map) };
	const blocked: unknown[] = [];
	const forCpu: unknown[] = [];
	const waits = new WaitRecords(
		object as unknown as BpfObject<typeof layout>,
		{ followed: 5, maxChains: 100 },
		{
			blocked: (stack, { begin_ns, end_ns, weighed_ns, count, variance }) =>
				blocked.push({ stack, begin_ns, end_ns, weighed_ns, count, variance }),
			forCpu: (pid, { begin_ns, end_ns, throttled_ns, waking_ns, preempted, variance }) =>
				forCpu.push({ pid, begin_ns, end_ns, throttled_ns, waking_ns, preempted, variance }),
		},
	);
	waits.drain();
	waits.close();
	close();
	return { blocked, forCpu };
}

/** Kept with a chance of 1/4: it counts as a period of 1 ms, four times; bpf/lib/sampling.h. */
const SAMPLED = { weighed_ns: 1e6, count: 4 * ONE, doubt: (3 / 4) * ONE };
const BLOCKED = { type: WAIT_BLOCKED, pid: 7, counts: 1, begin_ns: 1000, end_ns: 251_000 };

test('a sampled wait has the error of its sampling, a longer one none', () => {
	const long = { ...BLOCKED, end_ns: 3_001_000, weighed_ns: 3e6, count: ONE, doubt: 0 };
	const { blocked } = observed(recordOf({ ...BLOCKED, ...SAMPLED }, 3), recordOf(long, 9));
	// Horvitz and Thompson: the square of the period, less the chance's part of it.
	assert.deepEqual(blocked, [
		{ stack: 0, begin_ns: 1000, end_ns: 251_000, weighed_ns: 1e6, count: 4, variance: 0.75e12 },
		{ stack: 1, begin_ns: 1000, end_ns: 3_001_000, weighed_ns: 3e6, count: 1, variance: 0 },
	]);
});

test('of a wait for a CPU: whose, how long, of that what for; who is not asked for is not told', () => {
	const wait = { type: WAIT_FOR_CPU, pid: 7, begin_ns: 500, end_ns: 900_500, ...SAMPLED };
	const of = { throttled_ns: 31_000, waking_ns: 2_500, preempted: 1 };
	const { forCpu, blocked } = observed(
		recordOf({ ...wait, ...of, counts: 1 }),
		recordOf({ ...wait, pid: 8, counts: 0 }),
		recordOf({ ...BLOCKED, ...SAMPLED, counts: 0 }),
	);
	assert.deepEqual(forCpu, [
		{ pid: 7, begin_ns: 500, end_ns: 900_500, ...of, preempted: true, variance: 0.75e12 },
	]);
	assert.deepEqual(blocked, []);
});

test('of a wait that began before the window, what is in it counts; of one that was over, nothing', () => {
	const wait = (begin_ns: number, end_ns: number) => ({
		...{ begin_ns, end_ns, weighed_ns: 400, variance: 16, throttled_ns: 40, waking_ns: 8 },
	});
	const across = wait(600, 1000);
	assert.equal(keepFrom(across, 900), true);
	assert.deepEqual(across, {
		...{ begin_ns: 900, end_ns: 1000, weighed_ns: 100, variance: 1 },
		...{ throttled_ns: 10, waking_ns: 2 },
	});
	const within = wait(900, 1000);
	assert.equal(keepFrom(within, 900), true);
	assert.deepEqual(within, wait(900, 1000));
	assert.equal(keepFrom(wait(600, 900), 900), false);
	// No window yet.
	assert.equal(keepFrom(wait(0, 1), 0), true);
});

test('more stacks than there is room for: how many waits were put together is said once', () => {
	const records = Array.from({ length: 30 }, (_, i) => {
		return { bytes: recordOf({ ...BLOCKED, ...SAMPLED, begin_ns: 1000 + i }, i + 1) };
	});
	const { map, close } = ringFile(records);
	const losses = { lookupPerCpu: () => undefined };
	const object = { map: (name: string) => (name === 'losses' ? losses : map) };
	// Four keys for each chain.
	const room = { followed: 5, maxChains: 3 };
	const waits = new WaitRecords(object as unknown as BpfObject<typeof layout>, room);
	waits.drain();
	const { chains_cut } = waits.lost();
	assert.ok(chains_cut !== undefined && chains_cut >= 17 && chains_cut <= 30, `${chains_cut}`);
	assert.deepEqual(waits.lost(), {});
	waits.close();
	close();
});

interface ToldWaker {
	readonly stack: number;
	readonly did?: string;
	readonly context?: string;
	readonly waker?: ToldWaker;
}
interface ToldWait {
	readonly stack: number;
	readonly parts: readonly number[];
	readonly at_ns: number;
	readonly waker?: ToldWaker;
}

/** All waits that ended, as chains; snapshots know of each key what its number is. */
function captured(
	records: readonly (readonly [values: Parameters<typeof recordOf>[0], stack: number])[],
	{ maxChains = 100, lost = 0 } = {},
) {
	const { map, close, path } = ringFile(
		records.map(([values, stack]) => ({ bytes: recordOf(values, stack) })),
	);
	const losses = {
		lookupPerCpu: (key: Uint8Array) => {
			const view = new DataView(new ArrayBuffer(8 * possibleCpus()));
			const [cause] = new Uint32Array(key.slice().buffer);
			view.setBigUint64(0, BigInt(cause === LOSS_WAIT_TABLE_FULL ? lost : 0), true);
			return view;
		},
	};
	const object = { map: (name: string) => (name === 'losses' ? losses : map) };
	const waits = new WaitRecords(object as never, { followed: 5, maxChains });
	waits.drain();
	// Programs write to the same memory again.
	waits.drain();
	writeFileSync(path, new Uint8Array(statSync(path).size).fill(0xee), { flag: 'r+' });
	const snapshot = {
		captured: (key: DataView, at: number, counted: object) => {
			const stack = key.getUint32(at, true);
			return {
				...{ stack, ...counted },
				waker: { stack: 100 + stack, context: `context of ${stack}` },
			};
		},
	};
	const found = waits.captured(snapshot as never);
	const cut = waits.lost();
	waits.close();
	close();
	return { stacks: found.stacks as unknown as ToldWait[], numbers: found.numbers, cut };
}

/** A wait of a thread that began to be at 1, exactly as long as it was. */
const waitOf = (pid: number, begin_ns: number, end_ns: number, more: object = {}) => {
	const exact = { weighed_ns: end_ns - begin_ns, count: ONE, doubt: 0, counts: 1 };
	return { type: WAIT_BLOCKED, pid, begin_ns, end_ns, waker_born_ns: 1, ...exact, ...more };
};

test('waits as chains: who waited where, who ended that, and what that one did meanwhile', () => {
	const [A, B, C] = [7, 8, 9];
	const { stacks, numbers } = captured([
		// A stranger, of whom it is known only what it did.
		[waitOf(B, 2_000, 2_400, { counts: 0 }), 31],
		[waitOf(A, 1_900, 2_500, { waker_pid: B }), 32],
		[waitOf(A, 3_000, 3_100), 33],
		[waitOf(C, 4_000, 4_300, { counts: 0 }), 34],
		[waitOf(A, 4_000, 4_300, { waker_pid: C }), 32],
	]);
	const shown = stacks.map(({ stack: key, parts, at_ns, waker }, i) => {
		const { stack: by, did, context, waker: next } = waker ?? assert.fail();
		return { number: numbers[i], key, blocked: parts[0], at_ns, by, did, context, next };
	});
	const last = { at_ns: 2_500, number: 1, key: 32 };
	assert.deepEqual(
		shown.sort((a, b) => Number(b.blocked) - Number(a.blocked)),
		[
			{
				// Its waker's own wait, which somebody ended: what that one did is not known.
				...{ ...last, blocked: 400, by: 31, did: 'was blocked', context: 'context of 32' },
				next: { stack: 131, context: 'context of 31', did: undefined },
			},
			{
				...{ ...last, blocked: 300, by: 34, did: 'was blocked', context: 'context of 32' },
				next: { stack: 134, context: 'context of 34', did: undefined },
			},
			{ ...last, blocked: 200, by: 132, did: 'ran', context: 'context of 32', next: undefined },
			{
				...{ number: 2, key: 33, at_ns: 3_100, blocked: 100, by: 133 },
				...{ did: undefined, context: 'context of 33', next: undefined },
			},
		],
	);
});

test('a waker that began to be within the wait was not there before', () => {
	const { stacks } = captured([
		[waitOf(7, 1_000, 2_000, { waker_pid: 8, waker_born_ns: 1_400 }), 1],
	]);
	const did = stacks.map(({ waker, parts }) => [waker?.did, parts[0]]);
	assert.deepEqual(
		new Map(did as [string, number][]),
		new Map([
			['did not exist yet', 400],
			['ran', 600],
		]),
	);
});

test('after waits that nobody could record it is not known what wakers did', (t) => {
	const records = [[waitOf(7, 1_000, 2_000, { waker_pid: 8 }), 1]] as const;
	const didOf = (lost: number) => captured(records, { lost }).stacks.map(({ waker }) => waker?.did);
	const forget = t.mock.method(Chains.prototype, 'forget');
	const begin = t.mock.method(Chains.prototype, 'begin');
	assert.deepEqual(didOf(0), ['ran']);
	assert.equal(forget.mock.callCount(), 0);
	// Each look may look at so many waits; what was lost before one look is known at the next.
	assert.equal(begin.mock.callCount(), 2);
	assert.deepEqual(didOf(3), [undefined]);
	assert.equal(forget.mock.callCount(), 1);
});

test('stacks of strangers have half of the room, and that they lack it cuts no chain', () => {
	const strangers = Array.from({ length: 30 }, (_, i) => {
		return [waitOf(8, 1_000 + i, 2_000 + i, { counts: 0 }), i + 1] as const;
	});
	const { stacks, cut } = captured([...strangers, [waitOf(7, 3_000, 3_500), 99]], { maxChains: 3 });
	assert.deepEqual(
		stacks.map(({ stack }) => stack),
		[99],
	);
	assert.deepEqual(cut, {});
});
