/** Where the table of Go's functions is, in a program whose sections somebody has taken away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { Elf } from '../../../src/elf/elf.js';
import { findGoTable } from '../../../src/elf/go-place.js';
import { GoTable } from '../../../src/elf/go-table.js';
import { elfOf } from '../hostile/elf-builder.js';
import { goTableOf, TABLE, TEXT } from './go-writer.js';

const [LOAD, READ, EXECUTE] = [1, 4, 5];
const PART_BYTES = 4 * 2 ** 20;
const SPEC = { functions: [{ name: 'main.main', size: 64 }] } as const;
const REAL = goTableOf(SPEC);

/** A copy with other words in it. */
function changed(...words: readonly (readonly [at: number, value: number])[]): Buffer {
	const copy = Buffer.from(REAL);
	for (const [at, value] of words) copy.writeBigUInt64LE(BigInt(value), at);
	return copy;
}

/** A program without sections, with these bytes behind its code. */
function stripped(data: Buffer, code: Buffer = Buffer.alloc(64)): Elf {
	const file = elfOf({
		sections: [
			{ name: '.text', flags: 4, address: TEXT, data: code },
			{ name: '.rodata', address: TABLE, data },
		],
		segments: [
			{ type: LOAD, flags: EXECUTE, address: TEXT, dataOf: 0 },
			{ type: LOAD, flags: READ, address: TABLE, dataOf: 1 },
		],
		header: [[40, 8, 0n]],
	});
	return new Elf(new MemoryBytes(file));
}

/** How far behind the code's end it is, and how much room it has; undefined: it was not found. */
function placeIn(data: Buffer, code?: Buffer) {
	const elf = stripped(data, code);
	const place = findGoTable(elf);
	const [, segment] = elf.segments;
	return place && [place.at - (segment?.offset ?? 0), place.size_bytes];
}

const behind = (...parts: readonly Buffer[]) => Buffer.concat(parts);

test('it is found wherever it is, also where two parts that are read meet', () => {
	for (const skipped of [
		0,
		8,
		4096,
		PART_BYTES - 72,
		PART_BYTES - 40,
		PART_BYTES - 8,
		PART_BYTES,
	]) {
		const data = behind(Buffer.alloc(skipped), REAL, Buffer.alloc(40));
		assert.deepEqual(placeIn(data), [skipped, REAL.length + 40], `${skipped}`);
	}
	const elf = stripped(REAL);
	const table = new GoTable(elf, findGoTable(elf) ?? assert.fail(), false);
	assert.equal(table.nameOf(table.functionAt(0)), 'main.main');
});

test('what only looks like one is passed by', () => {
	// Words of the header that say where what is.
	const [NAMES, UNITS, STACKS] = [32, 40, 56];
	const padding = Buffer.alloc(-REAL.length & 7);
	const misaligned = behind(Buffer.alloc(4), REAL, Buffer.alloc((-REAL.length - 4) & 7));
	const ofNoVersion = changed();
	ofNoVersion[0] = 0x77;
	for (const [name, decoy] of [
		['backwards', behind(changed([NAMES, 2000], [UNITS, 72]), padding)],
		['outside', behind(changed([STACKS, 2 ** 40]), padding)],
		['misaligned', misaligned],
		['of no version', behind(ofNoVersion, padding)],
	] as const) {
		assert.equal(decoy.length % 8, 0);
		assert.deepEqual(placeIn(behind(decoy, REAL)), [decoy.length, REAL.length], name);
		assert.equal(placeIn(decoy), undefined, `${name} alone`);
	}
	// A file of debug information has the section's name, and not its bytes.
	const without = [{ name: '.gopclntab', type: 8, address: TABLE, size: 1000n, offset: 64n }];
	assert.equal(findGoTable(new Elf(new MemoryBytes(elfOf({ sections: without })))), undefined);
	// Nor is it looked for in code.
	assert.deepEqual(placeIn(REAL, REAL), [0, REAL.length]);
	assert.equal(placeIn(Buffer.alloc(64), REAL), undefined);
	assert.equal(placeIn(REAL.subarray(0, 40)), undefined);
});
