/** Functions found by name, in tables of symbols that were written for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes, SymbolError } from '../../../../src/elf/bytes.js';
import { Elf, SECTION_TYPE } from '../../../../src/elf/elf.js';
import { findFunctions, hasSymbolTable } from '../../../../src/symbolize/symbols/functions.js';
import { elfOf, symbolsOf } from '../../hostile/elf-builder.js';

interface Written {
	readonly name: string;
	readonly address: number;
	readonly size?: number;
	/** STB << 4 | STT. */
	readonly info?: number;
	/** 3: code. */
	readonly section?: number;
}

const [GLOBAL_FUNC, GLOBAL_OBJECT, GLOBAL_IFUNC] = [0x12, 0x11, 0x1a];
const TEXT = 0x401000;
const [CODE, DATA] = [3, 4];

function fileWith(
	symbols: readonly Written[],
	type: number = SECTION_TYPE.dynsym,
	strings?: number,
): Elf {
	const names = Buffer.from(`\0${symbols.map(({ name }) => name).join('\0')}\0`);
	const table = symbolsOf(
		symbols.map(({ name, address, size = 8, info = GLOBAL_FUNC, section = CODE }) => {
			return { name: names.indexOf(`\0${name}\0`) + 1, address, size, info, section };
		}),
	);
	const sections = [
		{ name: '.symbols', type, data: table, link: strings ?? 2 },
		{ name: '.strings', type: 3, data: names },
		{ name: '.text', flags: 6, address: TEXT, data: Buffer.alloc(64) },
		{ name: '.data', flags: 3, address: 0x500000, data: Buffer.alloc(64) },
	];
	return new Elf(new MemoryBytes(elfOf({ sections })));
}

const found = (elf: Elf, ...names: string[]) =>
	findFunctions(elf, new Set(names)).sort((a, b) => (a.name < b.name ? -1 : 1));

test('where each begins, in memory and in the file, and how long it is', () => {
	const elf = fileWith([
		{ name: 'of no interest', address: TEXT },
		{ name: 'malloc', address: TEXT + 16, size: 12 },
		{ name: 'free', address: TEXT + 32, size: 0 },
		{ name: 'other', address: TEXT + 48 },
	]);
	const text = elf.section('.text') ?? assert.fail();
	assert.deepEqual(found(elf, 'malloc', 'free', 'calloc'), [
		{ name: 'free', address: TEXT + 32, offset: text.offset + 32, size_bytes: 0 },
		{ name: 'malloc', address: TEXT + 16, offset: text.offset + 16, size_bytes: 12 },
	]);
	assert.deepEqual(found(elf), []);
});

test('only functions that are code; of two with a name the first', () => {
	const elf = fileWith([
		{ name: 'hook', address: 0x500008, section: DATA },
		{ name: 'hook', address: TEXT, info: GLOBAL_OBJECT },
		{ name: 'hook', address: TEXT, info: GLOBAL_IFUNC },
		{ name: 'hook', address: TEXT + 8 },
		{ name: 'hook', address: TEXT + 16 },
		{ name: 'undefined', address: 0, section: 0 },
	]);
	assert.deepEqual(
		found(elf, 'hook', 'undefined').map(({ name, address }) => [name, address]),
		[['hook', TEXT + 8]],
	);
});

test('in either table, and whole names only, none of which is very long', () => {
	const [long, longer] = ['n'.repeat(100), 'n'.repeat(101)];
	for (const type of [SECTION_TYPE.dynsym, SECTION_TYPE.symtab]) {
		const elf = fileWith(
			[long, longer, 'mallocx'].map((name, i) => ({ name, address: TEXT + i })),
			type,
		);
		assert.deepEqual(
			found(elf, long, longer, 'malloc', 'mallo').map(({ name }) => name),
			[long],
		);
		assert.equal(hasSymbolTable(elf), type === SECTION_TYPE.symtab);
	}
	assert.deepEqual(found(fileWith([{ name: 'malloc', address: TEXT }], 1), 'malloc'), []);
});

test('a table without its names is damage', () => {
	const elf = fileWith([{ name: 'malloc', address: TEXT }], SECTION_TYPE.dynsym, 99);
	assert.throws(() => found(elf, 'malloc'), SymbolError);
});
