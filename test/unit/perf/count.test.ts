/** Counts: added, subtracted, scaled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countedShare, countSince, NOTHING, plus, scaled } from '../../../src/perf/count.js';

const count = (value: number, enabled: number, running: number) => ({
	value: BigInt(value),
	enabled_ns: BigInt(enabled),
	running_ns: BigInt(running),
});

test('counts are added and subtracted field by field', () => {
	const [a, b] = [count(7, 30, 20), count(100, 500, 400)];
	assert.deepEqual(plus(a, b), count(107, 530, 420));
	assert.deepEqual(plus(NOTHING, a), a);
	assert.deepEqual(countSince(b, a), count(93, 470, 380));
});

test('what counted all of the time is exact', () => {
	assert.equal(scaled(count(12_345, 1000, 1000)), 12_345);
	assert.equal(countedShare(count(12_345, 1000, 1000)), 1);
	// An inherited count can be read a moment later than its time.
	assert.equal(scaled(count(12_345, 1000, 1001)), 12_345);
});

test('what counted for a part of the time stands for all of it', () => {
	assert.equal(scaled(count(300, 1000, 250)), 1200);
	assert.equal(countedShare(count(300, 1000, 250)), 0.25);
	assert.equal(scaled(count(10, 3, 2)), 15);
	assert.equal(scaled(count(1, 3, 2)), 2, 'a whole number');
});

test('what was never to count has counted nothing; what had no turn has no count', () => {
	assert.equal(scaled(NOTHING), 0);
	assert.equal(countedShare(NOTHING), 1);
	assert.equal(scaled(count(0, 1000, 0)), undefined);
	assert.equal(countedShare(count(0, 1000, 0)), 0);
});

test('counts beyond 2^53 keep their differences', () => {
	const large = { value: 2n ** 60n + 1n, enabled_ns: 2n ** 60n, running_ns: 2n ** 60n };
	const earlier = { value: 2n ** 60n, enabled_ns: 2n ** 60n - 5n, running_ns: 2n ** 60n - 5n };
	assert.deepEqual(countSince(large, earlier), count(1, 5, 5));
});
