/** What latency tools read of both halves of their maps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf } from '../../../src/aggregate/buckets.js';
import { GroupReader, HistogramReader } from '../../../src/bpf/latency-readers.js';
import { runqlat } from '../../../src/generated/runqlat.js';
import { possibleCpus } from '../../../src/loader/map.js';
import { structs, write } from '../tools/structs.js';

const { hist, group_key, group_bucket } = runqlat.structs;
const KINDS = ['a', 'b', 'c'];

/** Programs, which write to the half that they are told of, and the maps that they write to. */
function programs() {
	let half = 0;
	return {
		/** Which half they have just left. */
		done: () => 1 - half,
		object: (map: (name: string) => unknown) =>
			({
				layout: runqlat,
				setVariable: (_name: string, value: number) => {
					half = value;
				},
				waitForPrograms: () => undefined,
				map,
			}) as never,
	};
}

/** One value on the first CPU. */
function histogramOf(value_ns: number): DataView {
	const view = new DataView(new ArrayBuffer(hist.size * possibleCpus()));
	const min_complement = 2n ** 64n - 1n - BigInt(value_ns);
	write(hist, view, 0, { sum: value_ns, min_complement, max: value_ns });
	view.setBigUint64(hist.fields.buckets.offset + 8 * bucketOf(value_ns), 1n, true);
	return view;
}

test('each kind has its histogram in each half; one of which there was none is not told', async () => {
	const { object } = programs();
	/** In ns, by index: three of the first half, then three of the second. */
	const values_ns = [10, undefined, 30, 40, 50, undefined];
	const map = {
		perCpuStride: hist.size,
		lookupPerCpu: ([index = -1]: Uint8Array) => {
			const value_ns = values_ns[index];
			return value_ns === undefined ? undefined : histogramOf(value_ns);
		},
		clearPerCpu: () => undefined,
	};
	const reader = new HistogramReader(
		object(() => map),
		KINDS.length,
		KINDS,
	);
	const read = async () => {
		const { groups } = await reader.read();
		return groups.map(({ key, histogram }) => [key, histogram.max_ns]);
	};
	const first = [
		[{ kind: 'a' }, 10],
		[{ kind: 'c' }, 30],
	];
	assert.deepEqual(await read(), first);
	assert.deepEqual(await read(), [
		[{ kind: 'a' }, 40],
		[{ kind: 'b' }, 50],
	]);
	assert.deepEqual(await read(), first);
	const one = new HistogramReader(programs().object(() => map));
	const [group] = (await one.read()).groups;
	assert.deepEqual([group?.key, group?.histogram.max_ns], [{}, 10]);
});

test('groups of the half that nobody writes to, each with its own name', async () => {
	const { object, done } = programs();
	const drained: string[] = [];
	const map = (name: string) => ({
		drain: (each: (keys: DataView, values: DataView, count: number) => void) => {
			assert.equal(name, `groups_${done()}`);
			drained.push(name);
			const keys = structs(group_key, [{ tid: 71 }, { tid: 72 }]);
			each(keys, structs(group_bucket, [{ count: 2 }, { count: 3 }]), 2);
		},
	});
	const reader = new GroupReader(object(map), (groups) => groups.map(({ tid }) => ({ tid })));
	reader.drain();
	const read = async () => {
		const { groups } = await reader.read();
		return groups.map(({ key, histogram }) => [key, histogram.count]);
	};
	assert.deepEqual(await read(), [
		[{ tid: 71 }, 4],
		[{ tid: 72 }, 6],
	]);
	assert.deepEqual(drained, ['groups_0', 'groups_1']);
	assert.deepEqual(await read(), [
		[{ tid: 71 }, 2],
		[{ tid: 72 }, 3],
	]);
	assert.deepEqual(reader.lost(), {});
});
