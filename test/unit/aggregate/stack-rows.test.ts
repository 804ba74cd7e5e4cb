import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRAME_KINDS } from '../../../src/aggregate/stack.js';
import { profileOf } from '../../../src/aggregate/stack-profile.js';
import {
	groupStacks,
	mergeStacks,
	type StackRow,
	splitStacks,
	type Waker,
} from '../../../src/aggregate/stack-rows.js';
import { toFolded } from '../profiles.js';

const FRAMES = [{ name: 'main', kind: 'user' }] as const;

function rowOf(value: number, sources: readonly number[], comm = 'app'): StackRow {
	return {
		key: { comm },
		frames: FRAMES,
		parts: [value, 1],
		value,
		count: 2,
		variance: 3,
		sources,
	};
}

test('rows that read the same are one, with the sums and sources of all; what was given stays', () => {
	const rows = [rowOf(1, [0]), rowOf(20, [1], 'db'), rowOf(5, [2]), rowOf(7, [3])];
	const given = structuredClone(rows);
	assert.deepEqual(mergeStacks(rows), [
		{ ...rowOf(20, [1], 'db') },
		{ ...rowOf(13, [0, 2, 3]), parts: [13, 3], count: 6, variance: 9 },
	]);
	assert.deepEqual(rows, given);
});

test('the work grows with the number of rows, and not with its square', () => {
	// With the square it would be 10^11 numbers to copy.
	const many = 500_000;
	const [sum, ...others] = mergeStacks(
		(function* () {
			for (let i = 0; i < many; i++) yield rowOf(1, [i]);
		})(),
	);
	assert.deepEqual(others, []);
	assert.equal(sum?.value, many);
	assert.equal(sum?.sources?.length, many);
});

test('a name is looked up once, however many stacks its frame is in', () => {
	let reads = 0;
	const frame = {
		kind: 'user' as const,
		get name() {
			reads++;
			return 'main';
		},
	};
	const stacks = Array.from({ length: 100 }, (_, i) => {
		return { ...rowOf(1, [], `app ${i}`), frames: [frame, frame] };
	});
	const rows = mergeStacks(stacks);
	assert.equal(rows.length, 100);
	assert.equal(reads, 1);
	assert.equal(profileOf(rows, {}).stacks.size, 100);
	assert.equal(reads, 2);
});

test('who woke is behind the stack, from its leaf on; a caller that is missing is where it would be', () => {
	const kernel = (name: string) => ({ name, kind: 'kernel' }) as const;
	const user = (name: string) => ({ name, kind: 'user' }) as const;
	const wokenBy = (...frames: StackRow['frames']) =>
		toFolded(
			profileOf(
				[{ ...rowOf(7, []), waker: { key: { comm: 'db' }, frames, callerMissing: true } }],
				{},
			),
		);
	const calls = [kernel('sys_futex'), kernel('wake')];
	assert.equal(
		wokenBy(user('start'), user('work'), user('unlock'), ...calls),
		'app;main;--;wake;sys_futex;unlock;[caller not known];work;start;db 7\n',
	);
	assert.equal(
		wokenBy(user('unlock'), ...calls),
		'app;main;--;wake;sys_futex;unlock;[caller not known];db 7\n',
	);
});

test('behind a waker stands what it did, unless it was blocked: then who ended that', () => {
	const waker = (comm: string, more: object) => ({
		...{ key: { comm, tid: 8 }, frames: [{ name: `${comm}_f`, kind: 'user' } as const], ...more },
	});
	const woken = (did: 'ran' | 'waited for a CPU') =>
		toFolded(
			profileOf(
				[
					{
						...rowOf(7, []),
						waker: waker('db', {
							did: 'was blocked',
							cut: 'too deep',
							waker: waker('disk', { did }),
						}),
					},
				],
				{},
			),
		);
	const way = 'app;main;--;db_f;[cut];db-8;--;disk_f;disk-8';
	assert.equal(woken('ran'), `${way};[ran] 7\n`);
	assert.equal(woken('waited for a CPU'), `${way};[waited for a CPU] 7\n`);
});

