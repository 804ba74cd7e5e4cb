/** Who holds the other end of what is waited for, from what a search of all descriptors writes. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { off_cpu as layout } from '../../../../src/generated/off_cpu.js';
import type { BpfObject } from '../../../../src/loader/object.js';
import { OtherEnds } from '../../../../src/waits/objects/ends.js';

const { size, fields } = layout.structs.end_holder;
const { END_READS: READS, END_WRITES: WRITES } = layout.enums.end_mode;

/** A descriptor: the end that it is of, and who has it. */
type Descriptor = readonly [key: bigint, mode: number, pid: number, comm: string];

function written(descriptors: readonly Descriptor[]): DataView {
	const view = new DataView(new ArrayBuffer(size * descriptors.length));
	for (const [i, [key, mode, pid, comm]] of descriptors.entries()) {
		const at = i * size;
		view.setBigUint64(at + fields.key.offset, key, true);
		view.setUint32(at + fields.mode.offset, mode, true);
		view.setUint32(at + fields.tgid.offset, pid, true);
		Buffer.from(comm).copy(new Uint8Array(view.buffer), at + fields.comm.offset);
	}
	return view;
}

interface Search {
	readonly written: DataView;
	/** Whether it came to the end. */
	readonly whole: boolean;
}

/** So many ends are wanted in all; `search` is what a search finds. */
function otherEnds(wanted: () => number, search: () => Promise<Search>): OtherEnds {
	const bytes = new DataView(new ArrayBuffer(8));
	return new OtherEnds({
		variableBytes: () => {
			bytes.setBigUint64(0, BigInt(wanted()), true);
			return bytes;
		},
		runIteratorAside: search,
	} as unknown as BpfObject<typeof layout>);
}

/** What is known after searches that each found these. */
async function found(...searches: readonly (readonly Descriptor[])[]): Promise<OtherEnds> {
	let done = 0;
	const search = async () => ({ written: written(searches[done++] ?? []), whole: true });
	const ends = otherEnds(() => 1, search);
	for (const _ of searches) await ends.end();
	assert.equal(done, searches.length);
	assert.deepEqual(ends.notices(), []);
	return ends;
}

const [PIPE, OTHER, NONE] = [7n, 8n, 9n];

test('a process with several descriptors of one end is there once, each other one, too', async () => {
	const ends = await found([
		[PIPE, READS, 31, 'reader'],
		[PIPE, WRITES, 21, 'writer'],
		[PIPE, WRITES, 21, 'writer'],
		[PIPE, WRITES, 22, 'second'],
		[PIPE, WRITES, 21, 'writer'],
		// The same process may hold other ends, and both of one.
		[OTHER, READS | WRITES, 21, 'writer'],
	]);
	const [writer, second] = [
		{ pid: 21, comm: 'writer' },
		{ pid: 22, comm: 'second' },
	];
	assert.deepEqual(ends.holders(PIPE, 'write'), [writer, second]);
	assert.deepEqual(ends.holders(PIPE, 'read'), [{ pid: 31, comm: 'reader' }]);
	assert.deepEqual(ends.holders(OTHER, 'write'), [writer]);
	assert.deepEqual(ends.holders(OTHER, 'read'), [writer]);
	assert.deepEqual(ends.holders(NONE, 'write'), []);
	assert.deepEqual(ends.holders(NONE), []);
});

test('whatever is not asked for by its end has who can write to it, or else who can read', async () => {
	const ends = await found([
		[PIPE, READS, 31, 'reader'],
		[PIPE, WRITES, 21, 'writer'],
		[OTHER, READS, 32, 'other'],
	]);
	assert.deepEqual(ends.holders(PIPE), [{ pid: 21, comm: 'writer' }]);
	assert.deepEqual(ends.holders(OTHER), [{ pid: 32, comm: 'other' }]);
});

test('who has ended since is still there; who came instead of others is there alone', async () => {
	const ends = await found(
		[
			[PIPE, READS, 31, 'reader'],
			[PIPE, WRITES, 21, 'writer'],
			[OTHER, WRITES, 23, 'third'],
		],
		[[PIPE, WRITES, 22, 'second']],
	);
	assert.deepEqual(ends.holders(PIPE, 'read'), [{ pid: 31, comm: 'reader' }]);
	assert.deepEqual(ends.holders(PIPE, 'write'), [{ pid: 22, comm: 'second' }]);
	assert.deepEqual(ends.holders(OTHER, 'write'), [{ pid: 23, comm: 'third' }]);
});

test('of hundreds who inherited an end a few are there, and all of them of the other one', async () => {
	const workers = Array.from({ length: 300 }, (_, i) => [PIPE, WRITES, 100 + i, 'w'] as const);
	const ends = await found([...workers, [PIPE, READS, 31, 'reader']]);
	assert.deepEqual(
		ends.holders(PIPE, 'write').map(({ pid }) => pid),
		Array.from({ length: 32 }, (_, i) => 100 + i),
	);
	assert.deepEqual(ends.holders(PIPE, 'read'), [{ pid: 31, comm: 'reader' }]);
});

