/** Functions that V8 has put into the code of others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Codes } from '../../../../src/runtimes/v8/code.js';
import { printAt } from '../../../../src/runtimes/v8/frame.js';
import { Heap } from '../../../../src/runtimes/v8/heap.js';
import { InlinedFunctions, positionAt } from '../../../../src/runtimes/v8/inlined.js';
import { FakeMemory, LAYOUT, LAYOUTS, TYPE } from './memory.js';
import { codeOf, optimisedCode, position, table, writeCall } from './optimised.js';

for (const hasUnsignedSteps of [false, true]) {
	test(`positions: the last one at or before an offset, ${hasUnsignedSteps ? 'by a bit' : 'by the sign'}`, () => {
		const entries = [
			[24, position(0, 307)],
			[70, position(3)],
			[500, position(1, 5)],
			[70_000, position(2)],
		] as const;
		const bytes = table(entries, hasUnsignedSteps);
		const view = new DataView(bytes.buffer);
		const at = (offset: number) => positionAt(view, offset, hasUnsignedSteps);
		assert.equal(at(23), 0);
		for (const [i, [code, its]] of entries.entries()) {
			assert.equal(at(code), its);
			assert.equal(at((entries[i + 1]?.[0] ?? 1e6) - 1), its);
		}
		// Damaged: cut within a number, and without an end.
		for (let length = 0; length < bytes.length; length++)
			assert.ok(positionAt(new DataView(bytes.buffer, 0, length), 600, hasUnsignedSteps) >= 0);
		const endless = new DataView(new Uint8Array(5000).fill(255).buffer);
		assert.equal(typeof positionAt(endless, 600, hasUnsignedSteps), 'number');
	});
}

test('positions as Node.js 24 and 26 have written them for the same function', () => {
	const at = (hex: string, offset: number, hasUnsignedSteps: boolean) => {
		const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
		return positionAt(new DataView(bytes.buffer), offset, hasUnsignedSteps);
	};
	// The first calls are 23 bytes behind the beginning, 307 characters behind that of the source.
	for (const [hex, isLater] of [
		['31d0092dbcf8ffff', false],
		['62d009a6038c0196', true],
	] as const) {
		assert.equal(at(hex, 22, isLater), 0);
		assert.equal(at(hex, 23, isLater), position(0, 307));
	}
});

/** outer() calls at 0x30 itself, at 0x100 in a() in b(), at 0x180 in a() by itself. */
function optimised(layout = LAYOUT) {
	const memory = new FakeMemory(layout);
	const script = memory.script('/srv/app.js', memory.string('source'));
	const [outer = 0, a = 0, b = 0] = [1, 2, 3].map((id) =>
		memory.shared(memory.scope([0, 0, 0]), script, id),
	);
	const entries = [
		[0x30, position(0)],
		[0x100, position(2)],
		[0x180, position(3)],
	] as const;
	const damaged = [4, 5, 9, 6].map(
		(inlining, i) => [0x200 + 0x40 * i, position(inlining)] as const,
	);
	const start = optimisedCode(memory, {
		outer,
		functions: [b, a, memory.string('no function'), a],
		count: 3,
		inlinings: [
			[position(0, 10), 0],
			[position(1, 20), 1],
			[position(0, 30), 1],
			[position(0), 2],
			[position(5), 1],
			[position(0), 3],
		],
		entries: [...entries, ...damaged, [0x300, position(3)]],
		size_bytes: 0x3000,
	});
	const heap = new Heap(memory, layout);
	const word = (place: number) => ({
		place,
		print: printAt(heap, place) ?? assert.fail(),
		isCallers: false,
	});
	const reader = new InlinedFunctions(heap);
	/** Behind a call, and its last byte. */
	const of = (address: number, place = outer, opcode = 0xe8) => {
		if (address >= FakeMemory.BASE) writeCall(memory, address, opcode);
		return reader.at(address, word(place));
	};
	return { memory, start, of, word, outer, a, b };
}

for (const [node, layout] of Object.entries(LAYOUTS))
	test(`Node.js ${node}: functions between a call and the frame's function, innermost first`, () => {
		const { start, of, word, a, b } = optimised(layout);
		assert.deepEqual(of(start + 0x104), [word(a), word(b)]);
		assert.deepEqual(of(start + 0x184), [word(a)]);
		assert.deepEqual(of(start + 0x34), []);
		assert.deepEqual(of(start + 0x10), [], 'before all positions');
		// Code of many pages, which is looked for from its end.
		const anew = optimised(layout);
		assert.deepEqual(anew.of(anew.start + 0x2ff0), [anew.word(anew.a)]);
		// Where it goes on when it is not optimised any more.
		assert.deepEqual(of(start + 0x2ffe), undefined);
	});

test('code of another function, other memory, what is no call, and beyond the end are not known', () => {
	const { memory, start, of, a, outer } = optimised();
	assert.equal(of(start + 0x104, a), undefined);
	assert.equal(of(start + 0x104, outer, 0x90), undefined);
	assert.equal(of(start + 0x3001), undefined);
	assert.equal(of(start - 0x40), undefined);
	assert.equal(of(12), undefined);
	memory.address(codeOf(memory, start), LAYOUT.codeStart, start + 64);
	assert.equal(of(start + 0x104), undefined);
});

test('of many functions in one, each is told by its number', () => {
	const memory = new FakeMemory();
	const script = memory.script('/srv/app.js', memory.string('source'));
	const [outer = 0, some = 0, last = 0] = [1, 2, 3].map((id) =>
		memory.shared(memory.scope([0, 0, 0]), script, id),
	);
	const start = optimisedCode(memory, {
		...{ outer, functions: [some, last], count: 2, size_bytes: 0x100 },
		inlinings: Array.from({ length: 300 }, (_, i) => [position(0), i === 299 ? 1 : 0] as const),
		entries: [[0x30, position(300)]],
	});
	writeCall(memory, start + 0x40);
	const heap = new Heap(memory, LAYOUT);
	const frame = { place: outer, print: 0, isCallers: false };
	const found = new InlinedFunctions(heap).at(start + 0x40, frame);
	assert.deepEqual(
		found?.map(({ place }) => place),
		[last],
	);
});

test('where a thousand searches for code were in vain, there is no other one', () => {
	const memory = new FakeMemory();
	let reads = 0;
	const read = (address: number, length_bytes: number) => {
		reads++;
		return memory.read(address, length_bytes);
	};
	const codes = new Codes(new Heap({ read }, LAYOUT));
	for (let i = 0; i < 1000; i++) assert.equal(codes.at(4096 * i + 12), undefined);
	assert.ok(reads > 0);
	reads = 0;
	assert.equal(codes.at(12), undefined);
	assert.equal(reads, 0);
});

test('damaged: what is no function, goes round, or is not there, is not known', () => {
	const { start, of } = optimised();
	for (const at of [0x204, 0x244, 0x284, 0x2c4]) assert.equal(of(start + at), undefined, `${at}`);
});

test('numbers that look like headers of code do not keep the next one from being found', () => {
	const { memory, start, of, word, a } = optimised();
	const nearer = start + 0x140 - LAYOUT.streamStart;
	// Of the right type, and no stream.
	const map = memory.object(TYPE.array, 80);
	memory.uint16(map, LAYOUT.mapType, LAYOUT.streamType);
	memory.point(nearer, 0, map);
	assert.deepEqual(of(start + 0x184), [word(a)]);
	assert.deepEqual(of(start + 0x184), [word(a)]);
});
