/** Captured stacks become rows: what was counted stays with the names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { nameStacks } from '../../../src/symbolize/naming.js';
import { stackOf } from './support.js';

const nobody = () => new ProcessHistory();

test('what reads the same is one row: parts, counts and variances add up; sources say of which', async () => {
	const of = { pid: 5_000_000, comm: 'app' };
	const { stacks, notices } = await nameStacks(
		[
			// Of nobody's process all addresses read the same.
			stackOf([0x1000, 0x2000], { ...of, parts: [5, 1], count: 1.5, variance: 4 }),
			stackOf([0x3000], { ...of, parts: [100, 0], count: 1, variance: 0 }),
			stackOf([0x4000, 0x5000], { ...of, parts: [2, 3], count: 2, variance: 9 }),
		],
		nobody(),
		{ debuginfod: false, maxDepth: 2, sources: true },
	);
	const unknown = { name: '[unknown]', kind: 'user' };
	assert.deepEqual(stacks, [
		{
			key: of,
			frames: [unknown],
			parts: [100, 0],
			value: 100,
			count: 1,
			variance: 0,
			cut: 'no frame pointers',
			sources: [1],
		},
		{
			key: of,
			frames: [unknown, unknown],
			parts: [7, 4],
			value: 11,
			count: 3.5,
			variance: 13,
			cut: 'too deep',
			sources: [0, 2],
		},
	]);
	assert.deepEqual(notices, []);
});

test('whose: a thread, a kind, all others; what was lost stands between the sides', async () => {
	const kernel = [-1];
	const { stacks } = await nameStacks(
		[
			stackOf([0x1000], {
				pid: 7_000_000,
				tid: 7_000_001,
				comm: 'a',
				kernel,
				lost: true,
				parts: [4],
			}),
			stackOf([], { pid: 7_000_000, comm: 'a', apart: { memory: 'brk' }, parts: [3] }),
			stackOf([], { pid: 0, comm: 'swapper', apart: { memory: 'slab' }, kernel, parts: [2] }),
			stackOf([], { pid: 0, comm: '', lost: true, parts: [1] }),
		],
		nobody(),
		{ debuginfod: false, maxDepth: 127 },
	);
	assert.deepEqual(
		stacks.map(({ key }) => key),
		[
			{ pid: 7_000_000, tid: 7_000_001, comm: 'a' },
			{ memory: 'brk', pid: 7_000_000, comm: 'a' },
			{ memory: 'slab', comm: 'swapper' },
			{ comm: '[others]' },
		],
	);
	const kinds = stacks[0]?.frames.map(({ name, kind }) => (name === '[stack lost]' ? name : kind));
	assert.deepEqual(kinds, ['user', '[stack lost]', 'kernel']);
	assert.deepEqual(
		stacks[3]?.frames.map(({ name }) => name),
		['[stack lost]'],
	);
});

test('who woke is named as the stack is: once for all that it woke, and without a stack by its name', async () => {
	const none = { parts: [], count: 0, variance: 0 };
	const waker = {
		...stackOf([0x1000, 0x2000], { pid: 7_000_002, tid: 7_000_003, comm: 'db' }),
		...none,
	};
	const timer = { ...stackOf([], { pid: 0, comm: '<irq: timer>' }), ...none };
	const { stacks } = await nameStacks(
		[
			stackOf([0x1000], { pid: 7_000_000, comm: 'a', parts: [4], waker }),
			stackOf([0x1000], { pid: 7_000_000, comm: 'b', parts: [3], waker }),
			stackOf([0x1000], { pid: 7_000_000, comm: 'c', parts: [2], waker: timer }),
			stackOf([0x1000], { pid: 7_000_000, comm: 'd', parts: [1] }),
		],
		nobody(),
		{ debuginfod: false, maxDepth: 127 },
	);
	const unknown = { name: '[unknown]', kind: 'user' };
	const db = {
		key: { pid: 7_000_002, tid: 7_000_003, comm: 'db' },
		frames: [unknown, unknown],
		cut: 'no frame pointers',
	};
	assert.deepEqual(
		stacks.map(({ key, waker }) => [key.comm, waker]),
		[
			['a', db],
			['b', db],
			['c', { key: { comm: '<irq: timer>' }, frames: [] }],
			['d', undefined],
		],
	);
});
