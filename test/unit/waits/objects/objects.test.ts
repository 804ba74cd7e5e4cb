/** What calls were about is left out where the wait was for something else: of rows, and of wakers behind them; kinds for programs. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { languageFrames } from '../../../../src/aggregate/language-view.js';
import type { Frame } from '../../../../src/aggregate/stack.js';
import type { StackRow, Waker } from '../../../../src/aggregate/stack-rows.js';
import type { ObjectShare } from '../../../../src/aggregate/wait-object.js';
import { off_cpu as layout } from '../../../../src/generated/off_cpu.js';
import { OtherEnds } from '../../../../src/waits/objects/ends.js';
import { LockOwners } from '../../../../src/waits/objects/lock-owners.js';
import {
	WaitObjects,
	withFittingObjects,
	withKinds,
} from '../../../../src/waits/objects/objects.js';
import { Kernel } from '../../tools/kernel.js';
import { type Fields, structs } from '../../tools/structs.js';

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

const { object_type: TYPE, object_flag: FLAG } = layout.enums;
const { wait_object } = layout.structs;

/** What is read of these objects, by their numbers from 1 on. */
async function readOf(t: TestContext, given: readonly Fields<typeof wait_object>[]) {
	const kernel = new Kernel(t, layout);
	kernel.maps.set('wait_objects', [
		new DataView(BigUint64Array.from(given, (_, i) => BigInt(i + 1)).buffer),
		structs(wait_object, given),
		given.length,
	]);
	const did: string[] = [];
	t.mock.method(OtherEnds.prototype, 'end', async () => did.push('ends'));
	t.mock.method(OtherEnds.prototype, 'holders', (key: bigint, end?: string) => {
		return [{ pid: Number(key), comm: end ?? 'any' }];
	});
	t.mock.method(LockOwners.prototype, 'ownerOf', (pid: number, address: number) => {
		return { tid: pid + address, comm: 'owner' };
	});
	t.mock.method(LockOwners.prototype, 'lastOwnerOf', ({ holder }: { holder: number }) => {
		return { tid: holder, comm: 'had it' };
	});
	t.mock.method(LockOwners.prototype, 'close', () => did.push('closed'));
	const memoryNames = (places: readonly { address: number }[]) => {
		did.push('names');
		return new Map(places.map((place) => [place, `at ${place.address}`]));
	};
	const read = await new WaitObjects(kernel.object).read({ memoryNames } as never);
	return { did, of: (number: number) => read.get(BigInt(number)) };
}

test('locks have the name of their variable and who has them, each its own; all is looked at once tracing is over', async (t) => {
	const futex = (pid: number, address: number) => ({ type: TYPE.OBJECT_FUTEX, pid, address });
	const { of, did } = await readOf(t, [futex(70, 0x100), futex(71, 0x200)]);
	assert.deepEqual(of(1), {
		...{ type: 'futex', pid: 70, address: '0x100', in: 'at 256' },
		owner: { tid: 70 + 0x100, comm: 'owner' },
	});
	assert.deepEqual(of(2), {
		...{ type: 'futex', pid: 71, address: '0x200', in: 'at 512' },
		owner: { tid: 71 + 0x200, comm: 'owner' },
	});
	assert.deepEqual(did, ['ends', 'names', 'closed']);
});

test('a GIL has who had it last; of waits for it that go on, its name, in its own process and place only', async (t) => {
	const gil = (pid: number, address: number, holder: number) => ({
		...{ type: TYPE.OBJECT_GIL, pid, address, holder },
	});
	const futex = (pid: number, address: number) => ({ type: TYPE.OBJECT_FUTEX, pid, address });
	const { of } = await readOf(t, [
		...[gil(70, 0x1000, 77), gil(70, 0x9000, 78), gil(71, 0x1000, 79)],
		...[futex(70, 0x1008), futex(70, 0x9008), futex(71, 0x1008), futex(72, 0x1008)],
	]);
	const of70 = { type: 'futex', pid: 70, in: 'GIL', gil: true };
	assert.deepEqual(of(1), { ...of70, address: '0x1000', owner: { tid: 77, comm: 'had it' } });
	assert.deepEqual(
		[of(4), of(5)],
		[
			{ ...of70, address: '0x1000' },
			{ ...of70, address: '0x9000' },
		],
	);
	assert.deepEqual(of(6), { ...of70, pid: 71, address: '0x1000' });
	assert.equal((of(7) as { gil?: boolean }).gil, undefined);
});

test('a pipe has who holds its other end', async (t) => {
	const pipe = { type: TYPE.OBJECT_PIPE, other_end: 5n };
	const { of } = await readOf(t, [pipe, { ...pipe, flags: FLAG.OBJECT_WRITES }]);
	const other = (number: number) => (of(number) as { other_end: unknown }).other_end;
	assert.deepEqual(other(1), [{ pid: 5, comm: 'write' }]);
	assert.deepEqual(other(2), [{ pid: 5, comm: 'read' }]);
});
