/** Rows that are put together: their sums, counts and errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Frame } from '../../../src/aggregate/stack.js';
import { profileOf } from '../../../src/aggregate/stack-profile.js';
import {
	groupStacks,
	mergeStacks,
	type StackRow,
	totalOf,
} from '../../../src/aggregate/stack-rows.js';
import { toFolded } from '../profiles.js';

const framesOf = (text: string): Frame[] =>
	text.split(';').map((name) => ({ name, kind: name.endsWith('()') ? 'kernel' : 'user' }));

function row(comm: string, pid: number, more: Partial<StackRow> = {}): StackRow {
	const numbers = { parts: [1, 2], value: 3, count: 1, variance: 0 };
	return { key: { pid, comm }, frames: framesOf('main;f;read()'), ...numbers, ...more };
}

test('by comm: processes of a name are one entry; values, counts and variances add up', () => {
	const rows = [
		row('postgres', 10, { parts: [5, 1], value: 6, count: 1.5, variance: 4 }),
		row('postgres', 11, { parts: [2, 2], value: 4, count: 2.5, variance: 9 }),
		row('postgres', 10, { parts: [1, 0], value: 1, count: 1, variance: 0 }),
		row('redis', 12, { parts: [3, 0], value: 3 }),
	];
	const [postgres, redis, ...none] = groupStacks(rows, 'comm');
	assert.deepEqual(none, []);
	assert.deepEqual(postgres?.key, { comm: 'postgres' });
	assert.equal(postgres?.processes, 2);
	assert.deepEqual(postgres?.parts, [8, 3]);
	assert.equal(postgres?.value, 11);
	assert.equal(postgres?.count, 5);
	// One standard error of the sum: the root of 4 + 9, not 2 + 3.
	assert.equal(Math.sqrt(postgres?.variance ?? 0), Math.sqrt(13));
	assert.deepEqual(redis?.key, { pid: 12, comm: 'redis' });
	assert.equal(redis?.processes, undefined);
});

test('what no sum can have is that of the largest: the kind of wait', () => {
	const kinds = [
		['lock', 2],
		['poll', 5],
		['pipe', 3],
	] as const;
	const rows = kinds.map(([waitKind, value], pid) => row('app', pid + 1, { waitKind, value }));
	for (const by of ['comm', 'process'] as const) {
		const alike = by === 'comm' ? rows : rows.map((each) => ({ ...each, key: { pid: 1 } }));
		const [sum, ...none] = groupStacks(alike, by);
		assert.deepEqual([sum?.waitKind, sum?.value, none], ['poll', 10, []]);
	}
});

test('by process: threads of a process that have a name; by thread: as they are', () => {
	const threads = [
		row('a', 10, { key: { pid: 10, tid: 11, comm: 'a' } }),
		row('a', 10, { key: { pid: 10, tid: 12, comm: 'a' } }),
		row('b', 10, { key: { pid: 10, tid: 13, comm: 'b' } }),
		row('a', 20, { key: { pid: 20, tid: 20, comm: 'a' } }),
	];
	assert.deepEqual(
		groupStacks(threads, 'process').map(({ key, value }) => ({ ...key, value })),
		[
			{ pid: 10, comm: 'a', value: 6 },
			{ pid: 10, comm: 'b', value: 3 },
			{ pid: 20, comm: 'a', value: 3 },
		],
	);
	assert.deepEqual(groupStacks(threads, 'thread'), threads);
});

test('what differs stays apart: names, kinds of frames, parts of a wait, what is missing', () => {
	const rows = [
		row('a', 1),
		row('a', 2, { frames: framesOf('main;f;read') }),
		row('a', 3, { key: { kind: 'blocked', pid: 3, comm: 'a' } }),
		row('a', 4, { cut: 'too deep' }),
		row('a', 5, { callerMissing: true }),
		row('b', 1),
	];
	assert.equal(groupStacks(rows, 'comm').length, rows.length);
});

const anyRow = fc
	.record({
		comm: fc.constantFrom('a', 'b'),
		pid: fc.integer({ min: 1, max: 3 }),
		tid: fc.integer({ min: 1, max: 3 }),
		frames: fc.constantFrom('f', 'f;g', 'g()'),
		parts: fc.tuple(fc.nat(1000), fc.nat(1000)),
		count: fc.nat(10),
		variance: fc.nat(1000),
	})
	.map(({ comm, pid, tid, frames, parts, count, variance }): StackRow => {
		const value = parts[0] + parts[1];
		return { key: { pid, tid, comm }, frames: framesOf(frames), parts, value, count, variance };
	});

test('nothing gets lost, whatever is put together, and the largest come first', () => {
	fc.assert(
		fc.property(fc.array(anyRow), fc.constantFrom('comm', 'process', 'thread'), (rows, by) => {
			const grouped = groupStacks(mergeStacks(rows), by);
			const sums = (stacks: readonly StackRow[]) => {
				const { parts, value, count, variance } = totalOf({ stacks, parts: ['x', 'y'] });
				return { parts, value, count, variance };
			};
			assert.deepEqual(sums(grouped), sums(rows));
			const names = new Set(grouped.map(({ key, frames }) => JSON.stringify([key.comm, frames])));
			if (by === 'comm') assert.equal(names.size, grouped.length);
			if (by !== 'thread')
				for (const [i, { value }] of grouped.entries())
					assert.ok(i === 0 || value <= (grouped[i - 1]?.value ?? 0));
		}),
	);
});

test('30,000 processes are one entry, soon', () => {
	const rows = Array.from({ length: 30_000 }, (_, pid) => row('sh', pid + 1, { sources: [pid] }));
	const [sh, ...none] = groupStacks(rows, 'comm');
	assert.deepEqual(none, []);
	assert.equal(sh?.processes, 30_000);
	assert.equal(sh?.value, 90_000);
	assert.equal(sh?.sources?.length, 30_000);
});

test('exports say whose it is, as it was asked for, and where functions are missing', () => {
	const rows = [
		row('sh', 7),
		row('sh', 8, { cut: 'no frame pointers', callerMissing: true }),
		row('sh', 9, { frames: framesOf('read()'), cut: 'too deep' }),
	];
	const folded = (options: { process?: boolean }) => toFolded(profileOf(rows, {}, options));
	assert.equal(
		folded({}),
		'sh;[cut];main;[caller not known];f;read() 3\nsh;[cut];read() 3\nsh;main;f;read() 3\n',
	);
	assert.match(folded({ process: true }), /^sh-7;main;f;read\(\) 3$/m);
	const thread = row('sh', 7, { key: { pid: 7, tid: 9, comm: 'sh' } });
	assert.equal(toFolded(profileOf([thread], {}, { process: true })), 'sh-9;main;f;read() 3\n');
});

test('by thread: the same rows, in a list of its own', () => {
	const rows = [row('a', 1), row('b', 2)];
	const groups = groupStacks(rows, 'thread');
	assert.deepEqual(groups, rows);
	assert.notEqual(groups, rows);
});
