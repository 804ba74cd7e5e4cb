/** Memory of a process that forges what V8 has of WebAssembly: it costs names, and neither time nor memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WasmFunctions } from '../../../../src/runtimes/v8/wasm.js';
import { WireBytes } from '../../../../src/runtimes/v8/wire-bytes.js';
import { custom, functionNames, section, text, unsigned, WasmWorld, wireOf } from './wasm-world.js';

const CODE = 0x5000_0000_0000;
const NAMED = wireOf(custom('name', functionNames({ 1: 'own' })));

/** A process with one function, in a map. */
function oneFunction(wire = NAMED) {
	const world = new WasmWorld();
	const module = world.module(wire);
	const region = world.regions([CODE, CODE + 0x1000, module]);
	const code = world.code(module, CODE, 64, 1);
	const node = world.mapped(module, [[CODE, code]]);
	const nameOf = () => {
		const found = new WasmFunctions(world, world.layout).at(CODE + 8);
		return found === undefined || found === 'none' ? found : found.name;
	};
	assert.ok(nameOf());
	world.reads = 0;
	world.mostBytes = 0;
	return { world, module, region, code, node, nameOf };
}

type Forged = ReturnType<typeof oneFunction>;

test('trees that lead back to themselves end', () => {
	for (const at of [16, 24]) {
		const { world, region, nameOf } = oneFunction();
		world.word(region + at, region);
		if (at === 24) assert.equal(nameOf(), undefined);
		else nameOf();
		assert.ok(world.reads < 500, `${world.reads}`);
	}
	const { world, node, nameOf } = oneFunction();
	world.word(node + 24, node);
	assert.equal(nameOf(), undefined);
	assert.ok(world.reads < 500, `${world.reads}`);
});

test('what cannot be read is not none: it may be read a little later', () => {
	const cases = {
		'the pointer to all': ({ world }: Forged) => world.hidden.add(world.layout.state),
		'the root of regions': ({ world }: Forged) =>
			world.hidden.add(world.state + world.layout.regions + 8),
		'a region': ({ world, region }: Forged) => world.hidden.add(region + 32),
		'the end of a region': ({ world, region }: Forged) => world.hidden.add(region + 40),
		'what is behind a region': ({ world, region }: Forged) => world.hidden.add(region + 24),
		'the root of wrappers': ({ world, region }: Forged) => {
			world.word(region + 40, CODE);
			world.hidden.add(world.state + (world.layout.wrappers ?? assert.fail()) + 8);
		},
	};
	for (const [what, hide] of Object.entries(cases)) {
		const forged = oneFunction();
		hide(forged);
		assert.equal(forged.nameOf(), undefined, what);
	}
	const { world, nameOf } = oneFunction();
	world.word(world.layout.state, 0);
	assert.equal(nameOf(), 'none');
	const { world: other, region, nameOf: otherName } = oneFunction();
	other.word(region + 40, CODE);
	assert.equal(otherName(), 'none');
});

test('a wrapper that cannot be read is not none; behind the last one there is none', () => {
	const { world, region, nameOf } = oneFunction();
	world.word(region + 40, CODE);
	const wrappers = world.state + (world.layout.wrappers ?? assert.fail());
	const code = world.code(0, CODE, 8, -1);
	world.map(wrappers, [{ key: CODE, value: [code] }]);
	assert.equal(nameOf(), 'none');
	world.hidden.add(code + world.layout.codeSize);
	assert.equal(nameOf(), undefined);
	world.hidden.clear();
	world.int32(code + world.layout.codeSize, 9);
	assert.equal(nameOf(), 'wasm-to-js');
});

test('code that is of another module, of no length, or of no function, has no name', () => {
	const cases: ((world: WasmWorld, code: number) => void)[] = [
		(world, code) => world.word(code, CODE),
		(world, code) => world.int32(code + world.layout.codeSize, 0),
		(world, code) => world.int32(code + world.layout.codeSize, -64),
		(world, code) => world.int32(code + world.layout.codeSize, 8),
		(world, code) => world.int32(code + world.layout.codeNumber, -2),
		(world, code) => world.int32(code + world.layout.codeNumber, 0x7fff_ffff),
		(world, code) => world.word(code + 8, CODE + 16),
	];
	for (const [i, forge] of cases.entries()) {
		const { world, code, nameOf } = oneFunction();
		forge(world, code);
		assert.equal(nameOf(), undefined, `${i}`);
	}
});

