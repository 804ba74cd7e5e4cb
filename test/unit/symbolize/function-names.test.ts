/** When names of functions are read, from which process, and how many; the functions themselves: runtimes/v8. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FunctionMaps } from '../../../src/bpf/runtimes/functions.js';
import type { FunctionWord } from '../../../src/runtimes/runtime.js';
import { V8Functions } from '../../../src/runtimes/v8/functions.js';
import type { V8File } from '../../../src/runtimes/v8/layout.js';
import { WasmFunctions } from '../../../src/runtimes/v8/wasm.js';
import { FunctionNames } from '../../../src/symbolize/function-names.js';
import { KeptNames } from '../../../src/symbolize/kept-names.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { LAYOUT } from '../runtimes/v8/memory.js';
import { custom, functionNames, WasmWorld, wireOf } from '../runtimes/v8/wasm-world.js';
import { CODE, inlinedIn, NODE, type Pages, PID, RUNTIME, world } from './functions-world.js';

/** One with a module of WebAssembly. */
const WASM_CODE = 0x5000_0000_0000;
const WASM = new WasmWorld('11.3');
const WASM_RUNTIME: V8File = {
	...RUNTIME,
	layout: {
		heap: LAYOUT,
		builtins: CODE,
		interpreter: CODE,
		resumes: [],
		wasm: WASM.layout,
		loaded: [],
	},
};

test('functions are read as soon as a stack is kept, each once, in the order of stacks', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	const [a, b, c] = ['a', 'b', 'c'].map((name) => pages.function(name)) as [
		FunctionWord,
		FunctionWord,
		FunctionWord,
	];
	here.meet([b, a]);
	here.meet([a, c, b]);
	assert.deepEqual(pages.reads, []);
	await here.tell();
	assert.deepEqual(pages.reads, ['b', 'a', 'c']);
	assert.equal(here.timesTaken(), 1);
	// All is known: its memory is not held, and not read once more.
	assert.equal(pages.rests, 1);
	here.meet([c]);
	await here.tell();
	assert.equal(here.nameOf(c), 'c');
	assert.deepEqual(pages.reads, ['b', 'a', 'c']);
});

test('5 ms at a time, with 5 ms in between', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	pages.cost_ms = 2;
	here.meet(Array.from({ length: 8 }, (_, i) => pages.function(`f${i}`)));
	await here.tell();
	// Begun after 0, 2 and 4 ms.
	assert.equal(pages.reads.length, 3);
	here.pause(4);
	assert.equal(pages.reads.length, 3);
	here.pause(1);
	assert.equal(pages.reads.length, 6);
	assert.equal(pages.rests, 0);
	here.pause(5);
	assert.deepEqual(pages.reads, ['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7']);
	assert.equal(pages.rests, 1);
	here.pause(1000);
	assert.equal(pages.reads.length, 8);
});

test('a process that has ended, or runs another program: what was read stays, nothing else is read', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	const [early, late] = [pages.function('early'), pages.function('late')];
	here.meet([early]);
	await here.tell();
	here.meet([late]);
	here.execute(PID);
	await here.tell();
	assert.equal(here.nameOf(early), 'early');
	// Before it executed, it was another one: what is at that place now is not what was met.
	const reads = [...pages.reads];
	assert.equal(here.nameOf(pages.function('never met')), 'unread');
	assert.deepEqual(pages.reads, reads);
	// Of the program that it runs now, the same place is another function, which is read.
	assert.equal(here.nameOf(early, { time_ns: 30 }), 'unread');
	pages.isGone = true;
	assert.equal(here.nameOf(early), 'early');
});

test('a process that was forked has ended: its functions are read in its parent, if that is the same program still', async (t) => {
	const here = world(t);
	const CHILD = PID + 1;
	const parent = here.begin(PID);
	const [met, early] = [parent.function('met'), parent.function('early')];
	here.fork(PID, CHILD);
	here.meet([met]);
	await here.tell();
	assert.equal(here.nameOf(met, { pid: CHILD }), 'met');
	assert.equal(here.nameOf(early, { pid: CHILD }), 'early');
	const late = parent.function('late');
	here.execute(PID);
	assert.equal(here.nameOf(late, { pid: CHILD }), 'unread');
	assert.equal(here.nameOf(met, { pid: CHILD }), 'met');
});

