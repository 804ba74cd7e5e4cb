/** Readers of processes' functions, as long as they are kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuntimeFile } from '../../../src/runtimes/recognise.js';
import { OpenProcesses } from '../../../src/symbolize/open-processes.js';
import { LAYOUT as PYTHON } from '../runtimes/python/memory.js';
import { LAYOUT as V8 } from '../runtimes/v8/memory.js';

const CODE = { start: 1, end: 2 };
const NODE: RuntimeFile = {
	runtime: 'v8',
	version: '11.3.244',
	layout: {
		heap: V8,
		builtins: CODE,
		interpreter: CODE,
		resumes: [],
		wasm: undefined,
		loaded: [],
	},
	problem: undefined,
};
const CPYTHON: RuntimeFile = {
	runtime: 'python',
	version: '3.11',
	layout: PYTHON,
	problem: undefined,
};

test('two runtimes in one process: each keeps its reader; another program of that number has others', () => {
	let rests = 0;
	const pages = { read: () => undefined, forget: () => {}, rest: () => rests++ };
	const open = new OpenProcesses(() => pages);
	const readerOf = (runtime: RuntimeFile, life = 'first') =>
		open.reader(7, life, runtime, 0, () => undefined) ?? assert.fail();
	const [node, python] = [readerOf(NODE), readerOf(CPYTHON)];
	assert.notEqual(node, python);
	assert.equal(readerOf(NODE), node);
	assert.equal(readerOf(CPYTHON), python);
	assert.equal(rests, 0);
	assert.notEqual(readerOf(NODE, 'second'), node);
	assert.equal(rests, 1);
});

/** Readers of many processes, and what became of each one's memory. */
function world() {
	const rested: number[] = [];
	const forgotten: number[] = [];
	const open = new OpenProcesses((pid) => ({
		read: () => undefined,
		forget: () => forgotten.push(pid),
		rest: () => rested.push(pid),
	}));
	const readerOf = (pid: number, base = 0, runtime = NODE) =>
		open.reader(pid, 'life', runtime, base, () => undefined) ?? assert.fail();
	return { open, rested, forgotten, readerOf };
}

test('of many processes 32 are kept: who was not asked for the longest time goes, and its memory with it', () => {
	const { open, rested, forgotten, readerOf } = world();
	const pids = Array.from({ length: 32 }, (_, i) => i + 1);
	const readers = pids.map((pid) => readerOf(pid));
	assert.deepEqual(rested, []);
	// The first one is asked for again, so the second one goes.
	assert.equal(readerOf(1), readers[0]);
	readerOf(100);
	assert.deepEqual(rested, [2]);
	open.forget();
	assert.deepEqual(
		forgotten.toSorted((a, b) => a - b),
		[1, ...pids.slice(2), 100],
	);
	assert.notEqual(readerOf(2), readers[1]);
	assert.deepEqual(rested, [2, 3]);
	open.close();
	assert.equal(rested.length, 2 + 32);
});

test('a runtime that is mapped elsewhere by now, or is another file, is read anew', () => {
	const { rested, readerOf } = world();
	const first = readerOf(7);
	assert.equal(readerOf(7), first);
	const moved = readerOf(7, 0x1000);
	assert.notEqual(moved, first);
	assert.notEqual(readerOf(7, 0x1000, { ...NODE }), moved);
	assert.deepEqual(rested, [7, 7]);
});
