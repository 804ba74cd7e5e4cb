/** Names of functions of Go, by the table that each program has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf } from '../../../../src/elf/elf.js';
import { goNames } from '../../../../src/symbolize/symbols/go-names.js';
import { goProgram, TEXT } from '../../elf/go-writer.js';

const elfOf = (...names: readonly string[]) =>
	new Elf(new MemoryBytes(goProgram({ functions: names.map((name) => ({ name, size: 32 })) })));

test('each address has the function that it lies in, also the first one, and no other has a name', () => {
	const names = goNames(elfOf('main.main', 'main.work'), [
		...[TEXT - 1, TEXT, TEXT + 31, TEXT + 32, TEXT + 63, TEXT + 64],
	]);
	assert.deepEqual(
		[...names].map(([address, name]) => [address - TEXT, name]),
		[
			[0, 'main.main'],
			[31, 'main.main'],
			[32, 'main.work'],
			[63, 'main.work'],
		],
	);
	assert.equal(goNames(elfOf('main.main'), []).size, 0);
});

test('what a signal’s handler returns to is looked up one byte in front, and is it all the same', () => {
	for (const name of ['runtime.sigreturn', 'runtime.sigreturn__sigaction']) {
		const names = goNames(elfOf('main.main', name, 'main.sigreturn'), [
			...[TEXT + 30, TEXT + 31, TEXT + 32, TEXT + 63],
		]);
		assert.deepEqual([...names.values()], ['main.main', name, name, name]);
	}
});

test('a name that is longer than any, or has a line end, is one line of bounded length', () => {
	const names = goNames(elfOf('a\nb', 'n'.repeat(5000)), [TEXT, TEXT + 32]);
	assert.equal(names.get(TEXT), 'a b');
	assert.ok((names.get(TEXT + 32) ?? '').length <= 4096);
});