test('what one child was read to have, another one has that has ended; the parent was never read', async (t) => {
	const here = world(t);
	const [FIRST, SECOND] = [PID + 1, PID + 2];
	here.begin(PID).isGone = true;
	here.fork(PID, FIRST);
	here.fork(PID, SECOND);
	const first = here.pagesOf(FIRST);
	first.isGone = false;
	const word = first.function('handle');
	here.meet([word], FIRST);
	await here.tell();
	assert.equal(here.nameOf(word, { pid: SECOND }), 'handle');
	// A process of its own has nothing of theirs.
	here.begin(PID + 3).isGone = true;
	assert.equal(here.nameOf(word, { pid: PID + 3 }), 'unread');
});

test('names that are asked for: memory is read anew every 5 ms', (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	here.names.take();
	for (const name of 'abcde') {
		assert.equal(here.nameOf(pages.function(name)), name);
		here.clock.now_ms += 3;
	}
	// After 6 and 12 ms.
	assert.equal(pages.forgets, 2);
});

test('what is not what was met is read four times, and no more', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	const word = pages.function('moved');
	here.meet([{ ...word, print: word.print ^ 1 }]);
	await here.tell();
	for (let i = 0; i < 10; i++) here.pause(5);
	assert.equal(pages.reads.length, 4);
	assert.equal(here.nameOf({ ...word, print: word.print ^ 1 }), 'unread');
	// Whoever asks has it read anew.
	assert.equal(here.nameOf(word), 'moved');
});

test('names that are asked for take one second in all, until what walks met is taken in again', (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	pages.cost_ms = 400;
	const words = ['a', 'b', 'c', 'd', 'e'].map((name) => pages.function(name));
	const asked = () => words.map((word) => here.nameOf(word));
	assert.deepEqual(asked(), ['a', 'b', 'c', 'unread', 'unread']);
	here.names.take();
	assert.deepEqual(asked(), ['a', 'b', 'c', 'd', 'e']);
});

test('of 32 processes something is known; of others it is read again', (t) => {
	const here = world(t);
	const all = Array.from({ length: 33 }, (_, i) => here.begin(PID + i));
	const ask = (i: number) => here.nameOf((all[i] as Pages).function(`f${i}`), { pid: PID + i });
	for (let i = 0; i < 32; i++) assert.equal(ask(i), `f${i}`);
	// Used again, so that the second one is the last now.
	ask(0);
	assert.ok(all.every(({ rests }) => rests === 0));
	ask(32);
	assert.deepEqual(
		all.flatMap(({ rests }, i) => (rests > 0 ? [i] : [])),
		[1],
	);
});

/** A thousandth of what is kept and waits otherwise: of so many, all can be looked at. */
const few = () => ({ mostWaiting: 100, names: new KeptNames({ functions: 300, addresses: 200 }) });

test('so many functions wait, and so many have names, as may; more are left out', async (t) => {
	const here = world(t, RUNTIME, few());
	const pages = here.begin(PID);
	const word = pages.function('last');
	let reads = 0;
	pages.read = () => {
		reads++;
		return undefined;
	};
	/** How often functions are read, of which none has a name: once, and once they have been tried for good. */
	const read = async (from: number, count: number) => {
		reads = 0;
		here.meet(Array.from({ length: count }, (_, i) => ({ ...word, place: 8 * (from + i + 1) })));
		await here.tell();
		const once = reads;
		for (let i = 0; i < 4; i++) here.pause(5);
		return [once, reads];
	};
	assert.deepEqual(await read(0, 107), [100, 400]);
	assert.deepEqual(await read(100, 100), [100, 400]);
	assert.deepEqual(await read(200, 93), [93, 372]);
	assert.deepEqual(await read(300, 50), [7, 28]);
});

test('however many addresses are met in made code, functions are read', async (t) => {
	const here = world(t, WASM_RUNTIME, few());
	const pages = here.begin(PID);
	const words = ['a', 'b', 'c'].map((name) => pages.function(name));
	const addresses = (from: number, count: number) =>
		here.meetAddresses(Array.from({ length: count }, (_, i) => WASM_CODE + from + i));
	// Half of what may wait, and 300 in all.
	addresses(0, 100);
	here.meet(words.slice(0, 2));
	await here.tell();
	assert.deepEqual(pages.reads, ['a', 'b']);
	for (let round = 1; round < 7; round++) {
		for (let i = 0; i < 4; i++) here.pause(5);
		addresses(100 * round, 50);
		await here.tell();
	}
	here.meet(words);
	await here.tell();
	assert.deepEqual(pages.reads, ['a', 'b', 'c']);
});

