/** What is outstanding at several sites together: the same as if all of it were of one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Allocation } from '../../../../src/tools/memleak/allocations.js';
import { Outstanding } from '../../../../src/tools/memleak/outstanding.js';

const SECOND_NS = 1e9;
/** Sampled ones stand for more than they are; ages differ, the oldest is in the middle. */
const ALLOCATIONS: readonly [size: number, weight: number, count: number, age_ns: number][] = [
	[100, 400, 4, 2 * SECOND_NS],
	[3000, 3000, 1, 50 * SECOND_NS],
	[70, 700, 10, 7 * SECOND_NS],
	[16, 160, 10, SECOND_NS],
];

function of(allocations: typeof ALLOCATIONS): Outstanding {
	const outstanding = new Outstanding();
	for (const [size_bytes, weight_bytes, weight_count, age_ns] of allocations)
		outstanding.add({ size_bytes, weight_bytes, weight_count } as Allocation, age_ns);
	return outstanding;
}

const said = (outstanding: Outstanding) => ({
	bytes: outstanding.bytes,
	count: outstanding.count,
	variance_bytes2: outstanding.variance_bytes2,
	ages_s: [10, 50, 90].map((percent) => outstanding.age_s(percent)),
	oldest_s: outstanding.oldestAge_s(),
});

test('bytes, counts, errors and ages of several sites are those of all their allocations', () => {
	const whole = said(of(ALLOCATIONS));
	assert.deepEqual([whole.bytes, whole.count, whole.oldest_s], [4260, 25, 50]);
	// What is not sampled has no error; w(w - s) of the others.
	assert.equal(whole.variance_bytes2, 400 * 300 + 700 * 630 + 160 * 144);
	for (const parts of [1, 2, 3]) {
		const all = of(ALLOCATIONS.slice(0, parts));
		all.addAll(of(ALLOCATIONS.slice(parts)));
		assert.deepEqual(said(all), whole);
	}
});

test('of few allocations the median is the younger one of two, and the middle one of three', () => {
	const aged = (...ages: readonly number[]) =>
		of(ages.map((age) => [16, 16, 1, age * SECOND_NS] as const).map(([...each]) => each));
	const within = (value: number, expected: number) =>
		assert.ok(Math.abs(value - expected) < 0.1 * expected, `${value}, not ${expected}`);
	within(aged(3, 40).age_s(50), 3);
	within(aged(3, 40).age_s(90), 40);
	within(aged(3, 10, 40).age_s(50), 10);
});
