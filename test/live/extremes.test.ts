/** The shortest and the longest of a histogram and of a group, added up by the kernel's own code. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf } from '../../src/aggregate/buckets.js';
import { PROT, SharedMapping } from '../../src/loader/memory.js';
import { BpfObject } from '../../src/loader/object.js';
import { callable } from './program-as-function.js';
import { testObject } from './test-object.js';

const SIZE = 32;
const LAYOUT = {
	name: 'extremes',
	structs: {},
	enums: {},
	sections: {},
	maps: { results: { keySize: 4, valueSize: SIZE } },
	programs: ['add'],
} as const;

/** What the kernel takes for the shortest and the longest, after each of these. */
function extremesOf(values: readonly number[]): number[][] {
	const object = new BpfObject(testObject('extremes'), LAYOUT);
	try {
		object.load(['add']);
		const add = callable(object, 'add', 1);
		const memory = new SharedMapping(object.map('results').fd, SIZE, PROT.read, 0);
		const found = values.map((value) => {
			add(BigInt(value));
			return [...new BigUint64Array(memory.buffer, 0, 4)].map(Number);
		});
		memory.unmap();
		return found;
	} finally {
		object.close();
	}
}

test('the shortest and the longest of a bucket, whichever comes first', () => {
	const [least, between, most] = [1_000_000, 1_003_000, 1_005_000];
	assert.equal(bucketOf(least), bucketOf(most), 'one bucket has all');
	for (const values of [
		[least, between, most],
		[least, most, between],
		[between, least, most],
		[between, most, least],
		[most, least, between],
		[most, between, least],
	]) {
		const truth = values.map((_, i) => {
			const sofar = values.slice(0, i + 1);
			const both = [Math.min(...sofar), Math.max(...sofar)];
			return [...both, ...both];
		});
		assert.deepEqual(extremesOf(values), truth, values.join());
	}
});

test('no wait at all is the shortest', () => {
	assert.deepEqual(extremesOf([5, 0])[1]?.slice(0, 2), [0, 5]);
});