test('a search that was cut short, or failed, is said, whatever came after; its result stays', async () => {
	const descriptors = written([[PIPE, WRITES, 21, 'writer']]);
	const outcomes = {
		whole: async () => ({ written: descriptors, whole: true }),
		cut: async () => ({ written: descriptors, whole: false }),
		fails: async () => Promise.reject(new Error('no memory')),
	};
	const missing = 'not all processes at the other end of pipes and sockets were found';
	for (const [order, notices] of [
		[['whole', 'whole'], []],
		[['cut', 'whole'], [`${missing}: there are too many descriptors`]],
		[['whole', 'cut'], [`${missing}: there are too many descriptors`]],
		[['fails', 'whole'], [`${missing}: no memory`]],
		[['whole', 'fails'], [`${missing}: no memory`]],
	] as const) {
		const left: (keyof typeof outcomes)[] = [...order];
		const ends = otherEnds(
			() => 1,
			() => outcomes[left.shift() ?? 'fails'](),
		);
		await ends.end();
		await ends.end();
		assert.equal(left.length, 0);
		assert.deepEqual(ends.notices(), notices, order.join());
		assert.deepEqual(ends.holders(PIPE, 'write'), [{ pid: 21, comm: 'writer' }]);
	}
});

/** Lets promises that are kept go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
/** Timers end only as `pass` is called; that returns how long they were to take, in ms. */
function timers(t: TestContext): { pass: () => number[] } {
	const pending = new Map<unknown, readonly [end: () => void, ms: number]>();
	const set = (end: () => void, ms = 0) => {
		const timer = { unref: () => {} };
		pending.set(timer, [end, ms]);
		return timer;
	};
	t.mock.method(globalThis, 'setTimeout', set as unknown as typeof setTimeout);
	t.mock.method(globalThis, 'clearTimeout', (timer: unknown) => pending.delete(timer));
	const pass = () => {
		const due = [...pending.values()];
		pending.clear();
		for (const [end] of due) end();
		return due.map(([, ms]) => ms);
	};
	return { pass };
}

const SEARCH_MS = 4;

test('all descriptors are searched soon after somebody waits for something new, and else never', async (t) => {
	const { pass } = timers(t);
	let now_ms = 0;
	t.mock.method(performance, 'now', () => now_ms);
	let [wanted, searches] = [0, 0];
	const ends = otherEnds(
		() => wanted,
		async () => {
			searches++;
			now_ms += SEARCH_MS;
			return { written: written([]), whole: true };
		},
	);
	/** Eight looks; how long the pauses before them were. */
	const pauses = async () => {
		const all_ms: number[] = [];
		for (let i = 0; i < 8; i++) {
			all_ms.push(...pass());
			await settled();
		}
		return all_ms;
	};
	ends.begin();
	const idle_ms = await pauses();
	assert.equal(idle_ms.length, 8);
	for (const ms of idle_ms) assert.ok(ms >= 10 && ms <= 100, `${idle_ms}`);
	assert.equal(searches, 0, 'nobody waits');
	wanted = 2;
	const [, after_ms = 0, ...later_ms] = await pauses();
	assert.equal(searches, 1, 'once for what is there');
	// A search takes at most 2 % of a CPU.
	assert.equal(after_ms, 50 * SEARCH_MS);
	assert.equal(later_ms.length, 6);
	for (const ms of later_ms) assert.ok(ms <= 100, `${later_ms}`);
	wanted = 5;
	await pauses();
	assert.equal(searches, 2);
	await ends.end();
	assert.equal(searches, 3, 'once more at the end');
	wanted = 6;
	assert.deepEqual(await pauses(), []);
	assert.equal(searches, 3, 'it is over');
});

test('where nobody has waited for anything, nothing is searched at the end either', async () => {
	const ends = otherEnds(
		() => 0,
		() => assert.fail('it is searched'),
	);
	await ends.end();
	assert.deepEqual(ends.notices(), []);
});

test('the last search begins when the one before is over: what it finds is later', async (t) => {
	const { pass } = timers(t);
	const begun: ((descriptors: readonly Descriptor[]) => void)[] = [];
	const ends = otherEnds(
		() => 1,
		() =>
			new Promise((resolve) => {
				begun.push((descriptors) => resolve({ written: written(descriptors), whole: true }));
			}),
	);
	ends.begin();
	pass();
	const end = ends.end();
	await settled();
	assert.equal(begun.length, 1);
	begun[0]?.([[PIPE, WRITES, 21, 'writer']]);
	await settled();
	assert.equal(begun.length, 2);
	begun[1]?.([[PIPE, WRITES, 22, 'second']]);
	await end;
	assert.deepEqual(ends.holders(PIPE, 'write'), [{ pid: 22, comm: 'second' }]);
});
