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
