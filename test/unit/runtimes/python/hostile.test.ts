/** Memory of a process that means harm: nothing hangs, nothing throws, and names are bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PythonFunctions, pointerAt, printAt } from '../../../../src/runtimes/python/code.js';
import { PythonStacks } from '../../../../src/runtimes/python/stack.js';
import { randomFrom } from '../../../random.js';
import { BASE, FakeMemory, LAYOUT, LAYOUT_WITH_ENTRIES } from './memory.js';

const OBJECTS = 0x2000;
const WORDS = 512;

const ANY_FRAME = { from: 0, to: 2 ** 47, code: 0 };

/** Counts what is read. */
class Counting extends FakeMemory {
	reads = 0;
	override read(address: number, length_bytes: number): DataView | undefined {
		this.reads++;
		return super.read(address, length_bytes);
	}
}

for (const layout of [LAYOUT, LAYOUT_WITH_ENTRIES])
	test(`words that point anywhere: ${layout === LAYOUT ? '3.11' : '3.12'}`, () => {
		const random = randomFrom(7);
		const below = (limit: number) => random() % limit;
		for (let round = 0; round < 200; round++) {
			const memory = new FakeMemory(layout);
			const anywhere = () => BASE + OBJECTS + 8 * below(WORDS);
			for (let i = 0; i < WORDS; i++) {
				const word = [anywhere(), BASE + layout.codeType, BASE + layout.stringType, 2 ** 52 + i];
				memory.word(BASE + OBJECTS + i * 8, word[below(word.length)] ?? 0);
			}
			memory.thread(anywhere(), 1);
			const stack = new PythonStacks(memory, layout, BASE).stackOf(1);
			for (let i = 0; i < 8; i++) assert.ok(stack.take(ANY_FRAME).length <= 127);
			const functions = new PythonFunctions(memory, layout, BASE);
			for (let i = 0; i < WORDS; i++) {
				const place = BASE + OBJECTS + i * 8;
				const print = printAt(memory, place, BASE + layout.codeType, layout)?.print ?? 0;
				const found = functions.functionAt({ place, print, isCallers: false });
				assert.ok((found?.name.length ?? 0) <= 1024);
			}
		}
	});

test('all walks of a moment have a second: a list in a ring of slow memory, asked for again and again', (t) => {
	let now_ms = 1000;
	const { now } = performance;
	performance.now = () => now_ms;
	t.after(() => {
		performance.now = now;
	});
	class Slow extends FakeMemory {
		override read(address: number, length_bytes: number): DataView | undefined {
			now_ms += 1;
			return super.read(address, length_bytes);
		}
	}
	const memory = new Slow(LAYOUT_WITH_ENTRIES);
	const frame = memory.frame(memory.code('f', 'a.py', 3), 0, 0);
	memory.word(frame + LAYOUT_WITH_ENTRIES.framePrevious, frame);
	memory.thread(frame, 1);
	const stacks = new PythonStacks(memory, LAYOUT_WITH_ENTRIES, BASE);
	for (let thread = 0; thread < 100; thread++) {
		const stack = stacks.stackOf(thread);
		for (let i = 0; i < 100; i++) assert.deepEqual(stack.take(ANY_FRAME), []);
	}
	// And what one frame takes.
	assert.ok(now_ms < 1000 + 1000 + 20, `${now_ms}`);
});

test('of a thread whose stack has been told, nothing is read any more', () => {
	const memory = new Counting(LAYOUT_WITH_ENTRIES);
	const entry = memory.frame(0, 0, 3);
	memory.thread(memory.frame(memory.code('f', 'a.py', 3), entry, 0), 1);
	const stack = new PythonStacks(memory, LAYOUT_WITH_ENTRIES, BASE).stackOf(1);
	assert.deepEqual(stack.take({ ...ANY_FRAME, to: entry }), []);
	assert.equal(stack.take({ from: entry, to: entry + 1, code: 0 }).length, 1);
	const before = memory.reads;
	for (let i = 0; i < 10; i++) assert.deepEqual(stack.take(ANY_FRAME), []);
	assert.equal(memory.reads, before);
});

test('interpreters in a ring, whose threads are in a ring: each thread is told once', () => {
	const memory = new Counting(LAYOUT_WITH_ENTRIES);
	const { interpreterNext, threadNext, runtime, interpreters } = LAYOUT_WITH_ENTRIES;
	const entry = memory.frame(0, 0, 3);
	const thread = memory.thread(memory.frame(memory.code('f', 'a.py', 3), entry, 0), 1);
	memory.word(thread + threadNext, thread);
	const interpreter = pointerAt(memory, BASE + runtime + interpreters) ?? assert.fail();
	memory.word(interpreter + interpreterNext, interpreter);
	const stack = new PythonStacks(memory, LAYOUT_WITH_ENTRIES, BASE).stackOf(1);
	const found = Array.from({ length: 5000 }, () => stack.take(ANY_FRAME).length);
	assert.equal(
		found.reduce((sum, each) => sum + each),
		1,
	);
	assert.ok(memory.reads < 1000, `${memory.reads}`);
});

test('a code object that says it has the longest names there are: so much is read, and no more', () => {
	let longest = 0;
	class Measuring extends FakeMemory {
		override read(address: number, length_bytes: number): DataView | undefined {
			longest = Math.max(longest, length_bytes);
			return super.read(address, length_bytes);
		}
	}
	const memory = new Measuring();
	const code = memory.code('f', '/a.py', 15);
	const print = printAt(memory, code, BASE + LAYOUT.codeType, LAYOUT)?.print ?? assert.fail();
	const functions = new PythonFunctions(memory, LAYOUT, BASE);
	for (const field of [LAYOUT.codeName, LAYOUT.codeFile]) {
		const string = memory.string('\u{1d54f}'.repeat(5000));
		for (const length of [2 ** 31, 2 ** 52]) {
			memory.word(string + 16, length);
			memory.word(code + field, string);
			const found = functions.functionAt({ place: code, print, isCallers: false }) ?? assert.fail();
			assert.ok(found.name.length <= 2 * 512 && (found.file?.length ?? 0) <= 2 * 4096);
		}
	}
	assert.equal(longest, 4 * 4096);
	const table = memory.lines(code, Uint8Array.of(0xdf, 0, 0));
	const word = { place: code, print, isCallers: false, instruction: 0 };
	for (const length of [2 ** 18, 2 ** 18 + 1, 2 ** 52]) {
		memory.word(table + 16, length);
		assert.equal(functions.functionAt(word)?.executingLine, undefined);
	}
	assert.equal(longest, 2 ** 18);
	// The name is the code object itself, and the file lies behind all memory.
	memory.word(code + LAYOUT.codeName, code);
	memory.word(code + LAYOUT.codeFile, 2 ** 47);
	assert.equal(functions.functionAt({ place: code, print, isCallers: false }), undefined);
});
