/** The variable that an address lies in, of tables that were written for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTION_TYPE } from '../../../../src/elf/elf.js';
import { Variables } from '../../../../src/symbolize/symbols/variables.js';
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
