/** Symbols by their names, out of tables that the test writes as linkers do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes, SymbolError } from '../../../src/elf/bytes.js';
import { Elf } from '../../../src/elf/elf.js';
import { ExportedSymbols } from '../../../src/elf/exported-symbols.js';
import { symbolsNamed } from '../../../src/elf/local-symbols.js';
import {
	eachSymbol,
	STB,
	STT,
	symbolAddress,
	symbolBinding,
	symbolType,
} from '../../../src/elf/symbol-table.js';
import { elfOf } from '../hostile/elf-builder.js';

const SYMBOL_BYTES = 24;
const TEXT_AT = 0x40_0000;

/** Each symbol is 16 bytes behind the one before, and as long as its number. */
const symbolOf = (number: number) => ({ address: TEXT_AT + 16 * number, size_bytes: number });

/** A table with these symbols, behind the first, which has no name; and their names. */
function tableOf(names: readonly string[]): { table: Buffer; strings: Buffer } {
	const table = Buffer.alloc((names.length + 1) * SYMBOL_BYTES);
	const strings = Buffer.from(`\0${names.join('\0')}\0`, 'latin1');
	for (const [i, name] of names.entries()) {
		const symbol = table.subarray((i + 1) * SYMBOL_BYTES);
		symbol.writeUInt32LE(strings.indexOf(`\0${name}\0`, 0, 'latin1') + 1, 0);
		symbol.writeUInt8((STB.weak << 4) | STT.func, 4);
		symbol.writeBigUInt64LE(BigInt(symbolOf(i + 1).address), 8);
		symbol.writeBigUInt64LE(BigInt(symbolOf(i + 1).size_bytes), 16);
	}
	return { table, strings };
}

/** As glibc counts it. */
const hashOf = (name: string) =>
	Number(
		[...Buffer.from(name)].reduce(
			(hash, byte) => (hash * 33n + BigInt(byte)) & 0xffff_ffffn,
			5381n,
		),
	);

interface HashSpec {
	readonly buckets?: number;
	readonly firstHashed?: number;
	/** In place of what the buckets have. */
	readonly lies?: readonly number[];
}

/** A library that exports these, of which the first ones are not in the table of hashes; and their order in it. */
function library(names: readonly string[], spec: HashSpec = {}) {
	const { buckets = 3, firstHashed = 1 } = spec;
	const begin = names.slice(0, firstHashed - 1);
	const hashed = names
		.slice(firstHashed - 1)
		.sort((a, b) => (hashOf(a) % buckets) - (hashOf(b) % buckets));
	const first = Array.from({ length: buckets }, (_, bucket) => {
		const at = hashed.findIndex((name) => hashOf(name) % buckets === bucket);
		return at < 0 ? 0 : firstHashed + at;
	});
	const chains = hashed.map((name, i) => {
		const next = hashed[i + 1];
		const isLast = next === undefined || hashOf(next) % buckets !== hashOf(name) % buckets;
		return isLast ? (hashOf(name) | 1) >>> 0 : (hashOf(name) & ~1) >>> 0;
	});
	const bloom = [0xffff_ffff, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff];
	const words = [
		buckets,
		firstHashed,
		bloom.length / 2,
		6,
		...bloom,
		...(spec.lies ?? first),
		...chains,
	];
	const { table, strings } = tableOf([...begin, ...hashed]);
	const file = elfOf({
		sections: [
			{ name: '.gnu.hash', data: new Uint8Array(Uint32Array.from(words).buffer) },
			{ name: '.dynsym', type: 11, link: 3, data: table },
			{ name: '.dynstr', type: 3, data: strings },
		],
	});
	const symbols = new ExportedSymbols(new Elf(new MemoryBytes(file)));
	return { symbols, order: [...begin, ...hashed] };
}

const NAMES = ['malloc', 'free', 'calloc', 'realloc', 'mmap', 'munmap', 'v8dbg_x', 'a', 'b', 'c'];

