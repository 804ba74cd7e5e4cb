import assert from 'node:assert/strict';
import { test } from 'node:test';
import { functionReader } from '../../../../src/runtimes/recognise.js';
import { printAt, v8FunctionOf } from '../../../../src/runtimes/v8/frame.js';
import { Heap } from '../../../../src/runtimes/v8/heap.js';
import { scopeAt } from '../../../../src/runtimes/v8/scope.js';
import { FakeMemory, FUNCTION_FLAGS, functionsIn, LAYOUT, LAYOUTS, TYPE } from './memory.js';

const SOURCE = '\n\nfunction handle(request) {}\n';

/** The function whose SharedFunctionInfo that is. */
function named(memory: FakeMemory, shared: number) {
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	return functionsIn(memory).functionAt({ place: shared, print, isCallers: false });
}

function sharedWith(
	memory: FakeMemory,
	words: readonly (number | string)[],
	file?: string,
): number {
	return memory.shared(memory.scope(words), memory.script(file, memory.string(SOURCE)));
}

test('a function: its name, its file, and the line where it begins', () => {
	const memory = new FakeMemory();
	const start = SOURCE.indexOf('(');
	const words = [FUNCTION_FLAGS, 1, 0, 'handle', -1, 'exports.handle', start, start + 5];
	assert.deepEqual(named(memory, sharedWith(memory, words, '/srv/app/server.js')), {
		language: 'javascript',
		name: 'handle',
		file: '/srv/app/server.js',
		line: 3,
	});
});

test('a function without a name has the one that V8 made up, or none', () => {
	const memory = new FakeMemory();
	const words = (inferred: string) => [FUNCTION_FLAGS, 0, 0, '', -1, inferred, 0, 5];
	const nameOf = (inferred: string) => {
		const found = named(memory, sharedWith(memory, words(inferred), 'file:///srv/a%20b.mjs'));
		assert.ok(typeof found === 'object');
		assert.equal(found.file, '/srv/a b.mjs');
		assert.equal(found.line, 1);
		return found.name;
	};
	assert.equal(nameOf('Server.onRequest'), 'Server.onRequest');
	assert.equal(nameOf(''), '(anonymous)');
});

/** Words of a scope, in the order of this version. */
function scopeOf(
	memory: FakeMemory,
	type: number,
	locals: readonly (number | string)[],
	[start, end]: readonly [number, number],
): number {
	const { isPositionFirst, module } = memory.layout.scope;
	return memory.scope([
		type | (FUNCTION_FLAGS & ~0xf),
		2,
		locals.length / 2,
		...(isPositionFirst ? [start, end] : []),
		...(type === module ? [7] : []),
		...locals,
		'its name',
		5,
		'exports.its',
		...(isPositionFirst ? [] : [start, end]),
	]);
}

for (const [node, layout] of Object.entries(LAYOUTS)) {
	test(`Node.js ${node}: scopes of functions and modules`, () => {
		const memory = new FakeMemory(layout);
		const heap = new Heap(memory, layout);
		const textOf = (pointer: number | undefined) =>
			pointer === undefined ? undefined : heap.text(pointer, 100);
		const isLate = layout.scope.isPositionFirst;
		for (const type of isLate ? [4, 5] : [2, 3]) {
			const scope = scopeOf(memory, type, ['a', 'b', 21, 22], [40, 60]);
			const { name, inferredName, start } = scopeAt(heap, scope) ?? assert.fail();
			assert.deepEqual(
				[textOf(name), textOf(inferredName), start],
				['its name', 'exports.its', 40],
			);
		}
		// An empty one is nowhere.
		if (isLate) assert.equal(scopeAt(heap, memory.scope([1 << 29, 0, 0, 3, 4]))?.start, undefined);
	});

	test(`Node.js ${node}: a function, and one whose bytecode is gone`, () => {
		const memory = new FakeMemory(layout);
		const nameOf = (shared: number) => {
			const print = printAt(new Heap(memory, layout), shared) ?? assert.fail();
			const word = { place: shared, print, isCallers: false };
			return functionsIn(memory, layout).functionAt(word);
		};
		const script = memory.script('/srv/a.js', memory.string(SOURCE));
		const start = SOURCE.indexOf('(');
		const scope = scopeOf(memory, layout.scope.isPositionFirst ? 4 : 2, [], [start, start + 5]);
		const place = { language: 'javascript', file: '/srv/a.js', line: 3 };
		assert.deepEqual(nameOf(memory.shared(scope, script)), { name: 'its name', ...place });
		const shared = memory.shared(memory.string('handle'), script);
		const data = memory.object(layout.uncompiledLastType, 24);
		memory.int32(data, layout.uncompiledStart, start);
		memory.point(shared, layout.sharedData, data);
		assert.deepEqual(nameOf(shared), { name: 'handle', ...place });
	});
}

test('a function whose bytecode is gone still has its name and its place', () => {
	const memory = new FakeMemory();
	const script = memory.script('/srv/a.js', memory.string(SOURCE));
	const shared = memory.shared(memory.string('handle'), script);
	const data = memory.object(LAYOUT.uncompiledFirstType, 24);
	memory.point(data, LAYOUT.uncompiledName, memory.string('exports.handle'));
	memory.int32(data, LAYOUT.uncompiledStart, 5);
	memory.point(shared, LAYOUT.sharedData, data);
	assert.deepEqual(named(memory, shared), {
		language: 'javascript',
		name: 'handle',
		file: '/srv/a.js',
		line: 3,
	});
});

