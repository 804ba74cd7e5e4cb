import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Groups } from '../../../src/bpf/groups.js';
import { runqlat } from '../../../src/generated/runqlat.js';
import type { BpfMap } from '../../../src/loader/map.js';

const { group_key, group_bucket } = runqlat.structs;
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
