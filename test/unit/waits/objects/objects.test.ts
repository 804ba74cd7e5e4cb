/** What calls were about is left out where the wait was for something else: of rows, and of wakers behind them; kinds for programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { languageFrames } from '../../../../src/aggregate/language-view.js';
import type { Frame } from '../../../../src/aggregate/stack.js';
import type { StackRow, Waker } from '../../../../src/aggregate/stack-rows.js';
import type { ObjectShare } from '../../../../src/aggregate/wait-object.js';
import { withFittingObjects, withKinds } from '../../../../src/waits/objects/objects.js';

const framesOf = (...names: string[]): Frame[] => names.map((name) => ({ name, kind: 'kernel' }));
const PIPE = framesOf('vfs_read', 'pipe_read', 'schedule');
const MEMORY = framesOf('vfs_read', '__alloc_pages_slowpath', 'schedule');

const pipe = (value: number): ObjectShare => ({
	object: { type: 'pipe', end: 'read', path: '', inode: 7, other_end: [] },
	...{ value, count: 1, variance: 0 },
});
const file = (value: number): ObjectShare => ({
	object: { type: 'file', path: '/a' },
	...{ value, count: 2, variance: 0 },
});

const rowOf = (frames: Frame[], more: Partial<StackRow>): StackRow => ({
	...{ key: { pid: 1 }, frames, parts: [9, 1, 0, 0], value: 10, count: 3, variance: 4 },
	...more,
});
const wakerOf = (frames: Frame[], more: Partial<Waker>): Waker => ({
	...{ key: { pid: 2 }, frames, did: 'was blocked' },
	...more,
});

test('a row keeps what its wait can be for, and nothing else changes', () => {
	const rows = [
		rowOf(PIPE, { objects: [file(6), pipe(3)] }),
		rowOf(MEMORY, { objects: [pipe(3)] }),
		rowOf(PIPE, {}),
	];
	assert.deepEqual(withFittingObjects(rows), [
		rowOf(PIPE, { objects: [pipe(3)] }),
		rowOf(MEMORY, {}),
		rowOf(PIPE, {}),
	]);
});

test('so does each waker behind it', () => {
	const last = { objects: [pipe(5)] };
	const wakers = (of: Partial<Waker>, behind: Partial<Waker>) =>
		rowOf(PIPE, { waker: wakerOf(MEMORY, { ...of, waker: wakerOf(PIPE, behind) }) });
	const rows = [wakers({ objects: [pipe(4)] }, { objects: [pipe(5), file(8)] })];
	assert.deepEqual(withFittingObjects(rows), [wakers({}, last)]);
});

const kindsOf = (...stacks: readonly StackRow[]) =>
	withKinds({
		...{ kind: 'stacks', unit: 'ns', noun: 'wait', about: {}, notices: [] },
		...{ parts: ['blocked', 'run queue', 'preempted', 'throttled'], stacks },
	}).stacks;

test('for programs: a kind of what is blocked, and what for; none of what could run', () => {
	const [blocked, runnable] = kindsOf(
		rowOf(PIPE, { objects: [pipe(3)] }),
		rowOf(PIPE, { parts: [0, 10, 0, 0] }),
	);
	assert.equal(blocked?.waitKind, 'pipe');
	assert.deepEqual(blocked?.objects, [pipe(3)]);
	assert.equal(runnable?.waitKind, undefined);
});

test('it is of the same kind, whichever of its frames are shown', () => {
	const stack: Frame[] = [
		{ name: 'turn (a.js:1)', kind: 'jit' },
		{ name: 'pthread_cond_wait', kind: 'user', inCLibrary: true },
		...framesOf('do_futex', 'futex_wait', 'schedule'),
	];
	const row = rowOf(stack, {});
	const ofLanguage = languageFrames(row);
	assert.deepEqual(
		ofLanguage.frames.map(({ name }) => name),
		['turn (a.js:1)', 'do_futex', 'futex_wait', 'schedule'],
	);
	assert.deepEqual(
		kindsOf(row, ofLanguage).map(({ waitKind }) => waitKind),
		['condition', 'condition'],
	);
});
