/** Who has a mutex or a GIL, by what is in memory and what /proc says of threads. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ProcessMemory } from '../../../../src/symbolize/mappings/process-memory.js';
import { LockOwners } from '../../../../src/waits/objects/lock-owners.js';
import { fakeProc, NOBODY, statText } from '../../proc/fake-proc.js';

/** Of that process. */
const THREAD = 4_321;

/** A process of that number in its own PID namespace; `words`: what is in memory at any address. */
function owners(t: TestContext, nspid: number, words: readonly number[] | undefined = undefined) {
	t.mock.restoreAll();
	const folder = `/proc/${NOBODY}`;
	const read: unknown[] = [];
	let closed = 0;
	fakeProc(t, {
		files: {
			[`${folder}/status`]: `Uid:\t0\t0\t0\t0\nNSpid:\t${NOBODY}\t${nspid}\n`,
			[`${folder}/stat`]: statText({}),
			[`${folder}/comm`]: 'worker\n',
			[`${folder}/task/${THREAD}/comm`]: 'has it\n',
		},
		links: { [`${folder}/ns/mnt`]: 'mnt:[1]' },
	});
	t.mock.method(ProcessMemory.prototype, 'readWritten', (...asked: unknown[]) => {
		read.push(asked);
		return words && new DataView(Int32Array.from(words).buffer);
	});
	t.mock.method(ProcessMemory.prototype, 'close', () => closed++);
	const all = new LockOwners();
	t.after(() => all.close());
	return { all, read, closed: () => closed };
}

const [FREE, LOCKED, WAITED_FOR] = [0, 1, 2];

test('a mutex that others wait for has an owner: a thread of this very process', (t) => {
	const ownerOf = (...words: readonly number[]) =>
		owners(t, NOBODY, words).all.ownerOf(NOBODY, 0x5000);
	assert.deepEqual(ownerOf(WAITED_FOR, 1, THREAD), { tid: THREAD, comm: 'has it' });
	for (const words of [
		[FREE, 1, THREAD],
		[LOCKED, 1, THREAD],
		[WAITED_FOR, THREAD, 0],
		[WAITED_FOR, 1, -THREAD],
		// Of another process, which lives.
		[WAITED_FOR, 1, process.pid],
	])
		assert.equal(ownerOf(...words), undefined, `${words}`);
	assert.equal(owners(t, NOBODY).all.ownerOf(NOBODY, 0x5000), undefined);
});

test('where threads have other numbers, as they are in another PID namespace, nobody can be told', (t) => {
	const { all, read } = owners(t, 7, [WAITED_FOR, 1, THREAD]);
	assert.equal(all.ownerOf(NOBODY, 0x5000), undefined);
	assert.deepEqual(read, []);
	const gil = { pid: NOBODY, address: 0x9000, holder: THREAD };
	assert.equal(all.lastOwnerOf({ ...gil, isHolderOurs: false }), undefined);
	// Programs may know the number here.
	assert.deepEqual(all.lastOwnerOf({ ...gil, isHolderOurs: true }), {
		tid: THREAD,
		comm: 'has it',
	});
});

test('a memory is opened once, and closed in the end; after half a second of that nobody waits for more', (t) => {
	const { all, read, closed } = owners(t, NOBODY, [WAITED_FOR, 1, THREAD]);
	all.ownerOf(NOBODY, 0x5000);
	all.ownerOf(NOBODY, 0x6000);
	assert.deepEqual(read, [
		[0x5000, 12],
		[0x6000, 12],
	]);
	const now_ms = performance.now();
	t.mock.method(performance, 'now', () => now_ms + 501);
	assert.equal(all.ownerOf(NOBODY, 0x5000), undefined);
	assert.equal(read.length, 2);
	all.close();
	assert.equal(closed(), 1);
});

test('a GIL: who had it last, though it may have ended since; nobody where there is no number', (t) => {
	const { all } = owners(t, NOBODY);
	const gil = { pid: NOBODY, address: 0x9000, holder: THREAD, isHolderOurs: false };
	assert.deepEqual(all.lastOwnerOf(gil), { tid: THREAD, comm: 'has it' });
	assert.equal(all.lastOwnerOf({ ...gil, holder: 0 }), undefined);
	const ended = { ...gil, holder: 999 };
	assert.equal(all.lastOwnerOf(ended), undefined);
	assert.deepEqual(all.lastOwnerOf({ ...ended, isHolderOurs: true }), { tid: 999 });
});
