/** A row apart by what its waits were for: together the parts are the row, in every number. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackFindings, StackRow } from '../../../../src/aggregate/stack-rows.js';
import { uncertaintyOfSum } from '../../../../src/aggregate/variance.js';
import { splitByObject } from '../../../../src/tools/offcputime/by-object.js';

const file = (path: string) => ({ type: 'file', path }) as const;
const ROW: StackRow = {
	key: { pid: 12, comm: 'writer' },
	frames: [
		{ name: 'main', kind: 'user' },
		{ name: 'io_schedule', kind: 'kernel' },
	],
	parts: [900, 0, 0, 0],
	value: 900,
	count: 30,
	variance: 61,
	objects: [
		{ object: file('/a'), value: 500, count: 11, variance: 23 },
		{ object: file('/b'), value: 150, count: 7, variance: 9 },
	],
};

function split(row: StackRow): StackRow[] {
	const findings: StackFindings = {
		kind: 'stacks',
		unit: 'ns',
		about: {},
		noun: 'wait',
		parts: ['blocked', 'run queue', 'preempted', 'throttled'],
		stacks: [row],
		notices: [],
	};
	return splitByObject(findings);
}

test('each object has its own numbers, and what is left has the rest of each', () => {
	const rows = split(ROW);
	assert.deepEqual(
		rows.map(({ key, value, count, variance }) => [key.object, value, count, variance]),
		[
			['/a', 500, 11, 23],
			['/b', 150, 7, 9],
			[`[${rows[0]?.key.kind}]`, 250, 12, 29],
		],
	);
	for (const { parts, value } of rows) assert.equal(parts[0], value);
});

test('parts together are as uncertain as the row was, and what is known whole leaves nothing', () => {
	assert.equal(uncertaintyOfSum(split(ROW)).variance, ROW.variance);
	const whole = { ...ROW, objects: [{ object: file('/a'), value: 900, count: 30, variance: 61 }] };
	assert.deepEqual(
		split(whole).map(({ key, value, variance }) => [key.object, value, variance]),
		[['/a', 900, 61]],
	);
});

test('what is estimated against a whole: all of the row is as uncertain as the row, a part of it as its own waits', () => {
	const against = new Map([['whole', -17]]);
	const [part] = split({ ...ROW, against });
	assert.deepEqual([part?.value, part?.variance, part?.against], [500, 23, undefined]);
	const all = [{ object: file('/a'), value: 900, count: 30, variance: 5 }];
	const [whole] = split({ ...ROW, against, objects: all });
	assert.deepEqual([whole?.variance, whole?.against], [61, against]);
});
