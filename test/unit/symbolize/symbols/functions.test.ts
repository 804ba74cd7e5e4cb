/** Functions found by name, in tables of symbols that were written for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SymbolError } from '../../../../src/elf/bytes.js';
import { type Elf, SECTION_TYPE } from '../../../../src/elf/elf.js';
import { findFunctions, hasSymbolTable } from '../../../../src/symbolize/symbols/functions.js';
import { fileWith, TEXT } from './written.js';

const [GLOBAL_OBJECT, GLOBAL_IFUNC] = [0x11, 0x1a];
const DATA = 4;

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