test('what JavaScript calls of WebAssembly; an address that is none is shown as it is', () => {
	const memory = new FakeMemory();
	const words = [FUNCTION_FLAGS, 0, 0, 'f', -1, '', 0, 5];
	const shared = sharedWith(memory, words, 'file:///srv/50%.mjs');
	assert.deepEqual(named(memory, shared), {
		language: 'javascript',
		name: 'f',
		file: '/srv/50%.mjs',
		line: 1,
	});
	memory.point(shared, LAYOUT.sharedData, memory.object(LAYOUT.wasmDataType, 32));
	const called = { language: 'wasm', name: 'js-to-wasm', file: '/srv/50%.mjs', line: undefined };
	assert.deepEqual(named(memory, shared), called);
});

test("what is not the function that was met has no name, and V8's own are none", () => {
	const memory = new FakeMemory();
	const words = [FUNCTION_FLAGS, 0, 0, 'first', -1, '', 0, 5];
	const shared = sharedWith(memory, words, '/srv/a.js');
	const reader = functionsIn(memory);
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	assert.ok(reader.functionAt({ place: shared, print, isCallers: false }));
	assert.equal(reader.functionAt({ place: shared, print: print ^ 1, isCallers: false }), undefined);
	// Another function is at the same place now.
	memory.int32(shared, LAYOUT.sharedLength + 12, 8);
	assert.equal(reader.functionAt({ place: shared, print, isCallers: false }), undefined);
	const script = memory.script('/srv/a.js', memory.string(SOURCE));
	assert.equal(reader.functionAt({ place: script, print, isCallers: false }), undefined);
	const builtin = memory.shared(memory.string('forEach'), memory.object(TYPE.undefined, 16));
	assert.equal(named(memory, builtin), 'none');
});

test('which function a frame is of, as programs find it', () => {
	const memory = new FakeMemory();
	const shared = sharedWith(memory, [FUNCTION_FLAGS, 0, 0, 'f', -1, '', 0, 5], '/srv/a.js');
	const closure = memory.object(TYPE.jsFunction, 64);
	memory.point(closure, LAYOUT.functionShared, shared);
	const stack = memory.object(TYPE.undefined, 64);
	const fp = stack + 32;
	memory.point(fp, -16, closure);
	memory.point(fp, -8, stack);
	const layout = {
		heap: LAYOUT,
		builtins: { start: 1000, end: 2000 },
		interpreter: { start: 1200, end: 1300 },
		resumes: [1400, 1500],
		wasm: undefined,
		loaded: [],
	};
	const of = (offset: number | undefined, isExact = false, sp: number | undefined = fp - 24) =>
		v8FunctionOf({ fp, sp, isExact, offset }, layout, memory);
	assert.equal(of(undefined)?.place, shared);
	assert.equal(of(undefined)?.isCallers, false);
	assert.deepEqual(of(1250), of(undefined));
	assert.equal(of(999), undefined);
	assert.equal(of(2000), undefined);
	assert.equal(of(1100), undefined);
	// A frame of the interpreter's, though nothing was called before that address.
	for (const offset of [1399, 1499]) assert.deepEqual(of(offset), of(1250));
	for (const offset of [1400, 1398]) assert.equal(of(offset), undefined);
	assert.deepEqual(of(1399, true), { ...of(1250), isCallers: true });
	assert.deepEqual(of(1100, true), { ...of(undefined), isCallers: true });
	// The frame is not made yet.
	assert.equal(of(undefined, true, fp - 8), undefined);
	assert.equal(of(undefined, true, fp - 16)?.place, shared);
	// A frame of another kind has a small number there.
	memory.smi(fp, -8, 17);
	assert.equal(of(undefined), undefined);
	const file = { runtime: 'v8', version: '12.9.1', layout: undefined, problem: 'version' } as const;
	assert.equal(functionReader(file, memory, 0), undefined);
});

test('what cannot be read is not taken for what is not there', () => {
	const memory = new FakeMemory();
	const script = memory.script('/srv/app.js', memory.string(SOURCE));
	const name = memory.string('handle');
	const scope = memory.scope([FUNCTION_FLAGS, 0, 0, '', -1, '', 3, 5]);
	memory.point(scope, 8 * 4, name);
	const shared = memory.shared(scope, script);
	const print = printAt(new Heap(memory, LAYOUT), shared) ?? assert.fail();
	/** With these addresses on pages that are not in memory. */
	const without = (...missing: readonly number[]) =>
		functionsIn({
			read(address, length_bytes) {
				const isMissing = missing.some((at) => at >= address && at < address + length_bytes);
				return isMissing ? undefined : memory.read(address, length_bytes);
			},
		}).functionAt({ place: shared, print, isCallers: false });
	assert.deepEqual(without(), {
		language: 'javascript',
		name: 'handle',
		file: '/srv/app.js',
		line: 3,
	});
	const path = new Heap(memory, LAYOUT).pointer(script, LAYOUT.scriptName) ?? assert.fail();
	const places = { name, scope, path, script, ownName: scope + 8 * 4, start: scope + 8 * 7 };
	for (const [what, at] of Object.entries(places)) {
		assert.equal(without(at), undefined, what);
		assert.equal(without(at + 7), undefined, what);
	}
	// Of the strings, also what is in them.
	for (const at of [name + 16, path + 16]) assert.equal(without(at), undefined);
});
