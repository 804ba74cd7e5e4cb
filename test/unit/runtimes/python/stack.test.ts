import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PythonLayout } from '../../../../src/runtimes/python/layout.js';
import { PythonStacks } from '../../../../src/runtimes/python/stack.js';
import {
	BASE,
	FakeMemory,
	LAYOUT,
	LAYOUT_3_9,
	LAYOUT_3_10,
	LAYOUT_WITH_ENTRIES,
} from './memory.js';

const ENTRY = 3;
const NUMBER = 77;

function placesIn(memory: FakeMemory, layout: PythonLayout, ...ranges: [number, number][]) {
	const stack = new PythonStacks(memory, layout, BASE).stackOf(NUMBER);
	return ranges.map(([from, to]) => stack.take({ from, to, code: 0 }).map(({ place }) => place));
}

function functionsOf(memory: FakeMemory): [number, number, number] {
	const code = (name: string, line: number) => memory.code(name, '/a.py', line);
	return [code('leaf', 9), code('middle', 5), code('root', 1)];
}

test('3.11: each C frame has a record of what it runs', () => {
	const memory = new FakeMemory();
	const [leaf, middle, root] = functionsOf(memory);
	const outer = memory.take(24);
	const inner = memory.take(24);
	const rootFrame = memory.frame(root, 0, 1);
	const middleFrame = memory.frame(middle, rootFrame, 1);
	memory.word(outer + 8, rootFrame);
	memory.word(inner + 8, memory.frame(leaf, middleFrame, 0));
	memory.word(inner + 16, outer);
	memory.thread(inner, NUMBER);
	const found = placesIn(
		memory,
		LAYOUT,
		[1, 2],
		[inner - 8, inner + 8],
		[inner + 8, outer],
		[outer, outer + 8],
	);
	assert.deepEqual(found, [[], [leaf, middle], [], [root]]);
});

test('3.13: entries in the list of frames tell which C frame runs them', () => {
	const memory = new FakeMemory(LAYOUT_WITH_ENTRIES);
	const [leaf, middle, root] = functionsOf(memory);
	const last = memory.frame(0, 0, ENTRY);
	const rootFrame = memory.frame(root, last, 0);
	const first = memory.frame(0, rootFrame, ENTRY);
	// Other owners, 3.14 has one more, have nothing to say.
	memory.thread(memory.frame(leaf, memory.frame(middle, first, 1), ENTRY + 1), NUMBER + 1);
	const found = placesIn(memory, LAYOUT_WITH_ENTRIES, [first, first + 8], [last, last + 8]);
	assert.deepEqual(found, [[leaf, middle], [root]]);
});

test('3.10: each C frame has a record, and runs one Python frame', () => {
	const memory = new FakeMemory(LAYOUT_3_10);
	const [leaf, middle, root] = functionsOf(memory);
	const [inner, between, outer] = [memory.take(16), memory.take(16), memory.take(16)];
	const frames = memory.frame(leaf, memory.frame(middle, memory.frame(root, 0, 0), 0), 0);
	const thread = memory.thread(frames, NUMBER);
	memory.word(thread + 48, inner);
	memory.word(inner + 8, between);
	memory.word(between + 8, outer);
	const found = placesIn(
		memory,
		LAYOUT_3_10,
		[1, 2],
		[inner, inner + 8],
		[inner + 8, between],
		[between, between + 8],
		[outer, outer + 8],
	);
	assert.deepEqual(found, [[], [leaf], [], [middle], [root]]);
});

