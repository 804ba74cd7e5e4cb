/** Bytes of files and of memory: all that are asked for, and none outside. */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
	FileBytes,
	MemoryBytes,
	readText,
	readUint64,
	SymbolError,
} from '../../../src/elf/bytes.js';

const folder = mkdtempSync(join(tmpdir(), 'tstrace-bytes-'));
after(() => rmSync(folder, { recursive: true }));

/** The same content in memory, and in a file. */
function both(content: Buffer, work: (bytes: MemoryBytes | FileBytes) => void): void {
	work(new MemoryBytes(content));
	const path = join(folder, 'content');
	writeFileSync(path, content);
	const fd = openSync(path, 'r');
	try {
		work(new FileBytes(fd, content.length));
	} finally {
		closeSync(fd);
	}
}

test('a text ends at its NUL, however long it is; else at the limit, or where the bytes end', () => {
	// C++ has names of thousands of characters.
	for (const length of [0, 1, 127, 128, 129, 511, 512, 513, 3000]) {
		const text = 'a'.repeat(length);
		both(Buffer.from(`..${text}\0b\0`), (bytes) => {
			assert.equal(readText(bytes, 2, 4096), text, `${length}`);
			assert.equal(readText(bytes, 2, 100), text.slice(0, 100), `${length}`);
		});
		both(Buffer.from(`..${text}`), (bytes) => assert.equal(readText(bytes, 2, 4096), text));
	}
});

test('nothing outside is read, and no more than has to be in memory', () => {
	both(Buffer.from('0123456789'), (bytes) => {
		assert.equal(bytes.read(3, 4).toString(), '3456');
		assert.equal(bytes.read(10, 0).length, 0);
		assert.equal(bytes.read(0, 10).length, 10);
		for (const [offset, length] of [
			[-1, 2],
			[0, 11],
			[9, 2],
			[2, -1],
			[Number.NaN, 1],
		] as const) {
			assert.throws(() => bytes.read(offset, length), SymbolError, `${offset} ${length}`);
		}
	});
	const huge = new FileBytes(-1, 2 ** 40);
	assert.throws(() => huge.read(0, 64 * 2 ** 20 + 1), { message: 'a part is too large' });
});

test('a file that was made shorter meanwhile, or cannot be read', () => {
	const path = join(folder, 'shorter');
	writeFileSync(path, '0123456789');
	const fd = openSync(path, 'r');
	const bytes = new FileBytes(fd, 10);
	truncateSync(path, 4);
	assert.equal(bytes.read(0, 4).toString(), '0123');
	assert.throws(() => bytes.read(2, 4), SymbolError);
	closeSync(fd);
	const directory = openSync(folder, 'r');
	assert.throws(() => new FileBytes(directory, 10).read(0, 4), {
		name: 'Error',
		message: 'cannot be read: EISDIR',
	});
	closeSync(directory);
});

test('numbers of 64 bits, little-endian, exact as far as numbers are', () => {
	for (const number of [0n, 1n, 0xffff_ffffn, 0x1_0000_0000n, 0x1f_ffff_ffff_ffffn]) {
		const buffer = Buffer.alloc(11);
		buffer.writeBigUInt64LE(number, 3);
		assert.equal(readUint64(buffer, 3), Number(number));
	}
});
