import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { searchPerfMap } from '../../../../src/symbolize/symbols/perf-map.js';

const names = (text: string, ...wanted: number[]) =>
	searchPerfMap(new MemoryBytes(Buffer.from(text)), Float64Array.from(wanted)).names;

test('names by address; 0x or none, spaces in names', () => {
	const text = '1000 100 LazyCompile:*f /a b.js:1:2\n0x2000 0x10 Java_foo\n';
	assert.deepEqual(names(text, 0xfff, 0x1000, 0x10ff, 0x1100, 0x200f, 0x2010), [
		undefined,
		'LazyCompile:*f /a b.js:1:2',
		'LazyCompile:*f /a b.js:1:2',
		undefined,
		'Java_foo',
		undefined,
	]);
});

test('where lines overlap, the later one counts', () => {
	const text = '1000 100 old\n1080 100 new\n10c0 10 newest\n';
	assert.deepEqual(names(text, 0x1000, 0x107f, 0x1080, 0x10c0, 0x10d0, 0x117f), [
		'old',
		'old',
		'new',
		'newest',
		'new',
		'new',
	]);
});

test('absurd lines are passed over, a last one without its end too', () => {
	const text =
		'1000 ffffffffffff everything\n1000 0 nothing\nx y z\n1000 10\n1000  10 two\n\n' +
		'ffffffffffffffffff 10 far\n1000 10 right\n1000 10 cut';
	assert.deepEqual(names(text, 0x1000), ['right']);
});

test('names are one line of bounded length', () => {
	const [name] = names(`1000 10 ${'n'.repeat(100_000)}\n`, 0x1000);
	assert.equal(name?.length, 4096);
	assert.deepEqual(names('1000 10 a\0b\rc\n', 0x1000), ['a b c']);
});

test('the same as a plain search that keeps every line', () => {
	const line = fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 50 }));
	fc.assert(
		fc.property(fc.array(line, { maxLength: 60 }), fc.uniqueArray(fc.nat(250)), (lines, all) => {
			const wanted = all.toSorted((a, b) => a - b);
			const text = lines.map(([at, size], i) => `${at.toString(16)} ${size.toString(16)} n${i}\n`);
			const expected = wanted.map((address) => {
				const i = lines.findLastIndex(([at, size]) => address >= at && address < at + size);
				return i < 0 ? undefined : `n${i}`;
			});
			assert.deepEqual(names(text.join(''), ...wanted), expected);
		}),
	);
});

test('a hostile map, in which every line covers every address, is read in bounded time', () => {
	const text = '1000 3000000 x\n'.repeat(300_000);
	const wanted = Array.from({ length: 5000 }, (_, i) => 0x1000 + i);
	assert.equal(names(text, ...wanted).at(-1), 'x');
});

test('of very many lines for one address the last one counts, and those of others are not forgotten', () => {
	const others = Array.from({ length: 10_000 }, (_, i) => `2000 10 n${i}\n`).join('');
	assert.deepEqual(names(`1000 10 first\n${others}3000 10 last\n`, 0x1008, 0x2008, 0x3008), [
		...['first', 'n9999', 'last'],
	]);
});

test('of lines that overlap the later one counts, too, when the earlier ones are many', () => {
	const many = '5000 10 other\n'.repeat(10_000);
	const both = '2000 1000 old\n1000 1800 new\n';
	assert.deepEqual(names(`${both}${many}`, 0x1008, 0x2008, 0x2f00, 0x5008), [
		...['new', 'new', 'old', 'other'],
	]);
});

test('any bytes: names or nothing', () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
			searchPerfMap(new MemoryBytes(Buffer.from(bytes)), Float64Array.from([0, 1, 0x1000]));
		}),
	);
});

test('a map that is read in several parts, whose lines are cut anywhere', () => {
	const filler = 'ffff0000 10 of no interest\n';
	const [size, functions] = [2 ** 20, ['first', 'second', 'third']];
	for (let shift = 0; shift < 30; shift += 7) {
		let text = '';
		for (const [i, name] of functions.entries()) {
			// Each begins a little before the end of a part.
			const rest = size * (i + 1) - 20 + shift - text.length;
			text += filler.repeat(Math.floor(rest / filler.length)).padEnd(rest - 1, '#');
			text += `\n${(0x1000 * (i + 1)).toString(16)} 10 ${name}\n`;
		}
		assert.deepEqual(names(text, 0x1008, 0x2008, 0x3008), functions, `${shift}`);
	}
});

test('a map is cut where more follows than is read of it', () => {
	const part = Buffer.alloc(2 ** 20, 'x');
	const isCut = (size_bytes: number) =>
		searchPerfMap({ size_bytes, read: (_, bytes) => part.subarray(0, bytes) }, Float64Array.of(1))
			.cut;
	assert.equal(isCut(256 * 2 ** 20), false);
	assert.equal(isCut(256 * 2 ** 20 + 1), true);
});

test('letters of either case in numbers, and any in names, whose ends are not kept', () => {
	assert.deepEqual(names('AbC0 1F gr\u00fc\u00dfe \r\n', 0xabc0, 0xabde, 0xabdf), [
		...['gr\u00fc\u00dfe', 'gr\u00fc\u00dfe', undefined],
	]);
	// 64 MiB, which no function has, and one byte more.
	assert.deepEqual(names('1000 4000000 all\n', 0x1000), ['all']);
	assert.deepEqual(names('1000 4000001 all\n', 0x1000), [undefined]);
});