test('3.9: code tells which C frames are the interpreter’s, and where the stack is, which thread it is', () => {
	const memory = new FakeMemory(LAYOUT_3_9);
	const [leaf, middle, root] = functionsOf(memory);
	const ofFirst = memory.code('main', '/a.py', 3);
	const newest = memory.thread(memory.frame(middle, 0, 0), NUMBER);
	memory.word(newest + LAYOUT_3_9.threadIdentity, 0x9000);
	const own = memory.frame(leaf, memory.frame(root, 0, 0), 0);
	const second = memory.threadBehind(newest, own, 0x5000);
	// The process's first thread: what pthread_self() is in it lies below all stacks.
	const third = memory.threadBehind(second, memory.frame(middle, 0, 0), 0xb000);
	memory.threadBehind(third, memory.frame(ofFirst, 0, 0), 0x100);
	const loop = BASE + LAYOUT_3_9.evalStart;
	const takeAll = (from: number) => {
		const stack = new PythonStacks(memory, LAYOUT_3_9, BASE).stackOf(NUMBER);
		const codes = [1, loop, BASE + LAYOUT_3_9.evalEnd, BASE + LAYOUT_3_9.evalEnd - 1];
		return codes.map((code, i) =>
			stack.take({ from: from + i, to: from + i + 1, code }).map(({ place }) => place),
		);
	};
	assert.deepEqual(takeAll(0x4000), [[], [leaf], [], [root]]);
	assert.deepEqual(takeAll(0x8000), [[], [middle], [], []]);
	assert.deepEqual(takeAll(0xf000), [[], [ofFirst], [], []]);
});

test("CPython's own functions are not shown; what is no function can have no name", () => {
	const memory = new FakeMemory(LAYOUT_WITH_ENTRIES);
	const own = memory.code('__init__', '__init__', 0);
	const entry = memory.frame(0, 0, ENTRY);
	memory.thread(memory.frame(own, memory.frame(0x10, entry, 0), 0), NUMBER);
	const stack = new PythonStacks(memory, LAYOUT_WITH_ENTRIES, BASE).stackOf(NUMBER);
	const words = stack.take({ from: entry, to: entry + 8, code: 0 });
	assert.deepEqual(words, [{ place: 0x10, print: 0, isCallers: false }]);
});

test('a thread in two interpreters: of the one that it has called, and then further out', () => {
	const memory = new FakeMemory(LAYOUT_WITH_ENTRIES);
	const [leaf, middle, root] = functionsOf(memory);
	const outer = memory.frame(0, 0, ENTRY);
	memory.thread(memory.frame(root, outer, 0), NUMBER);
	const inner = memory.frame(0, 0, ENTRY);
	memory.thread(memory.frame(leaf, memory.frame(middle, inner, 0), 0), NUMBER);
	// It has made this one, and runs nothing there.
	memory.thread(0, NUMBER);
	const found = placesIn(
		memory,
		LAYOUT_WITH_ENTRIES,
		[inner, inner + 8],
		[inner + 8, outer],
		[outer, outer + 8],
	);
	assert.deepEqual(found, [[leaf, middle], [], [root]]);
});

test('3.11: in a second interpreter a thread may have the number of another one, which has made it', () => {
	const memory = new FakeMemory();
	const [leaf, , root] = functionsOf(memory);
	const [outer, inner] = [memory.take(24), memory.take(24)];
	memory.word(outer + 8, memory.frame(root, 0, 1));
	memory.word(inner + 8, memory.frame(leaf, 0, 1));
	memory.thread(outer, NUMBER);
	memory.thread(inner, NUMBER + 1);
	const found = placesIn(memory, LAYOUT, [inner, inner + 8], [outer, outer + 8]);
	assert.deepEqual(found, [[leaf], [root]]);
});

test('3.9: of several interpreters nothing tells which thread runs what: none is named', () => {
	const memory = new FakeMemory(LAYOUT_3_9);
	const [leaf, middle, root] = functionsOf(memory);
	const frames = [memory.frame(root, 0, 0), memory.frame(leaf, memory.frame(middle, 0, 0), 0)];
	for (const frame of frames)
		memory.word(memory.thread(frame, NUMBER) + LAYOUT_3_9.threadIdentity, 0x9000);
	const stack = new PythonStacks(memory, LAYOUT_3_9, BASE).stackOf(NUMBER);
	const code = BASE + LAYOUT_3_9.evalStart;
	for (const from of [1, 2]) assert.deepEqual(stack.take({ from, to: from + 1, code }), []);
});

