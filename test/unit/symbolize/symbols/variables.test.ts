/** The variable that an address lies in, of tables that were written for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf, SECTION_TYPE } from '../../../../src/elf/elf.js';
import { Variables } from '../../../../src/symbolize/symbols/variables.js';
import { elfOf, symbolsOf } from '../../hostile/elf-builder.js';
import { DATA_ADDRESS, fileWith } from './written.js';

const OBJECT = 0x11;
const variable = (name: string, at: number, size = 8) => ({
	...{ name, address: DATA_ADDRESS + at, size, info: OBJECT, section: 4 },
});
const names = (variables: Variables, ...offsets: readonly number[]) =>
	offsets.map((at) => variables.nameAt(DATA_ADDRESS + at));

test('the first and the last byte of a variable are its own, and the next one is not', () => {
	for (const type of [SECTION_TYPE.symtab, SECTION_TYPE.dynsym]) {
		// The order of a table is not that of addresses.
		const file = fileWith([variable('later', 32), variable('early', 8, 16)], type);
		assert.deepEqual(names(new Variables(file), 7, 8, 23, 24, 31, 32, 39, 40), [
			...['', 'early', 'early+0xf', '', '', 'later', 'later+0x7', ''],
		]);
	}
});

test('no function, nothing without a length, and nothing without a name is a variable', () => {
	const file = fileWith([
		{ ...variable('code', 0), info: 0x12 },
		variable('mark', 8, 0),
		variable('', 16),
		variable('named', 16),
	]);
	assert.deepEqual(names(new Variables(file), 0, 8, 16), ['', '', 'named']);
});

test('of several names the first of the table; of one in another the inner one', () => {
	const file = fileWith([
		variable('second', 40),
		variable('table', 0, 32),
		variable('alias', 0, 32),
		variable('entry', 8, 8),
		variable('third', 40),
	]);
	assert.deepEqual(names(new Variables(file), 0, 12, 16, 40), [
		...['table', 'entry+0x4', 'table+0x10', 'second'],
	]);
});

test('names of C++ are as its source has them', () => {
	assert.deepEqual(names(new Variables(fileWith([variable('_ZN5cache4lockE', 0)])), 4), [
		'cache::lock+0x4',
	]);
});

test('what is damaged has no names', () => {
	const file = fileWith([variable('lost', 0)], SECTION_TYPE.symtab, 99);
	assert.deepEqual(names(new Variables(file), 0), ['']);
});

/** A file with both tables; of each a variable, and one that has another name in each. */
function fileWithBoth(): Elf {
	const names = Buffer.from('\0own\0shared\0own_only\0shared_only\0');
	const of = (name: string, at: number) => {
		const address = DATA_ADDRESS + at;
		return { name: names.indexOf(`\0${name}\0`) + 1, address, size: 8, info: OBJECT, section: 4 };
	};
	const table = (...symbols: readonly ReturnType<typeof of>[]) => ({
		data: symbolsOf(symbols),
		link: 3,
	});
	const sections = [
		{ type: SECTION_TYPE.dynsym, ...table(of('shared', 0), of('shared_only', 16)) },
		{ type: SECTION_TYPE.symtab, ...table(of('own', 0), of('own_only', 32)) },
		{ name: '.strings', type: 3, data: names },
		{ name: '.data', flags: 3, address: DATA_ADDRESS, data: Buffer.alloc(64) },
	];
	return new Elf(new MemoryBytes(elfOf({ sections })));
}

test('of two tables the file’s own comes first, and what only one has is found', () => {
	assert.deepEqual(names(new Variables(fileWithBoth()), 4, 16, 35, 48), [
		...['own+0x4', 'shared_only', 'own_only+0x3', ''],
	]);
});

test('a variable whose name is outside the table has the name of its alias, or none', () => {
	const file = fileWith([variable('x', 0), variable('alias', 0), variable('y', 16)]);
	const [table = assert.fail()] = file.sections.filter(({ type }) => type === SECTION_TYPE.dynsym);
	const bytes = Buffer.from(file.bytes.read(0, file.bytes.size_bytes));
	for (const i of [0, 2]) bytes.writeUInt32LE(2 ** 20, table.offset + 24 * i);
	const damaged = new Elf(new MemoryBytes(bytes));
	assert.deepEqual(names(new Variables(damaged), 3, 16), ['alias+0x3', '']);
});

test('one of many variables that lie in each other', () => {
	const many = Array.from({ length: 12 }, (_, i) => variable(`in${i}`, i, 40 - 2 * i));
	assert.deepEqual(names(new Variables(fileWith(many)), 0, 11, 29, 39), [
		...['in0', 'in11', 'in10+0x13', 'in0+0x27'],
	]);
});
