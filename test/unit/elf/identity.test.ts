/** What a file says of itself: which build it is, where its symbols are, and whether it is a program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes, SymbolError } from '../../../src/elf/bytes.js';
import { Elf, SECTION_TYPE, SEGMENT_TYPE, stringAt } from '../../../src/elf/elf.js';
import { elfOf, type SectionSpec } from '../hostile/elf-builder.js';

const elfWith = (...sections: readonly SectionSpec[]) =>
	new Elf(new MemoryBytes(elfOf({ sections })));

/** Filled up with zeros to a multiple of four. */
const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);

function note(name: string, type: number, content: Buffer): Buffer {
	const head = Buffer.alloc(12);
	head.writeUInt32LE(name.length, 0);
	head.writeUInt32LE(content.length, 4);
	head.writeUInt32LE(type, 8);
	return Buffer.concat([head, padded(Buffer.from(name, 'latin1')), padded(content)]);
}

const ID = Buffer.from('0123456789abcdef0123456789abcdef01234567', 'hex');
const OWN = note('GNU\0', 3, ID);

test('the build-id is in the notes, behind whatever else is there', () => {
	const idOf = (...notes: readonly Buffer[]) =>
		elfWith({ name: '.note.gnu.build-id', type: 7, data: Buffer.concat(notes) }).buildId;
	assert.equal(idOf(OWN), ID.toString('hex'));
	const others = [
		note('GNU\0', 1, Buffer.alloc(16, 1)),
		note('stapsdt\0', 3, Buffer.alloc(5, 2)),
		note('Go\0', 3, Buffer.alloc(3, 3)),
	];
	assert.equal(idOf(...others, OWN), ID.toString('hex'));
	assert.equal(idOf(...others), undefined);
	// What no linker makes.
	for (const [length, isId] of [
		[1, false],
		[2, true],
		[64, true],
		[65, false],
	] as const)
		assert.equal(idOf(note('GNU\0', 3, Buffer.alloc(length, 7))) !== undefined, isId, `${length}`);
	assert.equal(idOf(OWN.subarray(0, OWN.length - 1)), undefined);
});

test('without that section, the segments of notes have it', () => {
	const notes = [note('GNU\0', 1, Buffer.alloc(16)), OWN];
	const sections = notes.map((data) => ({ name: '.note', type: 7, data }));
	const segments = notes.map((_, i) => ({ type: SEGMENT_TYPE.note, address: 0, dataOf: i }));
	const elf = new Elf(new MemoryBytes(elfOf({ sections, segments })));
	assert.equal(elf.buildId, ID.toString('hex'));
	// A section of that name with another note in it.
	const named = [{ name: '.note.gnu.build-id', type: 7, data: notes[0] as Buffer }, ...sections];
	const shifted = segments.map((each, i) => ({ ...each, dataOf: i + 1 }));
	const other = new Elf(new MemoryBytes(elfOf({ sections: named, segments: shifted })));
	assert.equal(other.buildId, ID.toString('hex'));
});

test('a debug link: a name, and the checksum behind it, where its place is a multiple of four', () => {
	const crc = Buffer.from([0x78, 0x56, 0x34, 0x12]);
	const linkOf = (name: string, behind = crc) => {
		const data = Buffer.concat([padded(Buffer.from(`${name}\0`)), behind]);
		return elfWith({ name: '.gnu_debuglink', data }).debugLink();
	};
	for (const name of ['a', 'abc', 'abcd', 'abcde', 'x.debug', '...'])
		assert.deepEqual(linkOf(name), { name, crc: 0x1234_5678 }, name);
	// A name, not a way to somewhere else.
	for (const name of ['', '..', '../x', '/etc/passwd', 'a/b'])
		assert.equal(linkOf(name), undefined, name);
	assert.equal(linkOf('abc', crc.subarray(0, 3)), undefined);
	assert.equal(linkOf('x', Buffer.alloc(4096)), undefined);
	assert.equal(elfWith({ name: '.text', data: crc }).debugLink(), undefined);
});

/** Entries of .dynamic. */
function dynamic(...entries: readonly (readonly [tag: number, value: number])[]): SectionSpec {
	const words = BigUint64Array.from(entries.flat(), BigInt);
	return { name: '.dynamic', type: 6, data: new Uint8Array(words.buffer) };
}

test('a program is told from a library, wherever it is mapped', () => {
	const [EXEC, DYN] = [2n, 3n];
	const [FLAGS_1, PIE, NOW] = [0x6fff_fffb, 0x0800_0000, 1];
	const kindOf = (type: bigint, ...sections: readonly SectionSpec[]) => {
		const { isFixed, isProgram } = new Elf(
			new MemoryBytes(elfOf({ sections, header: [[16, 2, type]] })),
		);
		return [isFixed, isProgram];
	};
	assert.deepEqual(kindOf(EXEC), [true, true]);
	assert.deepEqual(kindOf(DYN), [false, false]);
	assert.deepEqual(kindOf(DYN, dynamic([1, PIE], [FLAGS_1, PIE | NOW])), [false, true]);
	assert.deepEqual(kindOf(DYN, dynamic([FLAGS_1, NOW], [5, PIE])), [false, false]);
	assert.deepEqual(kindOf(DYN, dynamic([30, PIE])), [false, false]);
});

test('more sections than the header has numbers for: the first one has these', () => {
	const sections = [
		{ name: '.text', data: Buffer.from('code') },
		{ name: '.data', data: Buffer.from('more') },
	];
	const count = BigInt(sections.length + 2);
	const elf = new Elf(
		new MemoryBytes(
			elfOf({
				sections,
				header: [
					[60, 2, 0n],
					[62, 2, 0xffffn],
				],
				first: [
					[32, 8, count],
					[40, 4, count - 1n],
				],
			}),
		),
	);
	assert.equal(elf.sections.length, Number(count));
	const text = elf.section('.data') ?? assert.fail();
	assert.equal(elf.contents(text).toString(), 'more');
	const nameless: Parameters<typeof elfOf>[0] = { sections, header: [[62, 2, count]] };
	assert.throws(() => new Elf(new MemoryBytes(elfOf(nameless))), {
		message: 'the sections have no names',
	});
});

test('headers of another length are damaged, and no numbers are taken from them', () => {
	const damaged = (at: number) => () =>
		new Elf(
			new MemoryBytes(
				elfOf({ segments: [{ type: 1, address: 0 }], header: [[at, 2, 72n]], sections: [] }),
			),
		);
	assert.throws(damaged(54), { message: 'its program headers are damaged' });
	assert.throws(damaged(58), { message: 'its section headers are damaged' });
});

test('a section whose bytes are not in the file is empty; a text ends with its table', () => {
	const elf = elfWith(
		{ name: '.bss', type: SECTION_TYPE.nobits, offset: 0n, size: 2n ** 40n },
		// The next one begins right behind it.
		{ name: '.strtab', type: 3, data: Buffer.from('\0abcdefghijklmno') },
		{ name: '.behind', data: Buffer.alloc(16, 'x') },
	);
	const [bss, strings] = ['.bss', '.strtab'].map((name) => elf.section(name) ?? assert.fail());
	assert.ok(bss && strings);
	assert.equal(elf.contents(bss).length, 0);
	assert.equal(stringAt(elf, strings, 1, 100), 'abcdefghijklmno');
	assert.equal(stringAt(elf, strings, 1, 2), 'ab');
	assert.throws(() => stringAt(elf, strings, 16, 100), SymbolError);
});
