import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PythonFunctions, printAt } from '../../../../src/runtimes/python/code.js';
import type { LanguageFunction } from '../../../../src/runtimes/runtime.js';
import { BASE, FakeMemory, LAYOUT } from './memory.js';

function printOf(memory: FakeMemory, code: number): number {
	return printAt(memory, code, BASE + LAYOUT.codeType, LAYOUT)?.print ?? 0;
}

function functionAt(
	memory: FakeMemory,
	place: number,
	print = printOf(memory, place),
): LanguageFunction | undefined {
	const word = { place, print, isCallers: false };
	return new PythonFunctions(memory, LAYOUT, BASE).functionAt(word);
}

test('a function has its qualified name, its file, and the line where it begins', () => {
	const memory = new FakeMemory();
	const code = memory.code('Server.handle', '/srv/app/server.py', 15);
	const expected = {
		language: 'python',
		name: 'Server.handle',
		file: '/srv/app/server.py',
		line: 15,
	};
	assert.deepEqual(functionAt(memory, code), expected);
});

test('names in characters of each width', () => {
	const memory = new FakeMemory();
	for (const name of ['plain', 'größe', 'имя', 'f\u{1d54f}'])
		assert.equal(functionAt(memory, memory.code(name, `/${name}.py`, 3))?.name, name);
	assert.equal(functionAt(memory, memory.code('', '', 3))?.name, '(anonymous)');
	assert.equal(functionAt(memory, memory.code('f', '', 3))?.file, undefined);
	assert.equal(functionAt(memory, memory.code('f', '/a.py', 0))?.line, undefined);
});

test('another code object at the same place has no name', () => {
	const memory = new FakeMemory();
	const code = memory.code('first', '/a.py', 15);
	const print = printOf(memory, code);
	memory.int(code + LAYOUT.codePrint + 16, 16);
	assert.equal(functionAt(memory, code, print), undefined);
});

test('what tells code objects apart: line, stack, arguments', () => {
	const memory = new FakeMemory();
	const code = memory.code('f', '/a.py', 15);
	const prints = new Set([printOf(memory, code)]);
	for (const at of [0, 8, 12, 16]) {
		memory.int(code + LAYOUT.codePrint + at, 40 + at);
		prints.add(printOf(memory, code));
	}
	assert.equal(prints.size, 5);
	assert.ok([...prints].every((print) => print >= 0 && print <= 0x1_ffff));
});

test('what is no code object, or has no strings, has no name', () => {
	const memory = new FakeMemory();
	const code = memory.code('f', '/a.py', 15);
	const print = printOf(memory, code);
	for (const [field, value] of [
		[LAYOUT.codeName, code],
		[LAYOUT.codeName, 0],
		[LAYOUT.codeFile, 2 ** 47],
		[8, BASE],
	] as const) {
		const broken = memory.code('f', '/a.py', 15);
		memory.word(broken + field, value);
		assert.equal(functionAt(memory, broken, print), undefined, `${field}`);
	}
	assert.equal(functionAt(memory, 0, print), undefined);
	assert.equal(functionAt(memory, 2 ** 47, print), undefined);
});

test('a string of a forged length is read as far as a name may be long', () => {
	const memory = new FakeMemory();
	const code = memory.code('f', '/a.py', 15);
	const string = memory.string('x'.repeat(2000));
	memory.word(string + 16, 2 ** 52);
	memory.word(code + LAYOUT.codeName, string);
	assert.equal(functionAt(memory, code)?.name, 'x'.repeat(512));
	// Characters of no width there is; a string that is kept elsewhere.
	for (const state of [(3 << 2) | (1 << 5), 1 << 2, 0]) {
		memory.int(string + 32, state);
		assert.equal(functionAt(memory, code), undefined);
	}
	// No character has this number.
	const wide = memory.string('a\u{1d54f}');
	memory.int(wide + LAYOUT.compactBytes, 0xffff_ffff);
	memory.word(code + LAYOUT.codeName, wide);
	assert.equal(functionAt(memory, code)?.name, '\ufffd\u{1d54f}');
});

test('a name has one line', () => {
	const memory = new FakeMemory();
	const code = memory.code('f\ng', '/a\0b.py', 15);
	assert.deepEqual(functionAt(memory, code), {
		language: 'python',
		name: 'f g',
		file: '/a b.py',
		line: 15,
	});
});

/** Of one line each: 8 code units of the first one, 8 of the next one. */
const TABLE = Uint8Array.of(0xd7, 0, 0, 0xdf, 0, 0);

test('of an instruction the line that was executing is told, too', () => {
	const memory = new FakeMemory();
	const code = memory.code('f', '/a.py', 15);
	const print = printOf(memory, code);
	const at = (instruction: number) => {
		const word = { place: code, print, isCallers: false, instruction };
		const found = new PythonFunctions(memory, LAYOUT, BASE).functionAt(word) ?? assert.fail();
		assert.equal(found.line, 15);
		return found.executingLine;
	};
	assert.equal(at(0), undefined, 'it has no table');
	const table = memory.lines(code, TABLE);
	assert.deepEqual([at(0), at(14), at(16), at(30), at(32)], [15, 15, 16, 16, undefined]);
	assert.equal(functionAt(memory, code)?.executingLine, undefined);
	// What is no bytes; a table that is longer than any function's, or than memory.
	for (const [field, value] of [
		[table + 8, BASE + LAYOUT.stringType],
		[table + 16, 2 ** 18 + 1],
		[table + 16, 2 ** 18],
		[table + 16, 0],
		[code + (LAYOUT.lines?.codeTable ?? 0), 2 ** 47],
	] as const) {
		memory.lines(code, TABLE);
		memory.word(table + 8, BASE + LAYOUT.bytesType);
		memory.word(code + (LAYOUT.lines?.codeTable ?? 0), table);
		memory.word(field, value);
		assert.equal(at(0), undefined, `${field}: ${value}`);
	}
});
