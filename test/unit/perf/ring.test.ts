import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PerfRing } from '../../../src/perf/ring.js';
import { FakeRing, PAGE_BYTES } from './fake-ring.js';

/** [size, what it is filled with]; fails if it is not filled with one thing throughout. */
function contentOf(view: DataView): [number, number] {
	const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
	const fill = bytes[0] ?? 0;
	for (const [i, byte] of bytes.entries()) if (i !== 6 && i !== 7) assert.equal(byte, fill);
	return [bytes.length, fill];
}

function readAll(ring: PerfRing): { records: [number, number][]; whole: boolean } {
	const records: [number, number][] = [];
	const whole = ring.read((view) => records.push(contentOf(view)));
	return { records, whole };
}

test('records come whole and in order, wherever they wrap around', () => {
	const size = fc.integer({ min: 1, max: 100 }).map((words) => words * 8);
	const batches = fc.array(fc.array(size, { maxLength: 12 }), { maxLength: 12 });
	const begin = fc.integer({ min: 0, max: 2 ** 37 }).map((words) => words * 8);
	fc.assert(
		fc.property(batches, begin, (sizes, position) => {
			const kernel = new FakeRing(PAGE_BYTES, position);
			const ring = new PerfRing(kernel, PAGE_BYTES);
			for (const batch of sizes) {
				const written: [number, number][] = [];
				for (const [i, bytes] of batch.entries()) {
					if (kernel.write(bytes, i + 1)) written.push([bytes, i + 1]);
				}
				assert.deepEqual(readAll(ring), { records: written, whole: true });
				assert.equal(kernel.tail, kernel.head);
			}
		}),
	);
});

test('what is written while it is read is for the next time', () => {
	const kernel = new FakeRing(PAGE_BYTES);
	const ring = new PerfRing(kernel, PAGE_BYTES);
	kernel.write(8, 1);
	let count = 0;
	ring.read(() => {
		count++;
		kernel.write(8, 2);
	});
	assert.equal(count, 1);
	assert.equal(readAll(ring).records.length, 1);
});

test('room is freed on the way, and also when the reader fails', () => {
	const kernel = new FakeRing(4 * PAGE_BYTES);
	const ring = new PerfRing(kernel, PAGE_BYTES);
	for (let i = 0; i < 16; i++) kernel.write(1024, i);
	let freedMeanwhile = false;
	ring.read(() => {
		freedMeanwhile ||= kernel.tail > 0;
	});
	assert.ok(freedMeanwhile);

	kernel.write(64, 1);
	kernel.write(64, 2);
	const failing = () => {
		throw new Error('no');
	};
	assert.throws(() => ring.read(failing), /no/);
	assert.deepEqual(readAll(ring).records, [[64, 2]]);
});

test('whatever the memory holds, reading ends', () => {
	const bytes = fc.uint8Array({ minLength: PAGE_BYTES, maxLength: PAGE_BYTES });
	const position = fc.oneof(fc.nat({ max: 2 * PAGE_BYTES }), fc.maxSafeInteger());
	fc.assert(
		fc.property(bytes, position, fc.integer({ min: 0, max: 512 }), (data, head, words) => {
			const kernel = new FakeRing(PAGE_BYTES, words * 8);
			for (const [i, byte] of data.entries()) kernel.poke(i, byte);
			kernel.head = Math.max(0, head);
			const ring = new PerfRing(kernel, PAGE_BYTES);
			let count = 0;
			ring.read(() => count++);
			assert.ok(count <= PAGE_BYTES / 8);
		}),
		{ numRuns: 500 },
	);
});

test('nearly full is a ring that may have had no room for a record, and no other', () => {
	const most = 2 ** 16; // of bytes in one record
	const [bytes, size] = [4 * most, 4096];
	for (const [used, nearlyFull] of [
		[0, false],
		[most / 2, false],
		[bytes / 2, false],
		[bytes - most, false],
		[bytes - most + size, true],
		[bytes, true],
	] as const) {
		const kernel = new FakeRing(bytes, size);
		const ring = new PerfRing(kernel, PAGE_BYTES);
		for (let i = 0; i < used / size; i++) assert.ok(kernel.write(size, 1));
		assert.equal(readAll(ring).records.length, used / size);
		assert.equal(ring.nearlyFull, nearlyFull, `${used} of ${bytes} bytes in use`);
		readAll(ring);
		assert.equal(ring.nearlyFull, false, 'read, and empty');
	}
});

test('a size that cannot be: said, and the rest is skipped', () => {
	for (const size of [0, 4, 12, 4096]) {
		const kernel = new FakeRing(PAGE_BYTES);
		const ring = new PerfRing(kernel, PAGE_BYTES);
		kernel.write(16, 1);
		kernel.write(16, 2);
		kernel.poke(16 + 6, size & 0xff);
		kernel.poke(16 + 7, size >> 8);
		assert.deepEqual(readAll(ring), { records: [[16, 1]], whole: false });
		kernel.write(16, 3);
		assert.deepEqual(readAll(ring), { records: [[16, 3]], whole: true });
	}
});

test('more than fits: said, skipped, and what follows is read', () => {
	const kernel = new FakeRing(PAGE_BYTES);
	const ring = new PerfRing(kernel, PAGE_BYTES);
	kernel.head = PAGE_BYTES + 8;
	assert.deepEqual(readAll(ring), { records: [], whole: false });
	kernel.write(16, 3);
	assert.deepEqual(readAll(ring), { records: [[16, 3]], whole: true });
});

test('closed while it is read, it frees no room any more', () => {
	const kernel = new FakeRing(PAGE_BYTES);
	const ring = new PerfRing(kernel, PAGE_BYTES);
	kernel.write(16, 1);
	ring.read(() => ring.close());
	assert.deepEqual([kernel.tail, kernel.unmapped], [0, 1]);
});

test('after it is closed it touches nothing', () => {
	const kernel = new FakeRing(PAGE_BYTES);
	const ring = new PerfRing(kernel, PAGE_BYTES);
	kernel.write(16, 1);
	ring.close();
	ring.close();
	assert.equal(kernel.unmapped, 1);
	assert.deepEqual(readAll(ring), { records: [], whole: true });
	assert.equal(kernel.tail, 0);
});
