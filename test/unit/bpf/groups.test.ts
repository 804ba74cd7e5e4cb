import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf, lowOf } from '../../../src/aggregate/buckets.js';
import { Groups } from '../../../src/bpf/groups.js';
import { takeHistogram } from '../../../src/bpf/histogram.js';
import { runqlat } from '../../../src/generated/runqlat.js';
import { type BpfMap, possibleCpus } from '../../../src/loader/map.js';
import { type Fields, structs, write } from '../tools/structs.js';

const { group_key, group_bucket, hist } = runqlat.structs;
const MOST = 100_000;

/** A map with an element for each thread from one on, of two waits each. */
function mapOf(first: number, count: number): BpfMap {
	const keys = new DataView(new ArrayBuffer(count * group_key.size));
	const values = new DataView(new ArrayBuffer(count * group_bucket.size));
	for (let i = 0; i < count; i++) {
		keys.setUint32(i * group_key.size + group_key.fields.tid.offset, first + i, true);
		const { count: waits, sum } = group_bucket.fields;
		values.setBigUint64(i * group_bucket.size + waits.offset, 2n, true);
		values.setBigUint64(i * group_bucket.size + sum.offset, 2n, true);
	}
	return {
		drain: (each: (keys: DataView, values: DataView, count: number) => void) =>
			each(keys, values, count),
	} as unknown as BpfMap;
}

test('more groups than are kept: their waits are counted among all others, and said once', () => {
	const groups = new Groups({ group_key, group_bucket });
	groups.drain(mapOf(1, MOST));
	assert.deepEqual(groups.takeLost(), {});
	groups.drain(mapOf(MOST - 9, 30));
	assert.deepEqual(groups.takeLost(), { groups_merged: 2 * 20 });
	assert.deepEqual(groups.takeLost(), {});
	const all = groups.take();
	assert.equal(all.length, MOST + 1);
	assert.equal(all.find(({ comm }) => comm === '(others)')?.histogram.count, 2 * 20);
	// The next interval begins with none.
	groups.drain(mapOf(1, 30));
	assert.deepEqual(groups.takeLost(), {});
	assert.equal(groups.take().length, 30);
});

type Element = readonly [Fields<typeof group_key>, Fields<typeof group_bucket>];

/** A map with these elements. */
const mapWith = (...elements: readonly Element[]) =>
	({
		drain: (each: (keys: DataView, values: DataView, count: number) => void) =>
			each(
				structs(
					group_key,
					elements.map(([key]) => key),
				),
				structs(
					group_bucket,
					elements.map(([, value]) => value),
				),
				elements.length,
			),
	}) as unknown as BpfMap;

const GROUP = { kind: 3, tgid: 70, tid: 71, id: 2 ** 40 + 9 };
const [SHORT, LONG] = [bucketOf(3000), bucketOf(900_000)];

test('the buckets of a group come together, of both halves; each number that tells groups apart does', () => {
	const groups = new Groups({ group_key, group_bucket });
	const short = { count: 2, sum: 6000, min: 2900, max: 3100 };
	groups.drain(
		mapWith(
			[{ ...GROUP, bucket: SHORT }, short],
			[
				{ ...GROUP, bucket: LONG },
				{ count: 1, sum: 900_000, min: 890_000, max: 910_000 },
			],
		),
	);
	const others = [{ kind: 4 }, { tgid: 72 }, { tid: 72 }, { id: 5 }, { comm: 'x' }];
	groups.drain(
		mapWith(
			[{ ...GROUP, bucket: SHORT }, short],
			...others.map((more): Element => [{ ...GROUP, ...more, bucket: SHORT }, short]),
		),
	);
	const [first, ...rest] = groups.take();
	const { histogram, ...identity } = first ?? assert.fail();
	assert.deepEqual(identity, { ...GROUP, comm: '', named_jiffies: 0 });
	assert.deepEqual(
		histogram.ranges().map(([low_ns, , count]) => [low_ns, count]),
		[
			[lowOf(SHORT), 4],
			[lowOf(LONG), 1],
		],
	);
	const { sum_ns, min_ns, max_ns } = histogram;
	assert.deepEqual([sum_ns, min_ns, max_ns], [912_000, 2900, 910_000]);
	assert.deepEqual(
		rest.map(({ kind, tgid, tid, id, comm }) => ({ kind, tgid, tid, id, comm })),
		others.map((more) => ({ ...GROUP, comm: '', ...more })),
	);
});

test('a group has the name that its thread had last', () => {
	const groups = new Groups({ group_key, group_bucket });
	const named = (comm: string, named_jiffies: number): Element => [
		{ ...GROUP, bucket: SHORT },
		{ count: 1, named_jiffies, comm },
	];
	groups.drain(mapWith(named('middle', 20), named('oldest', 10)));
	groups.drain(mapWith(named('newest', 30), named('older', 25)));
	assert.deepEqual(
		groups.take().map(({ comm }) => comm),
		['newest'],
	);
});

/** A CPU's histogram: values of so many ns. */
function histogramOf(view: DataView, cpu: number, values_ns: readonly number[]): void {
	write(hist, view, cpu * hist.size, {
		sum: values_ns.reduce((sum, each) => sum + each, 0),
		min_complement: 2n ** 64n - 1n - BigInt(Math.min(...values_ns)),
		max: Math.max(...values_ns),
	});
	for (const each of values_ns) {
		const at = cpu * hist.size + hist.fields.buckets.offset + 8 * bucketOf(each);
		view.setBigUint64(at, view.getBigUint64(at, true) + 1n, true);
	}
}

test('a histogram is that of all CPUs, and is emptied where there was anything', () => {
	const last = possibleCpus() - 1;
	const view = new DataView(new ArrayBuffer(hist.size * possibleCpus()));
	const cleared: number[] = [];
	const map = (found: DataView | undefined) =>
		({
			perCpuStride: hist.size,
			lookupPerCpu: ([index]: Uint8Array) => (index === 6 ? found : assert.fail()),
			clearPerCpu: ([index = -1]: Uint8Array) => cleared.push(index),
		}) as unknown as BpfMap;
	assert.equal(takeHistogram(map(undefined), 6, hist).count, 0);
	assert.equal(takeHistogram(map(view), 6, hist).count, 0);
	assert.deepEqual(cleared, []);
	// What was not counted on a CPU is no shortest value of 0.
	const hour_ns = 3600e9;
	histogramOf(view, last, [500, 70_000, 70_000, hour_ns]);
	const { count, sum_ns, min_ns, max_ns } = takeHistogram(map(view), 6, hist);
	assert.deepEqual([count, sum_ns, min_ns, max_ns], [4, 140_500 + hour_ns, 500, hour_ns]);
	assert.deepEqual(cleared, [6]);
	if (last === 0) return;
	histogramOf(view, 0, [300]);
	const both = takeHistogram(map(view), 6, hist);
	assert.deepEqual([both.count, both.sum_ns, both.min_ns], [5, 140_800 + hour_ns, 300]);
});
