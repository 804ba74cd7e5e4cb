/** Where places of a file are in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { Elf, SEGMENT_TYPE } from '../../../src/elf/elf.js';
import { elfOf } from '../hostile/elf-builder.js';

const PAGE = 4096;
const [TEXT, DATA] = [0x401234, 0x60_0000];

/** A file with two segments, of which neither begins with a page, and a third that is not loaded. */
const file = new Elf(
	new MemoryBytes(
		elfOf({
			sections: [
				{ data: Buffer.alloc(PAGE + 100) },
				{ name: '.text', address: TEXT, data: Buffer.alloc(2 * PAGE) },
				{ name: '.data', address: DATA, data: Buffer.alloc(64) },
				{ data: Buffer.alloc(3 * PAGE) },
				{ name: '.note', data: Buffer.alloc(32) },
			],
			segments: [
				{ type: SEGMENT_TYPE.load, flags: 5, address: TEXT, dataOf: 1 },
				{ type: SEGMENT_TYPE.load, flags: 6, address: DATA, dataOf: 2 },
				{ type: SEGMENT_TYPE.note, address: 0x70_0000, dataOf: 4 },
			],
		}),
	),
);
const [text, data] = ['.text', '.data'].map((name) => file.section(name)?.offset ?? assert.fail());

test('a place in a segment is at its address, from its first byte to its last', () => {
	assert.ok(text !== undefined && text % PAGE !== 0);
	assert.equal(file.addressOf(text), TEXT);
	assert.equal(file.addressOf(text + 5000), TEXT + 5000);
	assert.equal(file.addressOf(text + 2 * PAGE - 1), TEXT + 2 * PAGE - 1);
});

test('the kernel maps whole pages: what is in front of a segment, on its first one, is there, too', () => {
	assert.ok(text !== undefined && data !== undefined);
	const page = text - (text % PAGE);
	assert.equal(file.addressOf(page), TEXT - (text % PAGE));
	assert.equal(file.addressOf(text - 1), TEXT - 1);
	assert.equal(file.addressOf(page - 1), undefined, 'not what is on the page before');
	// What is in the first of two segments is not in front of the second.
	assert.equal(file.addressOf(data - 1), TEXT + data - 1 - text);
});

test('what is in no segment that is loaded is nowhere', () => {
	const note = file.section('.note') ?? assert.fail();
	assert.equal(file.addressOf(note.offset), undefined);
	assert.equal(file.addressOf(2 ** 40), undefined);
	assert.equal(file.addressOf(0), undefined);
});

test('a segment may be larger in memory than in the file', () => {
	const bytes = elfOf({
		sections: [{ name: '.data', address: DATA, data: Buffer.alloc(64) }],
		segments: [{ type: SEGMENT_TYPE.load, flags: 6, address: DATA, dataOf: 0 }],
	});
	bytes.writeBigUInt64LE(4096n, 64 + 40);
	const elf = new Elf(new MemoryBytes(bytes));
	const segment = elf.segments[0] ?? assert.fail();
	assert.deepEqual([segment.size_bytes, segment.memory_bytes, segment.flags], [64, 4096, 6]);
	assert.equal(elf.addressOf(segment.offset + 63), DATA + 63);
	assert.equal(elf.addressOf(segment.offset + 64), undefined, 'the file has no more of it');
});