test('lists without an end', () => {
	for (const layout of [LAYOUT, LAYOUT_WITH_ENTRIES]) {
		const memory = new FakeMemory(layout);
		const [leaf] = functionsOf(memory);
		const frame = memory.frame(leaf, 0, 0);
		memory.word(frame + layout.framePrevious, frame);
		const record = memory.take(24);
		memory.word(record + 8, frame);
		memory.word(record + 16, record);
		const thread = memory.thread(layout === LAYOUT ? record : frame, NUMBER);
		memory.word(thread + layout.threadNext, thread);
		const [found] = placesIn(memory, layout, [record, record + 8]);
		assert.equal(found?.length, layout === LAYOUT ? 127 : 0);
	}
});

test('3.14: flags in the lowest bits of a pointer to code are no part of it', () => {
	const memory = new FakeMemory(LAYOUT_WITH_ENTRIES);
	const [leaf, middle] = functionsOf(memory);
	const entry = memory.frame(0, 0, ENTRY);
	memory.thread(memory.frame(leaf + 1, memory.frame(middle + 3, entry, 0), 0), NUMBER);
	const found = placesIn(memory, LAYOUT_WITH_ENTRIES, [entry, entry + 8]);
	assert.deepEqual(found, [[leaf, middle]]);
});

test('where the list of frames leads out of memory, what came before is told', () => {
	const memory = new FakeMemory();
	const [leaf, middle] = functionsOf(memory);
	const record = memory.take(24);
	memory.word(record + 8, memory.frame(leaf, memory.frame(middle, 2 ** 47, 0), 0));
	memory.thread(record, NUMBER);
	assert.deepEqual(placesIn(memory, LAYOUT, [record, record + 8]), [[leaf, middle]]);
});

test('a process whose memory says nothing', () => {
	assert.deepEqual(placesIn(new FakeMemory(), LAYOUT, [0, 2 ** 47]), [[]]);
});

/** Where in their code the frames of a stack are: of the one that a C frame of this range runs. */
function instructionsIn(memory: FakeMemory, layout: PythonLayout, from: number, code = 0) {
	const stack = new PythonStacks(memory, layout, BASE).stackOf(NUMBER);
	return stack.take({ from, to: from + 8, code }).map(({ instruction }) => instruction);
}

test('where in its code each frame is: as an address since 3.11', () => {
	const memory = new FakeMemory(LAYOUT_WITH_ENTRIES);
	const [leaf, middle, root] = functionsOf(memory);
	const entry = memory.frame(0, 0, ENTRY);
	const frames = [memory.frame(root, entry, 0)];
	for (const code of [middle + 1, leaf, leaf])
		frames.push(memory.frame(code, frames.at(-1) ?? 0, 0));
	// Before its first instruction, after what a function may have, and with flags in the pointer to the code.
	for (const [i, address] of [
		root + 184 - 2,
		middle + 184,
		leaf + 184 + 2 ** 24,
		leaf + 184 + 6,
	].entries())
		memory.word((frames[i] ?? 0) + 56, address);
	memory.thread(frames.at(-1) ?? 0, NUMBER);
	const found = instructionsIn(memory, LAYOUT_WITH_ENTRIES, entry);
	assert.deepEqual(found, [6, undefined, 0, undefined]);
	const withoutLines = { ...LAYOUT_WITH_ENTRIES, lines: undefined };
	assert.deepEqual(instructionsIn(memory, withoutLines, entry), Array(4).fill(undefined));
});

test('where in its code each frame is: as a number in 3.9 and 3.10, -1 before the first one', () => {
	for (const [layout, at] of [
		[LAYOUT_3_9, 104],
		[LAYOUT_3_10, 96],
	] as const) {
		const memory = new FakeMemory(layout);
		const [leaf] = functionsOf(memory);
		const [frame, record] = [memory.frame(leaf, 0, 0), memory.take(16)];
		const thread = memory.thread(frame, NUMBER);
		if (layout.threadRecord !== undefined) memory.word(thread + layout.threadRecord, record);
		memory.word(thread + layout.threadIdentity, record + 64);
		memory.word(thread + (layout.threadFrame ?? 0), frame);
		const found = [12, 0, 2 ** 32 - 1].map((number) => {
			memory.int(frame + at, number);
			return instructionsIn(memory, layout, record, BASE + layout.evalStart);
		});
		assert.deepEqual(found, [[12], [0], [undefined]]);
	}
});
