/** Who holds the other end of what is waited for, from what a search of all descriptors writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { off_cpu as layout } from '../../../src/generated/off_cpu.js';
import type { BpfObject } from '../../../src/loader/object.js';
import { OtherEnds } from '../../../src/waits/other-ends.js';

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

/** What is known after searches that each found these. */
async function found(...searches: readonly (readonly Descriptor[])[]): Promise<OtherEnds> {
	const wanted = new DataView(new ArrayBuffer(8));
	wanted.setBigUint64(0, 1n, true);
	let search = 0;
	const ends = new OtherEnds({
		variableBytes: () => wanted,
		runIteratorAside: async () => ({ written: written(searches[search++] ?? []), whole: true }),
	} as unknown as BpfObject<typeof layout>);
	for (const _ of searches) await ends.end();
	assert.equal(search, searches.length);
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
