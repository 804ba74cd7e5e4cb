/** Counts to rows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CountRow } from '../../../../src/tools/stat/findings.js';
import { type Counting, rowsOf } from '../../../../src/tools/stat/rows.js';
import { countText } from '../../../../src/tools/stat/table.js';
import { counted, rowsOfValues } from './made.js';

function counting(text: string, value: number, more: Partial<Counting> = {}): Counting {
	const count = { value: BigInt(value), enabled_ns: 4000n, running_ns: 4000n };
	return { event: counted(text), count, refusal: undefined, userOnly: false, ...more };
}

test('a row has its count, its rate, and how long it counted', () => {
	const [row] = rowsOf([counting('faults', 1500)], 3);
	assert.deepEqual(row, {
		event: 'faults',
		name: 'page-faults',
		spaces: [],
		value: 1500,
		unit: 'events',
		status: 'counted',
		per_s: 500,
		metric: null,
		counted_share: 1,
		enabled_ns: 4000,
		running_ns: 4000,
	});
});

test('a count of a part of the time is scaled', () => {
	const count = { value: 300n, enabled_ns: 4000n, running_ns: 1000n };
	const [row] = rowsOf([counting('cycles', 0, { count })], 2);
	assert.deepEqual([row?.value, row?.counted_share, row?.per_s], [1200, 0.25, 600]);
	const none = { value: 0n, enabled_ns: 4000n, running_ns: 0n };
	const [uncounted] = rowsOf([counting('cycles', 0, { count: none })], 2);
	assert.deepEqual(
		[uncounted?.value, uncounted?.status, uncounted?.per_s],
		[null, 'not_counted', null],
	);
});

test('what cannot be counted says why', () => {
	const refusal = (errno: string) => ({ refusal: { errno, why: `because of ${errno}` } });
	const rows = rowsOf(
		['EACCES', 'EPERM', 'ENOENT', 'EOPNOTSUPP', 'EINVAL'].map((errno) =>
			counting('cycles', 0, refusal(errno)),
		),
		1,
	);
	assert.deepEqual(
		rows.map(({ value, status, why }) => [value, status, why]),
		[
			[null, 'not_permitted', 'because of EACCES'],
			[null, 'not_permitted', 'because of EPERM'],
			[null, 'not_supported', 'because of ENOENT'],
			[null, 'not_supported', 'because of EOPNOTSUPP'],
			[null, 'not_supported', 'because of EINVAL'],
		],
	);
});

test('what is counted in user space only says so, except a clock', () => {
	const rows = rowsOf(
		['page-faults', 'task-clock'].map((name) => counting(name, 3, { userOnly: true })),
		1,
	);
	assert.deepEqual(
		rows.map((row) => [row.event, row.name, row.spaces]),
		[
			['page-faults:u', 'page-faults', ['user']],
			['task-clock', 'task-clock', []],
		],
	);
});

test('what counts say together', () => {
	const metrics = (values: Record<string, number>, elapsed_s = 2) =>
		Object.fromEntries(
			rowsOfValues(values, elapsed_s).map(({ event: name, metric }) => [
				name,
				metric && [metric.name, metric.value],
			]),
		);
	assert.deepEqual(metrics({ 'task-clock': 5e8 }), { 'task-clock': ['cpus_utilised', 0.25] });
	assert.deepEqual(metrics({ 'task-clock': 5e8, cycles: 15e8 }).cycles, ['ghz', 3]);
	assert.deepEqual(metrics({ 'cpu-clock': 1e9, 'cpu-cycles': 25e8 })['cpu-cycles'], ['ghz', 2.5]);
	assert.equal(metrics({ cycles: 15e8 }).cycles, null, 'no clock');
	assert.deepEqual(metrics({ cycles: 1000, instructions: 600 }).instructions, [
		'instructions_per_cycle',
		0.6,
	]);
	const misses = metrics({
		branches: 200,
		'branch-misses': 3,
		'cache-references': 50,
		'cache-misses': 20,
		'L1-dcache-loads': 1000,
		'L1-dcache-load-misses': 70,
		'dTLB-loads': 10,
		'dTLB-load-misses': 4,
		cycles: 100,
		'stalled-cycles-backend': 80,
	});
	assert.deepEqual(misses['branch-misses'], ['miss_share', 0.015]);
	assert.deepEqual(misses['cache-misses'], ['miss_share', 0.4]);
	assert.deepEqual(misses['L1-dcache-load-misses'], ['miss_share', 0.07]);
	assert.deepEqual(misses['dTLB-load-misses'], ['miss_share', 0.4]);
	assert.deepEqual(misses['stalled-cycles-backend'], ['stalled_share', 0.8]);
	assert.equal(misses.branches, null);
	assert.equal(metrics({ branches: 0, 'branch-misses': 0 })['branch-misses'], null, 'of none');
});

test('events with a modifier go with those of the same', () => {
	const rows = rowsOfValues(
		{ cycles: 1000, 'cycles:u': 100, 'instructions:u': 50, 'instructions:k': 7, instructions: 400 },
		1,
	);
	const ipc = (name: string) => rows.find((row) => row.event === name)?.metric?.value;
	assert.equal(ipc('instructions:u'), 0.5);
	assert.equal(ipc('instructions'), 0.4);
	assert.equal(ipc('instructions:k'), undefined, 'no cycles:k');
	const other = rowsOfValues({ 'cpu-cycles:uk': 1000, 'instructions:ku': 300 }, 1);
	assert.equal(other[1]?.metric?.value, 0.3, 'by whatever name, in whatever order');
});

test('a rate is of wall-clock time, and clocks have none', () => {
	const rows = rowsOfValues({ 'task-clock': 1e9, 'context-switches': 300 }, 4);
	assert.deepEqual(
		rows.map(({ per_s }) => per_s),
		[null, 75],
	);
});

test('what an event is called has its first name beside it', () => {
	const rows = ['cs', 'CPU-Cycles:u', 'r1a8', 'sched:sched_switch:k', 'cpu-clock:u'].map((text) =>
		counting(text, 3),
	);
	assert.deepEqual(
		rowsOf(rows, 1).map(({ event, name, spaces, unit }) => [event, name, spaces.join(), unit]),
		[
			['cs', 'context-switches', '', 'events'],
			['cpu-cycles:u', 'cycles', 'user', 'events'],
			['r1a8', 'r1a8', '', 'events'],
			['sched:sched_switch:k', 'sched:sched_switch', 'kernel', 'events'],
			['cpu-clock:u', 'cpu-clock', '', 'ns'],
		],
	);
});

test("a PMU's event in what the kernel says it is", () => {
	const event = { ...counted('cycles'), scale: { factor: 0.25, unit: 'Joules' } };
	const count = { value: 42n, enabled_ns: 4n, running_ns: 2n };
	const [joules] = rowsOf([{ event, count, refusal: undefined, userOnly: false }], 2);
	assert.deepEqual([joules?.value, joules?.unit, joules?.per_s], [21, 'Joules', 10.5]);
	assert.equal(countText({ ...(joules as CountRow), value: 1234.567 }), '1,234.57 Joules');
	// As i915 has it: time of a GPU, which says nothing about CPUs.
	const busy = { ...event, scale: { factor: 1, unit: 'ns' } };
	const [row] = rowsOf([{ event: busy, count, refusal: undefined, userOnly: false }], 2);
	assert.deepEqual([row?.unit, row?.metric, row?.per_s], ['ns', null, 42]);
});