test('each exported symbol is found by its name, and none by another', () => {
	for (const buckets of [1, 3, 64])
		for (const firstHashed of [1, 4]) {
			const { symbols, order } = library(NAMES, { buckets, firstHashed });
			for (const [i, name] of order.entries()) {
				const expected = i + 1 < firstHashed ? undefined : symbolOf(i + 1);
				assert.deepEqual(symbols.find(name), expected, `${buckets} ${name}`);
			}
			for (const name of ['', 'mallo', 'mallocs', 'x', 'nothing_like_it'])
				assert.equal(symbols.find(name), undefined, name);
		}
});

test('names of the same hash are told apart', () => {
	// 33 * 'a' + 'B' is 33 * 'b' + '!'.
	const [one, other] = ['xaB', 'xb!'];
	assert.equal(hashOf(one), hashOf(other));
	const { symbols } = library([one, other]);
	assert.deepEqual([symbols.find(one), symbols.find(other)], [symbolOf(1), symbolOf(2)]);
	assert.equal(library([one]).symbols.find(other), undefined);
});

test('a damaged table of hashes costs its symbols only', () => {
	assert.equal(library([], { buckets: 0 }).symbols.find('malloc'), undefined);
	for (const bucket of [1000, 2 ** 31])
		assert.throws(
			() => library(NAMES, { buckets: 1, lies: [bucket] }).symbols.find('malloc'),
			SymbolError,
		);
	assert.equal(new ExportedSymbols(new Elf(new MemoryBytes(elfOf({})))).find('malloc'), undefined);
});

function elfWithSymbols(names: readonly string[]): Elf {
	const { table, strings } = tableOf(names);
	const sections = [
		{ name: '.symtab', type: 2, link: 2, data: table },
		{ name: '.strtab', type: 3, data: strings },
	];
	return new Elf(new MemoryBytes(elfOf({ sections })));
}

test('symbols of .symtab: those that were asked for and are there', () => {
	const elf = elfWithSymbols(['first', 'xlater', 'later', 'last']);
	const found = symbolsNamed(elf, ['later', 'last', 'first', 'nothing', 'ater']);
	assert.deepEqual([...found].sort(), [
		['first', symbolOf(1)],
		['last', symbolOf(4)],
		['later', symbolOf(3)],
	]);
	assert.deepEqual(symbolsNamed(elf, []).size, 0);
	assert.equal(symbolsNamed(new Elf(new MemoryBytes(elfOf({}))), ['first']).size, 0);
});

test('all symbols of a large table come, each once, until enough was seen', () => {
	const count = 2 ** 15 + 10;
	const elf = elfWithSymbols(Array.from({ length: count }, () => 'name'));
	const table = elf.section('.symtab') ?? assert.fail();
	const seen = (most: number) => {
		const addresses: number[] = [];
		eachSymbol(elf, table, (part, at) => addresses.push(symbolAddress(part, at)) === most);
		return addresses;
	};
	const all = seen(Number.POSITIVE_INFINITY);
	assert.deepEqual([all.length, new Set(all).size], [count + 1, count + 1]);
	assert.equal(all.at(-1), symbolOf(count).address);
	assert.equal(seen(3).length, 3);
	eachSymbol(elf, table, (part, at) => {
		if (at === 0) return false;
		assert.deepEqual([symbolType(part, at), symbolBinding(part, at)], [STT.func, STB.weak]);
		return true;
	});
});

test('symbols are read wherever their table lies in memory', () => {
	const names = ['one', 'two'];
	const { bytes } = elfWithSymbols(names);
	const file = bytes.read(0, bytes.size_bytes);
	for (const before of [1, 2, 3, 4]) {
		const moved = Buffer.concat([Buffer.alloc(before), file]).subarray(before);
		const elf = new Elf(new MemoryBytes(moved));
		const addresses: number[] = [];
		const see = (part: Parameters<typeof symbolAddress>[0], at: number) => {
			addresses.push(symbolAddress(part, at));
			return false;
		};
		eachSymbol(elf, elf.section('.symtab') ?? assert.fail(), see);
		assert.deepEqual(addresses, [0, symbolOf(1).address, symbolOf(2).address]);
	}
});