test('closed: its memory is not held, and nothing is read any more', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	pages.cost_ms = 10;
	here.meet([pages.function('a'), pages.function('b')]);
	await here.tell();
	here.names.close();
	here.pause(100);
	assert.deepEqual([pages.reads, pages.rests], [['a'], 1]);
});

test('functions in the code of others are read at once, and their names: the process may end', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	const { word, inlined, call } = inlinedIn(pages);
	here.meet([word], PID, call);
	await here.tell();
	pages.isGone = true;
	here.names.take();
	assert.deepEqual(here.withInlined(call, word), [inlined, word]);
	assert.equal(here.nameOf(inlined), 'inner');
});

test('what could not be read of a call is read when it is asked for; code of a file has none', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	const { word, inlined, call } = inlinedIn(pages);
	pages.isGone = true;
	here.meet([word], PID, call);
	await here.tell();
	for (let i = 0; i < 10; i++) here.pause(10);
	assert.deepEqual(here.withInlined(call, word), [word]);
	pages.isGone = false;
	here.names.take();
	assert.deepEqual(here.withInlined(call, word), [inlined, word]);
	// NODE is mapped there.
	assert.deepEqual(here.withInlined(0x1800, word), [word]);
	assert.deepEqual(here.withInlined(call, { ...word, isCallers: true }), [
		{ ...word, isCallers: true },
	]);
});

test('calls of code that is in a file are not read at all', async (t) => {
	const here = world(t);
	const pages = here.begin(PID);
	const { word } = inlinedIn(pages);
	const read: number[] = [];
	t.mock.method(V8Functions.prototype, 'inlinedAt', (call: number) => {
		read.push(call);
		return [];
	});
	// NODE is mapped from 0x1000 to 0x2000.
	for (const call of [0x1800, 0x2800]) here.meet([word], PID, call);
	await here.tell();
	assert.deepEqual(read, [0x2800]);
});

test('code that no function was taken of is read as soon as a stack is kept: of WebAssembly', async (t) => {
	const module = WASM.module(wireOf(custom('name', functionNames({ 1: 'own' }))));
	WASM.regions([WASM_CODE, WASM_CODE + 0x1000, module]);
	WASM.mapped(module, [[WASM_CODE, WASM.code(module, WASM_CODE, 64, 1)]]);
	let isGone = false;
	const pages = {
		read(address: number, length_bytes: number) {
			return isGone ? undefined : WASM.read(address, length_bytes);
		},
		forget: () => {},
		rest: () => {},
	};
	let onMet: () => Promise<void> = async () => {};
	const met: ReturnType<FunctionMaps['met']> = [];
	const maps = {
		watch: (call: () => Promise<void>) => {
			onMet = call;
		},
		met: () => met.splice(0),
		runtimeIn: () => WASM_RUNTIME,
	};
	const history = new ProcessHistory();
	const map = { ...NODE, start: 0x1000, end: 0x2000, fileOffset: 0, path: '/usr/bin/node' };
	history.add({ type: 'mmap', pid: PID, tid: PID, time_ns: 10, ...map });
	// However busy the machine is, there is time for all.
	t.mock.method(performance, 'now', () => 1000);
	const names = new FunctionNames(maps, history, () => pages);
	names.begin(() => {});
	const space = history.at(PID, 15) ?? assert.fail();
	// Not met: nothing is read.
	assert.equal(names.madeAt(space, WASM_CODE + 4), 'none');
	// The second is in a file.
	const others = [WASM_CODE + 4, 0x1800, WASM_CODE + 100, WASM_CODE + 0x2000];
	met.push({ pid: PID, runtime: WASM_RUNTIME, base: 0, frames: [], others });
	await onMet();
	names.close();
	assert.equal(names.madeAt(space, WASM_CODE + 100), 'unread');
	isGone = true;
	const file = new WasmFunctions(WASM, WASM.layout).at(WASM_CODE);
	assert.deepEqual(names.madeAt(space, WASM_CODE + 4), file);
	assert.equal(names.madeAt(space, WASM_CODE + 0x2000), 'none');
});
