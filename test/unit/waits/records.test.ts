/** Waits one by one, as programs record them: what an observer is told of each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu as layout } from '../../../src/generated/off_cpu.js';
import type { BpfObject } from '../../../src/loader/object.js';
import { keepFrom, WaitRecords } from '../../../src/waits/records.js';
import { ringFile } from '../loader/ring-file.js';
import { recordOf } from './wait-record.js';

const { WAIT_BLOCKED, WAIT_FOR_CPU } = layout.enums.wait_record_type;
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
