/** Rules of single addresses: those of the whole table, at a bounded cost. */
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FileBytes, MemoryBytes } from '../../../src/elf/bytes.js';
import { ruleLookup } from '../../../src/unwind/lookup.js';
import { CFA } from '../../../src/unwind/rule.js';
import { ruleAt, unwindTable } from '../../../src/unwind/table.js';
import { elfOf } from '../hostile/elf-builder.js';
import { little } from './frame-writer.js';

const LIBC = /\S+\/libc\.so\.6$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[0] ?? '';

for (const path of [LIBC, process.execPath]) {
	test(`${path}: at each row, before it and behind it`, () => {
		const fd = openSync(path, 'r');
		try {
			const bytes = new FileBytes(fd, fstatSync(fd).size);
			const table = unwindTable(bytes);
			const lookup = ruleLookup(bytes);
			const { addresses } = table.rows;
			assert.ok(addresses.length > 10_000);
			const step = Math.ceil(addresses.length / 20_000);
			for (let i = 0; i < addresses.length; i += step) {
				const row = addresses[i] as number;
				for (const place of [row - 1, row, row + 1]) {
					assert.deepEqual(lookup.ruleAt(place), ruleAt(table, place), place.toString(16));
				}
			}
		} finally {
			closeSync(fd);
		}
	});
}

test('of what is no ELF file, or is cut off anywhere, nothing is known', () => {
	const whole = readFileSync(LIBC);
	for (const length of [0, 3, 64, 5000, whole.length >> 1, whole.length - 1]) {
		const lookup = ruleLookup(new MemoryBytes(whole.subarray(0, length)));
		for (const place of [0, 0x30000, whole.length, 2 ** 40]) lookup.ruleAt(place);
	}
	assert.equal(ruleLookup(new MemoryBytes(Buffer.alloc(0))).ruleAt(0).cfa, CFA.gap);
});

const TEXT_AT = 0x10000;
const FRAMES_AT = 0x4000000;
const HEADER_AT = 0x8000000;
/** Version 1, "zR", factors 1 and -8, relative to itself in 32 bits; CFA is rsp + 8, and rip there at -8. */
const COMMON = entryOf([0, 0, 0, 0, 1, 0x7a, 0x52, 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1]);

function entryOf(body: Iterable<number>): Buffer {
	const bytes = Buffer.from([...body]);
	return Buffer.concat([Buffer.from(little(bytes.length, 4)), bytes]);
}

/** A file of functions of `size` bytes, one after the other, with these instructions, that an index leads to. */
function indexed(size: number, ...functions: readonly Buffer[]): Buffer {
	const frames: Buffer[] = [COMMON];
	const index: number[] = [];
	let at = COMMON.length;
	for (const [i, instructions] of functions.entries()) {
		const start = TEXT_AT + i * size;
		index.push(...little(start - HEADER_AT, 4), ...little(FRAMES_AT + at - HEADER_AT, 4));
		const place = [...little(start - (FRAMES_AT + at + 8), 4), ...little(size, 4), 0];
		frames.push(entryOf([...little(at + 4, 4), ...place, ...instructions]));
		at += (frames.at(-1) as Buffer).length;
	}
	const header = Buffer.from([1, 0x1b, 3, 0x3b, ...little(0, 4), ...little(functions.length, 4)]);
	return elfOf({
		sections: [
			{ name: '.text', flags: 4, address: TEXT_AT, data: Buffer.alloc(size * functions.length) },
			{ name: '.eh_frame', address: FRAMES_AT, data: Buffer.concat(frames) },
			{
				name: '.eh_frame_hdr',
				address: HEADER_AT,
				data: Buffer.concat([header, Buffer.from(index)]),
			},
		],
		segments: [{ type: 1, flags: 5, address: TEXT_AT, dataOf: 0 }],
	});
}

/** Where the code of such a file is in it: behind the header and one segment. */
const CODE_AT = 64 + 56 + 8;
/** CFA is rsp + 16 from the second byte on. */
const PUSHES = Buffer.from([0x41, 0x0e, 16]);

