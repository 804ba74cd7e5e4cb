import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf, SECTION_TYPE } from '../../../../src/elf/elf.js';
import { SymbolSearch } from '../../../../src/symbolize/symbols/symbol-search.js';

interface Symbol {
	readonly name: string;
	readonly start: number;
	readonly size: number;
	/** STB_LOCAL, _GLOBAL, _WEAK. */
	readonly binding: number;
	/** STT_NOTYPE, _FUNC, ... */
	readonly type: number;
	/** Its name is outside the table of names. */
	readonly isLost?: boolean;
}

const TEXT_BYTES = 0x400;

/** An ELF file of symbols and nothing else: man 5 elf. Its one section of code is at 0. */
function elfOf(symbols: readonly Symbol[]): Elf {
	const table = Buffer.alloc(24 * symbols.length);
	const names = Buffer.from(`\0${symbols.map(({ name }) => `${name}\0`).join('')}`);
	let nameAt = 1;
	for (const [i, { name, start, size, binding, type, isLost }] of symbols.entries()) {
		table.writeUInt32LE(isLost ? 2 ** 20 : nameAt, i * 24);
		table.writeUInt8((binding << 4) | type, i * 24 + 4);
		table.writeUInt16LE(1, i * 24 + 6);
		table.writeUInt32LE(start, i * 24 + 8);
		table.writeUInt32LE(size, i * 24 + 16);
		nameAt += name.length + 1;
	}
	const headers = Buffer.alloc(64 * 4);
	const section = (i: number, fields: readonly number[]) => {
		for (const [at, value] of fields.entries()) headers.writeUInt32LE(value, i * 64 + at * 4);
	};
	const tableAt = 64 + headers.length;
	// name, type, flags (2), address (2), offset (2), size (2), link
	section(1, [0, 1, 4, 0, 0, 0, 64, 0, TEXT_BYTES]);
	section(2, [0, SECTION_TYPE.symtab, 0, 0, 0, 0, tableAt, 0, table.length, 0, 3]);
	section(3, [0, 3, 0, 0, 0, 0, tableAt + table.length, 0, names.length]);
	const header = Buffer.alloc(64);
	header.write('\x7fELF\x02\x01\x01', 'latin1');
	header.writeUInt32LE(64, 40); // where section headers are
	header.writeUInt16LE(64, 58);
	header.writeUInt16LE(4, 60);
	header.writeUInt16LE(3, 62);
	return new Elf(new MemoryBytes(Buffer.concat([header, headers, table, names])));
}

function search(symbols: readonly Symbol[], wanted: readonly number[]) {
	const elf = elfOf(symbols);
	const found = new SymbolSearch(Float64Array.from(wanted));
	found.add(elf, elf.sections[2] ?? assert.fail());
	return found.names();
}

const FUNC = 2;
const symbol = (name: string, start: number, size: number, binding = 1, type = FUNC): Symbol => {
	return { name, start, size, binding, type };
};

test('of aliases, the one people know', () => {
	const aliases = [
		symbol('local_name', 0x10, 4, 0),
		symbol('__read', 0x10, 4, 1),
		symbol('read', 0x10, 4, 2),
		symbol('__libc_read', 0x10, 4, 1),
	];
	assert.deepEqual(search(aliases, [0x10, 0x13, 0x14]), ['read', 'read', undefined]);
});

test('of aliases, what C++ and Rust have mangled is not what a library keeps for itself', () => {
	for (const mangled of ['_ZN4Pool3runEv', '_RNvC4pool3run']) {
		const aliases = [symbol('pool_run', 0x10, 4, 2), symbol(mangled, 0x10, 4, 1)];
		assert.deepEqual(search(aliases, [0x10]), [mangled]);
		assert.deepEqual(search(aliases.toReversed(), [0x10]), [mangled]);
	}
	// A name that only ends like one.
	const aliases = [symbol('pool', 0x10, 4, 2), symbol('__pool_Z', 0x10, 4, 1)];
	assert.deepEqual(search(aliases, [0x10]), ['pool']);
});