test('wakers that differ in who they were, where, or what they did stay apart', () => {
	const frames = [{ name: 'f', kind: 'user' }] as const;
	const waker = { key: { comm: 'db' }, frames, did: 'ran' } as const;
	const wakers = [
		waker,
		{ ...waker, did: 'was blocked' } as const,
		{ ...waker, key: { comm: 'web' } },
		{ ...waker, frames: [] },
		{ ...waker, cut: 'too deep' } as const,
		{ ...waker, waker },
		{ ...waker, waker: { ...waker, did: 'was blocked' } } as const,
	];
	const rows = [...wakers, ...wakers].map((each, i) => ({ ...rowOf(2 ** i, []), waker: each }));
	const merged = mergeStacks(rows);
	assert.deepEqual(
		merged.map(({ waker: each, value }) => [each, value]),
		wakers.map((each, i) => [each, 2 ** i + 2 ** (i + 7)]).reverse(),
	);
});

test('of wakers that are put together it is known of how many processes they are, of each for itself', () => {
	const waker = (pid: number, of: number): Waker => ({
		key: { comm: 'db', pid, tid: 1 + pid },
		frames: FRAMES,
		waker: { key: { comm: 'disk', pid: of, tid: 1 + of }, frames: FRAMES },
	});
	const rows = [waker(10, 30), waker(20, 30)].map((each, pid) => ({
		...rowOf(1, []),
		...{ key: { comm: 'app', pid: 5 + pid, tid: 50 + pid }, waker: each },
	}));
	const [sum, ...none] = groupStacks(rows, 'comm');
	assert.deepEqual(none, []);
	assert.deepEqual([sum?.key, sum?.processes], [{ comm: 'app' }, 2]);
	assert.deepEqual([sum?.waker?.key, sum?.waker?.processes], [{ comm: 'db' }, 2]);
	const last = sum?.waker?.waker;
	assert.deepEqual([last?.key, last?.processes], [{ pid: 30, comm: 'disk' }, undefined]);
});

test('parts of rows apart: the largest first, nothing of what there was none', () => {
	const stacks = [
		{ ...rowOf(5, []), key: { comm: 'a' }, parts: [1, 0, 4], variance: 25 },
		{ ...rowOf(3, []), key: { comm: 'b' }, parts: [0, 3, 0], variance: 0 },
	];
	const about = { kind: 'stacks', unit: 'ns', about: {}, noun: 'wait', notices: [] } as const;
	const split = splitStacks({ ...about, parts: ['x', 'y', 'z'], stacks });
	assert.deepEqual(
		split.map(({ key, parts, value, variance }) => [
			Object.entries(key),
			parts,
			value,
			Math.round(variance),
		]),
		[
			[
				[
					['part', 'z'],
					['comm', 'a'],
				],
				[0, 0, 4],
				4,
				16,
			],
			[
				[
					['part', 'y'],
					['comm', 'b'],
				],
				[0, 3, 0],
				3,
				0,
			],
			[
				[
					['part', 'x'],
					['comm', 'a'],
				],
				[1, 0, 0],
				1,
				1,
			],
		],
	);
});

test('a function of the kernel is not the one of the same name outside', () => {
	const kinds = FRAME_KINDS;
	const rows = kinds.map((kind, i) => ({ ...rowOf(i + 1, []), frames: [{ name: 'f', kind }] }));
	const merged = mergeStacks([...rows, ...rows]);
	assert.deepEqual(
		merged.map(({ frames, value }) => [frames[0]?.kind, value]),
		kinds.map((kind, i) => [kind, 2 * (i + 1)]).reverse(),
	);
});

test('what stacks that read the same waited for is added up, and what their wakers waited for', () => {
	const of = (path: string, value: number) => ({
		...{ object: { type: 'file', path } as const, value, count: 1, variance: 2 },
	});
	const waker = (...objects: ReturnType<typeof of>[]): Waker => ({
		...{ key: { comm: 'db' }, frames: FRAMES, did: 'was blocked', objects },
	});
	const [sum, ...none] = mergeStacks([
		{ ...rowOf(1, []), objects: [of('/a', 4)], waker: waker(of('/log', 3)) },
		{ ...rowOf(1, []), objects: [of('/b', 9), of('/a', 2)], waker: waker(of('/log', 5)) },
	]);
	assert.deepEqual(none, []);
	const amounts = (shares: StackRow['objects'] = []) =>
		shares.map(({ object, value, count }) => ['path' in object && object.path, value, count]);
	assert.deepEqual(amounts(sum?.objects), [
		['/b', 9, 1],
		['/a', 6, 2],
	]);
	assert.deepEqual(amounts(sum?.waker?.objects), [['/log', 8, 2]]);
});
