/** Several runs as one result. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joined, spreadOf } from '../../../../src/tools/stat/repeated.js';
import { findings, row, rowsOfValues } from './made.js';

test('the spread: sample standard deviation, smallest, largest', () => {
	assert.deepEqual(spreadOf([2, 4, 4, 4, 5, 5, 7, 9]), {
		deviation: Math.sqrt(32 / 7),
		min: 2,
		max: 9,
	});
	assert.deepEqual(spreadOf([3]), { deviation: 0, min: 3, max: 3 });
});

test('means of counts and times; ratios of the means', () => {
	const run = (elapsed_s: number, ns: number, cycles: number, instructions: number) =>
		findings(rowsOfValues({ 'task-clock': ns, cycles, instructions }, elapsed_s), {
			elapsed_s,
			user_s: elapsed_s / 4,
			system_s: elapsed_s / 2,
		});
	const { about, rows } = joined([run(1, 1e9, 100, 300), run(3, 1e9, 300, 300)]);
	assert.equal(about.runs, 2);
	assert.equal(about.elapsed_s, 2);
	assert.equal(about.until_s, 4);
	assert.deepEqual([about.user_s, about.system_s], [0.5, 1]);
	assert.deepEqual(about.elapsed_runs, { deviation: Math.SQRT2, min: 1, max: 3 });
	const [clock, cycles, instructions] = rows;
	assert.equal(clock?.metric?.value, 0.5, 'of 2 s, and not the mean of 1 and 0.33');
	assert.equal(cycles?.value, 200);
	assert.deepEqual(cycles?.runs, { deviation: Math.sqrt(20_000), min: 100, max: 300 });
	assert.equal(instructions?.metric?.value, 1.5, 'and not the mean of 3 and 1');
	assert.equal(instructions?.runs?.deviation, 0);
	assert.equal(instructions?.per_s, 150);
});

test('an event that had no turn in a run has no part in the mean', () => {
	const none = row('cycles', null, { enabled_ns: 1000, running_ns: 0, counted_share: 0 });
	const some = row('cycles', 70, { enabled_ns: 1000, running_ns: 500, counted_share: 0.5 });
	const [both] = joined([findings([none]), findings([some])]).rows;
	assert.deepEqual([both?.value, both?.status, both?.counted_share], [70, 'counted', 0.25]);
	const [neither] = joined([findings([none]), findings([none])]).rows;
	assert.deepEqual(
		[neither?.value, neither?.status, neither?.runs],
		[null, 'not_counted', undefined],
	);
});

test('how busy the machine was: in all of the time, and not in the first run', () => {
	const run = (elapsed_s: number, machine_busy_share?: number) =>
		findings([], {
			elapsed_s,
			...(machine_busy_share === undefined ? {} : { machine_busy_share }),
		});
	assert.equal(joined([run(1, 0.125), run(3, 0.875)]).about.machine_busy_share, 0.6875);
	assert.equal(joined([run(1), run(3, 0.5)]).about.machine_busy_share, 0.5);
	assert.equal(joined([run(1), run(3)]).about.machine_busy_share, undefined);
});