test('a vector that says it is huge is read a little at a time', () => {
	const { world, module, node, nameOf } = oneFunction();
	world.word(node + 32, CODE + 64);
	const begin = world.take(1 << 18);
	for (const length of [2 ** 40, 2 ** 20, -8, 7]) {
		const at = module + world.layout.moduleCode + 40;
		world.word(at, begin);
		world.word(at + 8, begin + length);
		world.reads = 0;
		assert.equal(nameOf(), undefined);
		assert.ok(world.reads < 200, `${world.reads}`);
		assert.ok(world.mostBytes <= 1024, `${world.mostBytes}`);
	}
});

test('each address looks at 128 pieces of code in a vector, and the next one goes on', () => {
	const world = new WasmWorld();
	const module = world.module(NAMED);
	world.regions([CODE, CODE + 0x100_0000, module]);
	const codes = Array.from({ length: 300 }, (_, i) => world.code(module, CODE + 64 * i, 64, i));
	world.vector(module, codes);
	const wasm = new WasmFunctions(world, world.layout);
	const found = [1, 2, 3].map(() => {
		world.reads = 0;
		const name = wasm.at(CODE + 64 * 299);
		assert.ok(world.reads < 160, `${world.reads}`);
		return typeof name === 'object' ? name.name : name;
	});
	assert.deepEqual(found, [undefined, undefined, 'wasm-function[299]']);
	assert.ok(wasm.at(CODE + 64 * 127));
});

test('names are one line, and not longer than others; empty ones are none', () => {
	const named = (name: string) =>
		oneFunction(wireOf(custom('name', functionNames({ 1: name })))).nameOf();
	assert.equal(named('a\n\r\0b\u2028c'), 'a   b c');
	assert.equal(named('x'.repeat(5000))?.length, 512);
	assert.equal(named('é😀'), 'é😀');
	assert.equal(named(''), 'wasm-function[1]');
	const module = section(0, text(`a\n${'b'.repeat(3000)}`));
	const { world } = oneFunction(
		wireOf(custom('name', [...module, ...functionNames({ 1: 'own' })])),
	);
	const found = new WasmFunctions(world, world.layout).at(CODE);
	const file = found === undefined || found === 'none' ? undefined : found.file;
	assert.match(file ?? '', /^wasm:\/\/wasm\/a b{254}-[0-9a-f]{8}$/);
});

test('sections that are longer than the module, have no end or are no names, are none', () => {
	const endless = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
	const names = functionNames({ 1: 'own' });
	const wires = [
		wireOf([0, ...endless], custom('name', names)),
		wireOf([0, ...unsigned(500), ...text('name'), ...names]),
		wireOf(custom('name', [1, ...unsigned(500), 1, 1, ...text('own')])),
		wireOf(custom('name', [2, 1, 0, ...section(1, [...endless, 1, ...text('own')])])),
		wireOf(custom('name', section(1, [...unsigned(2 ** 31), 5, ...endless, 1]))),
		wireOf(custom('eman', names)),
		wireOf(custom('name', []), custom('x', names)),
	];
	for (const [i, wire] of wires.entries())
		assert.equal(oneFunction(wire).nameOf(), 'wasm-function[1]', `${i}`);
});

test('what is no module has no name', () => {
	const { world, module, nameOf } = oneFunction();
	const vector = Number(world.read(module + world.layout.moduleWire, 8)?.getBigUint64(0, true));
	const at = Number(world.read(vector, 8)?.getBigUint64(0, true));
	for (const length of [0, 8, 2 ** 31, 2 ** 50]) {
		world.word(vector + 8, length);
		assert.equal(nameOf(), undefined, `${length}`);
	}
	world.word(vector + 8, NAMED.length);
	assert.equal(nameOf(), 'own');
	world.int32(at, 0);
	assert.equal(nameOf(), undefined);
	world.word(vector, 0);
	assert.equal(nameOf(), undefined);
});

test('many sections, names and modules are counted up to their bounds', () => {
	const many = wireOf(
		...Array.from({ length: 5000 }, () => section(5, [])),
		custom('name', functionNames({ 1: 'own' })),
	);
	const { world, nameOf } = oneFunction(many);
	assert.equal(nameOf(), 'wasm-function[1]');
	assert.ok(world.reads < 120, `${world.reads}`);
	const some = (count: number) =>
		wireOf(
			...Array.from({ length: count }, () => section(5, [])),
			custom('name', functionNames({ 1: 'own' })),
		);
	assert.equal(oneFunction(some(63)).nameOf(), 'own');
	assert.equal(oneFunction(some(64)).nameOf(), 'wasm-function[1]');
});

/** As wireOf(custom('name', functionNames(names))), for long ones. */
function namedWire(names: readonly (readonly [number, string])[]): Uint8Array {
	const all = Buffer.concat(
		names.flatMap(([number, name]) => [
			Buffer.from([...unsigned(number), ...unsigned(Buffer.byteLength(name))]),
			Buffer.from(name),
		]),
	);
	const count = unsigned(names.length);
	const part = [1, ...unsigned(count.length + all.length), ...count];
	const section = [...text('name'), ...part];
	const head = [0, ...unsigned(section.length + all.length), ...section];
	return Buffer.concat([NAMED.subarray(0, 8), Buffer.from(head), all]);
}

