/** Names of functions of WebAssembly, out of memory as V8 has it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WasmFunctions } from '../../../../src/runtimes/v8/wasm.js';
import { wireHash } from '../../../../src/runtimes/v8/wire-hash.js';
import { custom, functionNames, section, text, WasmWorld, wireOf } from './wasm-world.js';

const CODE = 0x5000_0000_0000;
const VERSIONS = ['11.3', '12.4', '13.6', '14.1', '14.6'];
const NAMED = wireOf(
	section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
	custom('other', [1, 2, 3]),
	custom('name', [
		...section(0, text('truth')),
		...functionNames({ 0: 'wait', 3: 'outer', 700: 'last' }),
	]),
);
const NAMELESS = wireOf(section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), custom('padding', [0, 0, 0]));

test('each version: by its number in the module, in the map or not yet, with the module’s own name', () => {
	for (const version of VERSIONS) {
		const world = new WasmWorld(version);
		const [named, nameless] = [world.module(NAMED), world.module(NAMELESS)];
		world.regions(
			[CODE, CODE + 0x1000, named],
			[CODE + 0x4000, CODE + 0x5000, nameless],
			[CODE + 0x9000, CODE + 0xa000, world.module(NAMELESS)],
		);
		const code = (module: number, at: number, number: number) =>
			[CODE + at, world.code(module, CODE + at, 64, number)] as const;
		world.mapped(named, [code(named, 0, -1), code(named, 64, 700), code(named, 256, 5)]);
		const [, late] = code(named, 512, 3);
		world.vector(named, [code(named, 1024, 0)[1], late]);
		world.mapped(nameless, [code(nameless, 0x4000, 12)]);
		const wasm = new WasmFunctions(world, world.layout);
		const by = world.layout.hash;
		const hash = (wire: Uint8Array) =>
			wireHash(new DataView(wire.buffer, wire.byteOffset, wire.length), wire.length, by);
		const truth = { language: 'wasm', file: `wasm://wasm/truth-${hash(NAMED)}`, line: undefined };
		assert.deepEqual(wasm.at(CODE + 64), { ...truth, name: 'last' });
		assert.deepEqual(wasm.at(CODE + 127), { ...truth, name: 'last' });
		assert.deepEqual(wasm.at(CODE + 300), { ...truth, name: 'wasm-function[5]' });
		assert.deepEqual(wasm.at(CODE + 512), { ...truth, name: 'outer' });
		assert.deepEqual(wasm.at(CODE + 1030), { ...truth, name: 'wait' });
		assert.deepEqual(wasm.at(CODE + 0x4001), {
			language: 'wasm',
			name: 'wasm-function[12]',
			file: `wasm://wasm/${hash(NAMELESS)}`,
			line: undefined,
		});
		// A table of jumps; between functions; behind, before and between regions; one without any code.
		assert.equal(wasm.at(CODE + 10), 'none');
		assert.equal(wasm.at(CODE + 128), undefined);
		for (const at of [0x1000, -1, 0x3fff, 0xa000]) assert.equal(wasm.at(CODE + at), 'none');
		assert.equal(wasm.at(CODE + 0x9100), undefined);
	}
});

test('a function is one object, whichever of its addresses, and whichever of its code', () => {
	const world = new WasmWorld('11.3');
	const [first, second] = [world.module(NAMED), world.module(NAMED)];
	world.regions([CODE, CODE + 0x1000, first], [CODE + 0x4000, CODE + 0x5000, second]);
	const code = (module: number, at: number, number: number, flags?: number) =>
		[CODE + at, world.code(module, CODE + at, 64, number, flags)] as const;
	const toJs = [code(first, 256, 4, 2), code(first, 320, 5, 2)];
	world.mapped(first, [
		code(first, 0, 3),
		code(first, 64, 700),
		code(first, 128, 3),
		code(first, 192, 9),
		...toJs,
	]);
	world.mapped(second, [code(second, 0x4000, 3)]);
	const wasm = new WasmFunctions(world, world.layout);
	const outer = wasm.at(CODE);
	assert.ok(typeof outer === 'object' && outer.name === 'outer');
	for (const at of [1, 63, 128, 140]) assert.equal(wasm.at(CODE + at), outer);
	assert.ok(wasm.at(CODE + 64) !== outer);
	assert.deepEqual(wasm.at(CODE + 0x4000), outer);
	assert.ok(wasm.at(CODE + 0x4000) !== outer);
	assert.equal(wasm.at(CODE + 195), wasm.at(CODE + 199));
	const wrapper = wasm.at(CODE + 256);
	assert.ok(typeof wrapper === 'object' && wrapper.name === 'wasm-to-js');
	assert.equal(wasm.at(CODE + 330), wrapper);
});

test('a process without WebAssembly has none', () => {
	const world = new WasmWorld();
	world.word(world.layout.state, 0);
	assert.equal(new WasmFunctions(world, world.layout).at(CODE), 'none');
});

test('code by which modules call JavaScript: of a module, or of all', () => {
	const early = new WasmWorld('11.3');
	const module = early.module(NAMED);
	early.regions([CODE, CODE + 0x1000, module]);
	early.mapped(module, [
		[CODE, early.code(module, CODE, 64, 0, 0b1010)],
		[CODE + 64, early.code(module, CODE + 64, 64, 0, 0b1000)],
	]);
	const names = new WasmFunctions(early, early.layout);
	assert.match(JSON.stringify(names.at(CODE)), /"wasm-to-js","file":"wasm:\/\/wasm\/truth-/);
	assert.match(JSON.stringify(names.at(CODE + 64)), /"wait"/);
	const late = new WasmWorld('13.6');
	late.map(late.state + (late.layout.wrappers ?? 0), [
		{ key: CODE, value: [late.code(0, CODE, 64, -1)] },
	]);
	const wrapper = { language: 'wasm', name: 'wasm-to-js', file: undefined, line: undefined };
	assert.deepEqual(new WasmFunctions(late, late.layout).at(CODE + 63), wrapper);
	assert.equal(new WasmFunctions(late, late.layout).at(CODE + 64), 'none');
});

test('code comes into a vector, moves into the map, and other code comes after it', () => {
	const world = new WasmWorld();
	const module = world.module(NAMELESS);
	world.regions([CODE, CODE + 0x10000, module]);
	const codes = Array.from({ length: 40 }, (_, i) => world.code(module, CODE + 64 * i, 64, i));
	const wasm = new WasmFunctions(world, world.layout);
	const numberAt = (i: number) => {
		const found = wasm.at(CODE + 64 * i + 8);
		return found === undefined || found === 'none' ? found : found.name;
	};
	const begin = world.vector(module, codes.slice(0, 10), codes.length);
	assert.equal(numberAt(9), 'wasm-function[9]');
	assert.equal(numberAt(10), undefined);
	const end = module + world.layout.moduleCode + 48;
	world.word(begin + 80, codes[10] ?? 0);
	world.word(end, begin + 88);
	assert.equal(numberAt(10), 'wasm-function[10]');
	// Emptied, and filled again: there are more than before.
	for (const [i, code] of codes.slice(20).entries()) world.word(begin + 8 * i, code);
	world.word(end, begin + 8 * 20);
	assert.equal(numberAt(20), 'wasm-function[20]');
	assert.equal(numberAt(39), 'wasm-function[39]');
	assert.equal(numberAt(9), undefined);
	// Freed: another module has its memory.
	world.word(codes[39] ?? 0, module + 8);
	assert.equal(numberAt(39), undefined);
});

test('of two pieces of code at one place the later one counts; one that lies elsewhere by now does not', () => {
	const world = new WasmWorld();
	const module = world.module(NAMELESS);
	world.regions([CODE, CODE + 0x1000, module]);
	const codes = [1, 2].map((number) => world.code(module, CODE, 64, number));
	world.vector(module, codes);
	const wasm = new WasmFunctions(world, world.layout);
	const found = wasm.at(CODE + 8);
	assert.equal(typeof found === 'object' && found.name, 'wasm-function[2]');
	world.word((codes[1] ?? 0) + 8, CODE + 512);
	assert.equal(wasm.at(CODE + 8), undefined);
});

test('lengths in five bytes each, as linkers leave room for them', () => {
	const padded = (id: number, bytes: readonly number[]) => {
		const length = [0, 7, 14, 21].map((shift) => ((bytes.length >> shift) & 127) | 128);
		return [id, ...length, 0, ...bytes];
	};
	const names = [2, 0, ...text('wait'), 1, ...text('run')];
	const wire = wireOf(
		padded(1, [1, 0x60, 0, 0]),
		padded(0, [...text('name'), ...padded(0, text('app')), ...padded(1, names)]),
	);
	const world = new WasmWorld();
	const module = world.module(wire);
	world.regions([CODE, CODE + 0x1000, module]);
	world.mapped(module, [[CODE, world.code(module, CODE, 64, 1)]]);
	const found = new WasmFunctions(world, world.layout).at(CODE);
	assert.ok(typeof found === 'object');
	assert.match(`${found.name} ${found.file}`, /^run wasm:\/\/wasm\/app-/);
});

test('another module in the same memory has its own names', () => {
	const world = new WasmWorld();
	const wire = (name: string) =>
		wireOf(custom('name', functionNames({ 1: name, 2: 'x'.repeat(50) })));
	const module = world.module(wire('before'));
	world.regions([CODE, CODE + 0x1000, module]);
	world.mapped(module, [[CODE, world.code(module, CODE, 64, 1)]]);
	const wasm = new WasmFunctions(world, world.layout);
	const name = () => JSON.stringify(wasm.at(CODE));
	assert.match(name(), /"before"/);
	const pointer = world.read(module + world.layout.moduleWire, 8)?.getBigUint64(0, true);
	const bytes = world.read(Number(pointer), 8)?.getBigUint64(0, true);
	world.put(wire('behind'), Number(bytes));
	const after = name();
	assert.match(after, /"behind"/);
	// It also has its own number: not the one that was remembered.
	assert.equal(after, JSON.stringify(new WasmFunctions(world, world.layout).at(CODE)));
});

/** As the stacks of Error's have them in Node.js 20 to 24, and in 25 and 26: by how long the module is. */
const HASHES: readonly (readonly [number, string, string])[] = [
	[44, 'bad8463e', 'f0a911a6'],
	[48, '02df6a4e', '38c49096'],
	[49, 'bf52cbd6', 'bf66c462'],
	[63, '5631a35a', '7d127f62'],
	[64, 'd2477f66', 'f4e4315a'],
	[65, '7a50f10e', 'd2e67b5e'],
	[80, '199dd566', 'e3008b86'],
	[96, 'eca2c4f2', '7c350fb2'],
	[97, 'e1f99f5a', 'ff9ded06'],
	[1049, '65d2804a', '98471f1e'],
	[16_049, '46f68a86', 'fac48f12'],
];
/** Calls what it imports; a section that says nothing makes it so long. */
function callingWire(length: number): Uint8Array {
	const own = [
		section(1, [1, 0x60, 0, 0]),
		section(2, [1, ...text('env'), ...text('w'), 0, 0]),
		section(3, [1, 0]),
		section(7, [1, ...text('f'), 0, 1]),
		section(10, [1, 4, 0, 0x10, 0, 0x0b]),
	];
	const rest = (bytes: number) =>
		custom(
			'p',
			Array.from({ length: bytes }, (_, i) => (i * 7) & 255),
		);
	if (wireOf(...own).length === length) return wireOf(...own);
	let bytes = length - wireOf(...own, rest(0)).length;
	while (wireOf(...own, rest(bytes)).length > length) bytes--;
	return wireOf(...own, rest(bytes));
}

