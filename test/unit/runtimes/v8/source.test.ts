/** Lines of functions: by the source of the script that they are in. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printAt } from '../../../../src/runtimes/v8/frame.js';
import { V8Functions } from '../../../../src/runtimes/v8/functions.js';
import { Heap } from '../../../../src/runtimes/v8/heap.js';
import { FakeMemory, FUNCTION_FLAGS, functionsIn, LAYOUT, TYPE } from './memory.js';

const SOURCE = '\n\nfunction handle(request) {}\n';

test('a script that is a part of a file has its lines there; a function without a place has none', () => {
	const memory = new FakeMemory();
	const script = memory.script('/srv/page.html', memory.string(SOURCE));
	memory.smi(script, LAYOUT.scriptName + 8, 40);
	const lineAt = (start: number) => {
		const scope = memory.scope([FUNCTION_FLAGS, 0, 0, 'f', -1, '', start, 5]);
		const shared = memory.shared(scope, script);
		const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
		const found = functionsIn(memory).functionAt({ place: shared, print, isCallers: false });
		return typeof found === 'object' ? found.line : assert.fail();
	};
	assert.equal(lineAt(SOURCE.indexOf('(')), 43);
	assert.equal(lineAt(-1), undefined);
});

test('another script in the memory of one that was read has its own lines and its own name', () => {
	const memory = new FakeMemory();
	const script = memory.script('/srv/a.js', memory.string(SOURCE));
	const scope = memory.scope([FUNCTION_FLAGS, 0, 0, 'f', -1, '', 2, 5]);
	const shared = memory.shared(scope, script);
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	const functions = functionsIn(memory);
	const placeOf = () => {
		const found = functions.functionAt({ place: shared, print, isCallers: false });
		return typeof found === 'object' ? `${found.file}:${found.line}` : found;
	};
	assert.equal(placeOf(), '/srv/a.js:3');
	memory.point(script, LAYOUT.scriptSource, memory.string('one line'));
	assert.equal(placeOf(), '/srv/a.js:1');
	memory.point(script, LAYOUT.scriptName, memory.string('/srv/b.js'));
	assert.equal(placeOf(), '/srv/b.js:1');
});

test('a source that is not in memory is looked for three times, and no more', () => {
	const memory = new FakeMemory();
	const scope = memory.scope([FUNCTION_FLAGS, 0, 0, 'emit', -1, '', 0, 5]);
	const elsewhere = memory.object(TYPE.undefined, 16);
	const shared = memory.shared(scope, memory.script('node:events', elsewhere));
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	const functions = functionsIn(memory);
	const found = () => functions.functionAt({ place: shared, print, isCallers: false });
	const emit = { language: 'javascript', name: 'emit', file: 'node:events', line: undefined };
	assert.deepEqual(found(), { ...emit, isLineLater: true });
	assert.deepEqual(found(), { ...emit, isLineLater: true });
	assert.deepEqual(found(), emit);
});

test('the source is in the program’s file, which is read where it is loaded; once', () => {
	const source = '\n\n\nfunction emit() {}\n';
	/** No pages of the process's own. */
	const at = 0x40_2000;
	const memory = new FakeMemory();
	const external = memory.object(TYPE.externalOneByte, 32);
	memory.int32(external, LAYOUT.stringLength, source.length);
	const resource = memory.object(TYPE.undefined, 16);
	memory.address(external, LAYOUT.externalResource, resource);
	memory.address(external, LAYOUT.externalResource + 8, at);
	const scope = memory.scope([FUNCTION_FLAGS, 0, 0, 'emit', -1, '', source.indexOf('('), 0]);
	const shared = memory.shared(scope, memory.script('node:events', external));
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	const lineBy = (end: number) => {
		const asked: number[][] = [];
		const readProgram = (...part: number[]) => {
			asked.push(part);
			return Buffer.from(source);
		};
		const read = memory.read.bind(memory);
		const loaded = [
			{ start: 0x40_0000, end: 0x40_1000, offset: 0 },
			{ start: 0x40_1800, end, offset: 0x800 },
		];
		const functions = new V8Functions(
			{ read, readProgram },
			{ heap: LAYOUT, wasm: undefined, loaded },
		);
		const found = [1, 2].map(() =>
			functions.functionAt({ place: shared, print, isCallers: false }),
		);
		const lines = found.map((each) => (each === 'none' ? assert.fail() : each?.line));
		return { lines, asked };
	};
	const end = at + source.length;
	assert.deepEqual(lineBy(end), { lines: [4, 4], asked: [[0x1000, source.length]] });
	// Of what the file has only a part of, nothing is read.
	assert.deepEqual(lineBy(end - 1), { lines: [undefined, undefined], asked: [] });
});

test('sources that are too large to be read leave others their lines', () => {
	const memory = new FakeMemory();
	const large = memory.object(TYPE.externalOneByte, 32);
	memory.int32(large, LAYOUT.stringLength, 65 << 20);
	const heap = new Heap(memory, LAYOUT);
	const functions = functionsIn(memory);
	const lineIn = (source: number) => {
		const scope = memory.scope([FUNCTION_FLAGS, 0, 0, 'handle', -1, '', 3, 5]);
		const shared = memory.shared(scope, memory.script('/srv/app.js', source));
		const print = printAt(heap, shared) ?? assert.fail();
		const found = functions.functionAt({ place: shared, print, isCallers: false });
		return found === 'none' ? assert.fail() : found?.line;
	};
	assert.equal(lineIn(large), undefined);
	assert.equal(lineIn(memory.string(SOURCE)), 3);
});