/** What each of three tries finds for the function with this number, of a module with these bytes. */
function tried(wire: Uint8Array, number: number) {
	const world = new WasmWorld();
	const module = world.module(wire);
	world.regions([CODE, CODE + 0x1000, module]);
	world.mapped(module, [[CODE, world.code(module, CODE, 64, number)]]);
	const wasm = new WasmFunctions(world, world.layout);
	world.mostBytes = 0;
	const found = [1, 2, 3].map(() => {
		const name = wasm.at(CODE);
		return typeof name === 'object' ? name.name : name;
	});
	return { found, mostBytes: world.mostBytes };
}

test('a long name section is looked through a little for each address, up to the function', () => {
	const many = namedWire(Array.from({ length: 50_000 }, (_, i) => [2 * i, `f${i % 7}`]));
	assert.deepEqual(tried(many, 39_998).found, ['f0', 'f0', 'f0']);
	assert.deepEqual(tried(many, 40_000).found, [undefined, 'f1', 'f1']);
	assert.equal(tried(many, 39_997).found[0], 'wasm-function[39997]');
	assert.deepEqual(tried(many, 99_998).found, [undefined, undefined, 'f5']);
	assert.deepEqual(tried(many, 99_999).found, [undefined, undefined, 'wasm-function[99999]']);
	const long = namedWire(Array.from('abcd', (name, i) => [i, name.repeat(200_000)]));
	const { found, mostBytes } = tried(long, 3);
	assert.deepEqual(found, [undefined, 'd'.repeat(512), 'd'.repeat(512)]);
	assert.equal(mostBytes, 512 << 10);
});

test('what is read at once of a name section may end in the middle of anything', () => {
	for (let shift = 0; shift < 40; shift++) {
		const wire = namedWire([
			[300, 'x'.repeat((512 << 10) - 35 + shift)],
			[1000, 'one'],
			[70_000, 'two'],
			[70_001, 'three'],
			[70_002, 'four'],
		]);
		for (const [number, name] of [
			[1000, 'one'],
			[70_000, 'two'],
			[70_002, 'four'],
		] as const) {
			const [first, ...others] = tried(wire, number).found;
			assert.ok(first === undefined || first === name, `${shift}`);
			assert.deepEqual(others, [name, name], `${shift}`);
		}
	}
});

test('names that cannot be read are not left out: they may be read a little later', () => {
	const world = new WasmWorld();
	const wire = wireOf(section(5, []), custom('name', functionNames({ 1: 'own' })));
	const module = world.module(wire);
	world.regions([CODE, CODE + 0x1000, module]);
	world.mapped(module, [[CODE, world.code(module, CODE, 64, 1)]]);
	const vector = Number(world.read(module + world.layout.moduleWire, 8)?.getBigUint64(0, true));
	const at = Number(world.read(vector, 8)?.getBigUint64(0, true));
	for (const place of [8, wire.length - 1]) {
		const wasm = new WasmFunctions(world, world.layout);
		world.hidden.add(at + place);
		assert.equal(wasm.at(CODE), undefined);
		world.hidden.clear();
		const found = wasm.at(CODE);
		assert.equal(typeof found === 'object' && found.name, 'own');
		world.hidden.add(at + wire.length - 1);
		assert.equal(wasm.at(CODE), undefined);
		world.hidden.clear();
	}
});

test('any bytes: reads stay within bounds, and nothing is thrown', () => {
	fc.assert(
		fc.property(fc.uint8Array({ minLength: 20, maxLength: 300 }), fc.nat(400), (noise, where) => {
			const { world, module, code, node, region } = oneFunction();
			for (const at of [module, code, node, region])
				world.put(noise.subarray(0, 20), at + (where % 64));
			world.put(noise, module + where);
			const wasm = new WasmFunctions(world, world.layout);
			for (let i = 0; i < 4; i++) wasm.at(CODE + i * 20);
			assert.ok(world.reads < 100_000);
		}),
		{ numRuns: 200 },
	);
	fc.assert(
		fc.property(fc.uint8Array({ minLength: 20, maxLength: 300 }), (noise) => {
			const world = new WasmWorld();
			const at = world.put(Uint8Array.from([...NAMED.subarray(0, 8), ...noise]));
			const wire = WireBytes.read(world, at, noise.length + 8, 'rapid');
			for (let i = 0; i < 300; i++) wire?.nameOf(i);
			assert.ok(world.reads < 10_000);
		}),
		{ numRuns: 500 },
	);
});