test('modules are told apart by the numbers that V8 gives them', () => {
	for (const [length, early, late] of HASHES) {
		const wire = callingWire(length);
		assert.equal(wire.length, length);
		const view = new DataView(wire.buffer, wire.byteOffset, wire.length);
		assert.equal(wireHash(view, length, 'one at a time'), early, `${length}`);
		assert.equal(wireHash(view, length, 'rapid'), late, `${length}`);
	}
	for (const by of ['one at a time', 'rapid'] as const)
		assert.equal(wireHash(new DataView(new ArrayBuffer(8)), 20_214, by), '00013bda');
	// From 16,384 bytes on, that is their number.
	for (const by of ['one at a time', 'rapid'] as const) {
		const hashOf = (length: number) => wireHash(new DataView(new ArrayBuffer(length)), length, by);
		assert.equal(hashOf(16_384), '00010002');
		assert.notEqual(hashOf(16_383), '0000fffe');
	}
});

test('maps of many: each function is found', () => {
	const world = new WasmWorld();
	const module = world.module(NAMELESS);
	world.regions([CODE, CODE + 0x10_0000, module]);
	const starts = Array.from({ length: 1000 }, (_, i) => CODE + 64 * i);
	world.mapped(
		module,
		starts.map((start, i) => [start, world.code(module, start, 64, i)]),
	);
	const wasm = new WasmFunctions(world, world.layout);
	for (const [i, start] of starts.entries()) {
		const found = wasm.at(start + 63);
		assert.equal(
			found === undefined || found === 'none' ? found : found.name,
			`wasm-function[${i}]`,
		);
	}
});
