/** Strings, and scopes with their names, as V8 has them in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heap } from '../../../../src/runtimes/v8/heap.js';
import { scopeAt } from '../../../../src/runtimes/v8/scope.js';
import { FakeMemory, FUNCTION_FLAGS, LAYOUT, TYPE } from './memory.js';

test('scopes with local variables, a class and a module have their name where it is', () => {
	const memory = new FakeMemory();
	const heap = new Heap(memory, LAYOUT);
	const textOf = (pointer: number | undefined) =>
		pointer === undefined ? undefined : heap.text(pointer, 100);
	const locals = ['a', 'b', 11, 12];
	const inClass = memory.scope([
		FUNCTION_FLAGS | (1 << 10),
		0,
		2,
		...locals,
		99,
		'run',
		5,
		'C.run',
		40,
		50,
	]);
	const found = scopeAt(heap, inClass);
	assert.deepEqual(
		[textOf(found?.name), textOf(found?.inferredName), found?.start],
		['run', 'C.run', 40],
	);
	// Of 75 and more, names are in a table.
	const infos = Array.from({ length: 80 }, (_, i) => i);
	const many = memory.scope([FUNCTION_FLAGS, 0, 80, 'table', ...infos, 'many', 5, '', 60, 70]);
	assert.equal(textOf(scopeAt(heap, many)?.name), 'many');
	assert.equal(scopeAt(heap, many)?.start, 60);
	const module = memory.scope([3 | (3 << 12), 0, 1, 'hidden', 1, '', -1, 0, 203]);
	assert.deepEqual([textOf(scopeAt(heap, module)?.name), scopeAt(heap, module)?.start], ['', 0]);
	// Of scopes, those of eval, functions, modules and scripts say where they are.
	const startOf = (type: number) => scopeAt(heap, memory.scope([type, 0, 0, 1, 2]))?.start;
	assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map(startOf), [
		undefined,
		1,
		1,
		1,
		1,
		undefined,
		undefined,
	]);
});

test('names of 74 local variables stand in the scope, those of 75 in a table', () => {
	const memory = new FakeMemory();
	const heap = new Heap(memory, LAYOUT);
	for (const count of [74, 75]) {
		const all = Array.from({ length: count }, (_, i) => `local${i}`);
		const names = count === 74 ? all : ['table'];
		const infos = all.map((_, i) => i);
		const words = [FUNCTION_FLAGS, 0, count, ...names, ...infos, 'own', 5, '', 60, 70];
		const { name, start } = scopeAt(heap, memory.scope(words)) ?? assert.fail();
		assert.deepEqual([name && heap.text(name, 9), start], ['own', 60]);
	}
});

test('strings in pieces, parts of strings, and those that refer to others', () => {
	const memory = new FakeMemory();
	const heap = new Heap(memory, LAYOUT);
	const whole = memory.string('Server.prototype.handle');
	assert.equal(heap.text(whole, 6), 'Server');
	assert.equal(heap.text(memory.string('größer 日本'), 100), 'größer 日本');
	assert.equal(heap.text(memory.string('größer'), 100), 'größer', 'in one byte each');
	const cons = memory.cons(
		memory.cons(memory.string('a.'), memory.string('b'), 3),
		memory.string('.c'),
		5,
	);
	assert.equal(heap.text(cons, 100), 'a.b.c');
	assert.equal(heap.text(cons, 2), 'a.');
	assert.equal(heap.text(cons, 4), 'a.b.');
	const sliced = memory.object(TYPE.slicedOneByte, 32);
	memory.int32(sliced, 12, 9);
	memory.point(sliced, LAYOUT.slicedParent, whole);
	memory.smi(sliced, LAYOUT.slicedOffset, 7);
	assert.equal(heap.text(sliced, 100), 'prototype');
	const inner = memory.object(TYPE.slicedOneByte, 32);
	memory.int32(inner, 12, 4);
	memory.point(inner, LAYOUT.slicedParent, sliced);
	memory.smi(inner, LAYOUT.slicedOffset, 5);
	assert.equal(heap.text(inner, 100), 'type');
	const thin = memory.object(TYPE.thinOneByte, 24);
	memory.int32(thin, 12, 23);
	memory.point(thin, LAYOUT.thinActual, whole);
	assert.equal(heap.text(thin, 100), 'Server.prototype.handle');
	const external = memory.object(TYPE.externalOneByte, 32);
	memory.int32(external, 12, 6);
	// Its address is no tagged pointer.
	memory.point(external, LAYOUT.externalResource + 8, whole + 16 - 1);
	assert.equal(heap.text(external, 100), 'Server');
});
