/** Memory of a process that means harm: nothing hangs, nothing throws, and names are bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PythonFunctions, printAt } from '../../../../src/runtimes/python/code.js';
import { PythonStacks } from '../../../../src/runtimes/python/stack.js';
import { randomFrom } from '../../../random.js';
import { BASE, FakeMemory, LAYOUT, LAYOUT_WITH_ENTRIES } from './memory.js';

const OBJECTS = 0x2000;
const WORDS = 512;

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
			for (let i = 0; i < 8; i++) assert.ok(stack.take(0, 2 ** 47).length <= 127);
			const functions = new PythonFunctions(memory, layout, BASE);
			for (let i = 0; i < WORDS; i++) {
				const place = BASE + OBJECTS + i * 8;
				const print = printAt(memory, place, BASE + layout.codeType, layout)?.print ?? 0;
				const found = functions.functionAt({ place, print, isCallers: false });
				assert.ok((found?.name.length ?? 0) <= 1024);
			}
		}
	});