test('an address is looked up once, and what is asked for again is remembered', () => {
	const file = indexed(32_768, PUSHES);
	const lookup = ruleLookup(new MemoryBytes(file));
	const cfaAt = (place: number) => lookup.ruleAt(CODE_AT + place).cfaOffset;
	assert.deepEqual([cfaAt(0), cfaAt(1), cfaAt(2)], [8, 16, 16]);
	// The bytes are the ones that it looks into.
	file.fill(0, CODE_AT);
	assert.deepEqual([cfaAt(0), cfaAt(1), cfaAt(2)], [8, 16, 16]);
	assert.equal(lookup.ruleAt(CODE_AT + 3).cfa, CFA.gap);
	// Not for ever: all the addresses of a large file are too many.
	for (let place = 4; place < 32_768; place++) cfaAt(place);
	assert.equal(lookup.ruleAt(CODE_AT).cfa, CFA.gap);
});

test('an index that says it is longer than it is has what is there', () => {
	const file = indexed(16, PUSHES, PUSHES);
	const header = file.indexOf(Buffer.from([1, 0x1b, 3, 0x3b]));
	file.writeUInt32LE(1_000_000, header + 8);
	const lookup = ruleLookup(new MemoryBytes(file));
	const offsets = [0, 15, 17, 31].map((place) => lookup.ruleAt(CODE_AT + place).cfaOffset);
	assert.deepEqual(offsets, [8, 16, 16, 16]);
});

test('an entry of 64 KiB is executed, a longer one is none', () => {
	/** Instructions that make the whole entry as long as that. */
	const filled = (bytes: number) => Buffer.concat([PUSHES, Buffer.alloc(bytes - 13 - 3)]);
	const lookup = ruleLookup(new MemoryBytes(indexed(16, filled(65_536), filled(65_537), PUSHES)));
	const rules = [8, 24, 40].map((place) => lookup.ruleAt(CODE_AT + place));
	assert.deepEqual(
		rules.map(({ cfa, cfaOffset }) => [cfa, cfaOffset]),
		[
			[CFA.sp, 16],
			[CFA.gap, 0],
			[CFA.sp, 16],
		],
	);
});

test('what it keeps is what it has read of the file, or the rows', () => {
	const file = indexed(16, Buffer.concat([PUSHES, Buffer.alloc(2 ** 20)]), PUSHES);
	const { bytesKept } = ruleLookup(new MemoryBytes(file));
	assert.ok(bytesKept > 2 ** 20 && bytesKept < 2 ** 21, `${bytesKept}`);
	const without = Buffer.from(file);
	without.write('.no_', without.indexOf('.eh_frame_hdr'), 'latin1');
	const rows = ruleLookup(new MemoryBytes(without)).bytesKept;
	assert.ok(rows > 100 && rows < 2 ** 20, `${rows}`);
});

test('instructions may name the address that they go on at, and none that is behind them', () => {
	/** CFA is rsp + 16 from the 8th byte on; then the address is `target`, and CFA rsp + 24. */
	const goesTo = (target: number) => {
		const before = [0x48, 0x0e, 16, 0x01];
		const place = FRAMES_AT + COMMON.length + 17 + before.length;
		return Buffer.from([...before, ...little((TEXT_AT + target - place) | 0, 4), 0x0e, 24]);
	};
	const offsetsOf = (target: number) => {
		const file = new MemoryBytes(indexed(32, goesTo(target)));
		const table = unwindTable(file);
		const lookup = ruleLookup(file);
		return [0, 7, 8, 15, 16, 31].map((at) => {
			const rule = lookup.ruleAt(CODE_AT + at);
			assert.deepEqual(ruleAt(table, CODE_AT + at), rule);
			return rule.cfa === CFA.unknown ? undefined : rule.cfaOffset;
		});
	};
	assert.deepEqual(offsetsOf(16), [8, 8, 16, 16, 24, 24]);
	assert.deepEqual(offsetsOf(8), [8, 8, 24, 24, 24, 24], 'where it is');
	const unknown = [undefined, undefined, undefined, undefined];
	assert.deepEqual(offsetsOf(7), [8, 8, ...unknown], 'that is damaged');
});
