/** The consumer's side of a ring buffer, over a file with what the kernel would have written. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextLoop } from 'node:timers/promises';
import { RingBuffer } from '../../../src/loader/ringbuf.js';
import { temporaryFolder } from '../symbolize/support.js';
import { HEADER_BYTES, PAGE_BYTES as PAGE, RING_BYTES, ringFile } from './ring-file.js';

/** include/uapi/linux/bpf.h, BPF_RINGBUF_BUSY_BIT and so on. */
const BUSY = 2 ** 31;
const DISCARD = 2 ** 30;
interface Written {
	readonly value: number;
	readonly bytes?: number;
	readonly flags?: number;
}

const isMapped = (path: string) => readFileSync('/proc/self/maps', 'utf8').includes(path);

/** Reads a ring whose records begin at `from`; returns what it hands over, and up to where it gives room back. */
function read(
	records: readonly Written[],
	{ from = 0, each = (_: number): void => {} } = {},
): { values: number[]; consumed: number; produced: number; freed: number[] } {
	const written = records.map(({ value, bytes = 8, flags = 0 }) => {
		const record = Buffer.alloc(bytes);
		record.writeUInt32LE(value, 0);
		return { bytes: record, flags };
	});
	const { path, map, at, close } = ringFile(written, from);
	const consumedNow = () => Number(readFileSync(path).readBigUInt64LE(0));
	const ring = new RingBuffer(map);
	const values: number[] = [];
	const freed: number[] = [];
	try {
		ring.read((record) => {
			freed.push(consumedNow());
			values.push(record.getUint32(0, true));
			each(values.length);
		});
	} catch (error) {
		assert.match(String(error), /enough/);
	}
	const consumed = consumedNow();
	assert.ok(isMapped(path));
	ring.close();
	close();
	assert.ok(!isMapped(path), 'no mapping is left of a ring that is closed');
	return { values, consumed, produced: at, freed };
}

test('each record once, in order, without those that were taken back', () => {
	const records = [{ value: 1 }, { value: 2, flags: DISCARD, bytes: 20 }, { value: 3, bytes: 13 }];
	const { values, consumed, produced } = read([...records, { value: 4 }]);
	assert.deepEqual(values, [1, 3, 4]);
	assert.equal(consumed, produced);
});

test('a record that is not complete, and all after it, come later', () => {
	const { values, consumed } = read([{ value: 1 }, { value: 2, flags: BUSY }, { value: 3 }]);
	assert.deepEqual([values, consumed], [[1], 16]);
});

test('a record that wraps around is in one piece; positions go on beyond 32 bits', () => {
	const from = 2 ** 20 * RING_BYTES + RING_BYTES - 8;
	const { values, consumed } = read([{ value: 5, bytes: 24 }, { value: 6 }], { from });
	assert.deepEqual([values, consumed], [[5, 6], from + 32 + 16]);
});

test('room is given back while records are read, not only after the last one', () => {
	const many = Array.from({ length: 12 }, (_, i) => ({ value: i, bytes: PAGE }));
	const { freed, consumed, produced } = read(many);
	assert.equal(consumed, produced);
	assert.ok((freed.at(-1) ?? 0) >= 7 * PAGE, `${freed}`);
	assert.ok(freed.every((place, i) => place <= i * (PAGE + HEADER_BYTES)));
});

test('a callback that throws has had its record', () => {
	const each = (count: number) => {
		if (count === 2) throw new Error('enough');
	};
	const { values, consumed } = read([{ value: 1 }, { value: 2 }, { value: 3 }], { each });
	assert.deepEqual([values, consumed], [[1, 2], 32]);
});

/** The values of a batch for which there is room for so many; and up to where room is given back then. */
function batchOf(records: readonly Written[], { from = 0, most = 100 } = {}) {
	const written = records.map(({ value, bytes = 8, flags = 0 }) => {
		const record = Buffer.alloc(bytes);
		record.writeUInt32LE(value, 0);
		return { bytes: record, flags };
	});
	const { path, map, at, close } = ringFile(written, from);
	const ring = new RingBuffer(map);
	const places = new Uint32Array(most);
	const take = () => {
		const count = ring.batch(places, ring.produced);
		const values = [...places.subarray(0, count)].map((place) => ring.words[place]);
		const before = Number(readFileSync(path).readBigUInt64LE(0));
		ring.release();
		return { values, before, consumed: Number(readFileSync(path).readBigUInt64LE(0)) };
	};
	const batches = [take(), take()];
	ring.close();
	close();
	return { batches, end: at };
}

test('who reads is woken again as long as there is something, but not before it has done its work', async () => {
	const pipe = join(temporaryFolder(), 'pipe');
	execFileSync('mkfifo', [pipe]);
	const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
	const { map, close } = ringFile([]);
	const ring = new RingBuffer(map);
	let [wakes, isBusy] = [0, false];
	await new Promise<void>((resolve) => {
		ring.watch(fd, async () => {
			assert.ok(!isBusy);
			isBusy = true;
			// So many turns of the loop, in each of which it could be woken.
			for (let turn = 0; turn < 3; turn++) await nextLoop();
			isBusy = false;
			if (++wakes === 3) resolve();
		});
		writeSync(fd, 'x');
	});
	ring.close();
	close();
	closeSync(fd);
});

test('a batch tells where its records are, and gives their room back when it is released', () => {
	const records = [
		...[{ value: 1, bytes: 13 }, { value: 2 }, { value: 3, flags: DISCARD, bytes: 20 }],
		...[{ value: 4 }, { value: 5 }],
	];
	const from = 2 ** 20 * RING_BYTES + RING_BYTES - 16;
	const { batches, end } = batchOf(records, { from });
	assert.deepEqual(batches, [
		{ values: [1, 2, 4, 5], before: from, consumed: end },
		{ values: [], before: end, consumed: end },
	]);
	const few = batchOf(records, { most: 2 });
	const behind = 24 + 16;
	assert.deepEqual(few.batches, [
		{ values: [1, 2], before: 0, consumed: behind },
		{ values: [4, 5], before: behind, consumed: few.end },
	]);
	const busy = batchOf([{ value: 1 }, { value: 2, flags: BUSY }, { value: 3 }]);
	assert.deepEqual(busy.batches[0], { values: [1], before: 0, consumed: 16 });
});
