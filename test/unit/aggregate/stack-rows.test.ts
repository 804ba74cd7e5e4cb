import assert from 'node:assert/strict';
import { test } from 'node:test';
import { profileOf } from '../../../src/aggregate/stack-profile.js';
import { mergeStacks, type StackRow } from '../../../src/aggregate/stack-rows.js';
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