test('of aliases one with a name, with few underscores; what is chosen at run time is a function, too', () => {
	const both = (one: Symbol, other: Symbol, name: string) => {
		assert.deepEqual(search([one, other], [0x10]), [name]);
		assert.deepEqual(search([other, one], [0x10]), [name]);
	};
	const GNU_IFUNC = 10;
	both(symbol('', 0x10, 4), symbol('__named', 0x10, 4), '__named');
	both({ ...symbol('x', 0x10, 4), isLost: true }, symbol('__named', 0x10, 4), '__named');
	both(symbol('_one', 0x10, 4), symbol('__two', 0x10, 4), '_one');
	both(symbol('___three', 0x10, 4), symbol('__two', 0x10, 4), '__two');
	both(symbol('memcpy', 0x10, 4, 1, GNU_IFUNC), symbol('__local', 0x10, 4, 0), 'memcpy');
	assert.deepEqual(search([{ ...symbol('x', 0x10, 4), isLost: true }], [0x10]), [undefined]);
});

test('which addresses have the name of a symbol without a size, and where that begins', () => {
	const elf = elfOf([symbol('bare', 0x10, 0), symbol('sized', 0x20, 8), symbol('other', 0x30, 0)]);
	const found = new SymbolSearch(Float64Array.of(0x8, 0x14, 0x24, 0x34, 0x38));
	found.add(elf, elf.sections[2] ?? assert.fail());
	found.names();
	assert.deepEqual(
		[...found.unsized],
		[
			[0x14, 0x10],
			[0x34, 0x30],
			[0x38, 0x30],
		],
	);
});

test('versions are left out', () => {
	assert.deepEqual(search([symbol('@begins', 0x10, 4)], [0x11]), ['@begins']);
	assert.deepEqual(search([symbol('poll@@GLIBC_2.2.5', 0x10, 4)], [0x11]), ['poll']);
});

test('a function inside another, and what comes after it', () => {
	const nested = [symbol('outer', 0x10, 0x40), symbol('inner', 0x20, 8)];
	const names = search(nested, [0x1f, 0x20, 0x27, 0x28, 0x4f, 0x50]);
	assert.deepEqual(names, ['outer', 'inner', 'inner', 'outer', 'outer', undefined]);
});

test('without a size: up to the next symbol; without a type: only what is exported', () => {
	const symbols = [
		symbol('bare', 0x10, 0),
		symbol('label', 0x18, 0, 0, 0),
		symbol('next', 0x20, 4),
		symbol('exported', 0x30, 0, 1, 0),
		symbol('variable', 0x38, 8, 1, 1),
	];
	const names = search(symbols, [0xf, 0x10, 0x1f, 0x20, 0x24, 0x30, 0x3ff, 0x400]);
	assert.deepEqual(names, [
		undefined,
		'bare',
		'bare',
		'next',
		undefined,
		'exported',
		'exported',
		undefined,
	]);
});

test('the same as a plain search through all symbols', () => {
	const place = fc.record({
		start: fc.nat(200),
		size: fc.oneof(fc.constant(0), fc.nat(60)),
		binding: fc.constantFrom(0, 1, 2),
	});
	fc.assert(
		fc.property(
			fc.array(place, { maxLength: 15 }),
			fc.uniqueArray(fc.nat(300), { maxLength: 40 }),
			(places, all) => {
				const symbols = places.map((each, i) => ({ ...each, name: `f${i}`, type: FUNC }));
				const wanted = all.toSorted((a, b) => a - b);
				for (const [i, name] of search(symbols, wanted).entries()) {
					const right = plainSearch(symbols, wanted[i] ?? 0);
					assert.ok(name === undefined ? right.length === 0 : right.includes(name));
				}
			},
		),
		{ numRuns: 2000 },
	);
});

/** All names that would be right. */
function plainSearch(symbols: readonly Symbol[], address: number): string[] {
	const before = symbols.filter(({ start }) => start <= address);
	const covering = before.filter(({ start, size }) => address < start + size);
	const candidates = covering.length > 0 ? covering : before;
	const last = Math.max(...candidates.map(({ start }) => start));
	const right = candidates.filter(({ start, size }) => {
		return start === last && (covering.length > 0 || size === 0);
	});
	const best = right.filter(({ binding }) => binding === 1);
	const others = right.filter(({ binding }) => binding === 2);
	return (best.length > 0 ? best : others.length > 0 ? others : right).map(({ name }) => name);
}
