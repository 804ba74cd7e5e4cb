/** Entries of procedure linkage tables, as linkers of both architectures write them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes, SymbolError } from '../../../../src/elf/bytes.js';
import { Elf, MACHINE, SECTION_TYPE } from '../../../../src/elf/elf.js';
import { pltNames } from '../../../../src/symbolize/symbols/plt.js';
import { elfOf, type SectionSpec, symbolsOf } from '../../hostile/elf-builder.js';

const PLT = 0x1000;
/** Of the slots, whose entries are in the order of these names. */
const GOT = 0x4000;
const NAMES = ['first', 'second', 'third'];
const slotAt = (i: number) => GOT + 8 * i;

const [GLOB_DAT, JUMP_SLOT, RELATIVE] = [6, 7, 8];

interface Table {
	readonly section?: string;
	readonly machine?: number;
	readonly code: Buffer;
	/** What kind the relocations are. */
	readonly kind?: number;
	readonly relocations?: string;
	readonly more?: readonly SectionSpec[];
	readonly symbolOf?: (i: number) => number;
}

/** A file with one table, and relocations that say which slot is whose. */
function fileWith(table: Table): Elf {
	const { section = '.plt', machine = MACHINE.x64, code, kind = JUMP_SLOT, more = [] } = table;
	const { relocations = '.rela.plt', symbolOf = (i) => i + 1 } = table;
	const strings = Buffer.from(`\0${NAMES.join('\0')}\0`);
	const nameAt = (name: string) => strings.indexOf(`${name}\0`);
	const symbols = ['', ...NAMES].map((name) => {
		return { name: name === '' ? 0 : nameAt(name), section: 0, address: 0, size: 0 };
	});
	const rela = Buffer.alloc(24 * NAMES.length);
	for (const i of NAMES.keys()) {
		rela.writeBigUInt64LE(BigInt(slotAt(i)), 24 * i);
		rela.writeUInt32LE(kind, 24 * i + 8);
		rela.writeUInt32LE(symbolOf(i), 24 * i + 12);
	}
	const file = elfOf({
		machine,
		sections: [
			{ name: '.dynsym', type: SECTION_TYPE.dynsym, data: symbolsOf(symbols), link: 2 },
			{ name: '.dynstr', type: 3, data: strings },
			{ name: relocations, type: SECTION_TYPE.rela, data: rela, link: 1 },
			{ name: section, flags: 6, address: PLT, data: code },
			...more,
		],
	});
	return new Elf(new MemoryBytes(file));
}

/** What is found at each of these distances from the table's beginning. */
function namesAt(elf: Elf, ...distances: number[]): (string | undefined)[] {
	const names = pltNames(
		elf,
		distances.map((distance) => PLT + distance),
	);
	return distances.map((distance) => names.get(PLT + distance));
}

const bytes = (...hex: string[]) => Buffer.from(hex.join('').replaceAll(' ', ''), 'hex');
/** jmp *slot(%rip), which ends `end` bytes behind the table's beginning. */
function jump(slot: number, end: number): Buffer {
	const code = Buffer.from([0xff, 0x25, 0, 0, 0, 0]);
	code.writeInt32LE(slot - (PLT + end), 2);
	return code;
}

const LAZY_STUB = bytes('ff35 00300000', 'ff25 00300000', '0f1f4000');
/** jmp *slot; push $n; jmp to the stub. */
const lazy = (i: number) =>
	Buffer.concat([jump(slotAt(i), 16 + 16 * i + 6), bytes('68 00000000', 'e9 00000000')]);

test('x86-64, lazy: entries of 16 bytes behind the stub, which is none itself', () => {
	const elf = fileWith({ code: Buffer.concat([LAZY_STUB, ...NAMES.map((_, i) => lazy(i))]) });
	assert.deepEqual(namesAt(elf, 0, 6, 15), [undefined, undefined, undefined]);
	assert.deepEqual(namesAt(elf, 16, 22, 31, 32, 47, 63), [
		'first@plt',
		'first@plt',
		'first@plt',
		'second@plt',
		'second@plt',
		'third@plt',
	]);
	assert.deepEqual(namesAt(elf, -1, 64), [undefined, undefined]);
});

test('x86-64 with IBT: endbr64 is in front of the jump, in .plt.sec and in .plt.got', () => {
	const code = Buffer.concat(
		NAMES.map((_, i) =>
			Buffer.concat([bytes('f30f1efa'), jump(slotAt(i), 16 * i + 10), bytes('660f1f440000')]),
		),
	);
	for (const section of ['.plt.sec', '.plt.got']) {
		const elf = fileWith({ section, code });
		assert.deepEqual(namesAt(elf, 0, 15, 16, 47), [
			'first@plt',
			'first@plt',
			'second@plt',
			'third@plt',
		]);
	}
});

test('x86-64, .plt.got without IBT: entries of 8 bytes; each of 16 in any other table', () => {
	const entry = (i: number) => Buffer.concat([jump(slotAt(i), 8 * i + 6), bytes('6690')]);
	const code = Buffer.concat(NAMES.map((_, i) => entry(i)));
	const small = fileWith({ section: '.plt.got', code, kind: GLOB_DAT, relocations: '.rela.dyn' });
	assert.deepEqual(namesAt(small, 0, 7, 8, 15, 16, 23), [
		'first@plt',
		'first@plt',
		'second@plt',
		'second@plt',
		'third@plt',
		'third@plt',
	]);
	// A linker's table without a stub, padded.
	const padded = Buffer.concat(
		NAMES.map((_, i) => Buffer.concat([jump(slotAt(i), 16 * i + 6), Buffer.alloc(10, 0xcc)])),
	);
	assert.deepEqual(namesAt(fileWith({ code: padded }), 0, 8, 15, 16, 40), [
		'first@plt',
		'first@plt',
		'first@plt',
		'second@plt',
		'third@plt',
	]);
});

/** adrp x16, page of `slot`; ldr x17, [x16, #offset]; add x16, …; br x17; `at`: of the adrp, from the beginning. */
function entryArm64(slot: number, at: number): Buffer {
	const code = bytes('00000000', '110240f9', '10020091', '20021fd6');
	const pages = Math.floor(slot / 4096) - Math.floor((PLT + at) / 4096);
	const adrp = 0x90000010 | ((pages & 3) << 29) | (((pages >> 2) & 0x7ffff) << 5);
	code.writeUInt32LE(adrp >>> 0, 0);
	code.writeUInt32LE((0xf9400211 | (((slot % 4096) / 8) << 10)) >>> 0, 4);
	return code;
}

test('arm64: an entry begins at its adrp, or at a bti in front; the stub is none', () => {
	const [BTI, STP] = [bytes('5f2403d5'), bytes('f07bbfa9')];
	const stub = Buffer.concat([STP, entryArm64(slotAt(2), 4), bytes('1f2003d5 1f2003d5 1f2003d5')]);
	const plain = Buffer.concat([stub, entryArm64(slotAt(0), 32), entryArm64(slotAt(1), 48)]);
	const elf = fileWith({ machine: MACHINE.arm64, code: plain, kind: 1026 });
	assert.deepEqual(namesAt(elf, 0, 4, 28, 32, 44, 48, 60), [
		undefined,
		undefined,
		undefined,
		'first@plt',
		'first@plt',
		'second@plt',
		'second@plt',
	]);
	const marked = Buffer.concat([BTI, entryArm64(slotAt(0), 4), BTI, entryArm64(slotAt(1), 24)]);
	const withBti = fileWith({ machine: MACHINE.arm64, code: marked, kind: 1025 });
	assert.deepEqual(namesAt(withBti, 0, 4, 16, 20, 24), [
		'first@plt',
		'first@plt',
		'first@plt',
		'second@plt',
		'second@plt',
	]);
	const other = fileWith({ machine: 40, code: marked });
	assert.deepEqual(namesAt(other, 0, 4), [undefined, undefined]);
});

test('arm64: what loads from x16 is an entry only behind the adrp that has set it', () => {
	const [entry, nop] = [entryArm64(slotAt(0), 0), bytes('1f2003d5')];
	const namesOf = (first: Buffer) =>
		namesAt(
			fileWith({ machine: MACHINE.arm64, code: Buffer.concat([first, entry.subarray(4)]) }),
			0,
		);
	assert.deepEqual(namesOf(entry.subarray(0, 4)), ['first@plt']);
	assert.deepEqual(namesOf(nop), [undefined]);
	// adr x16; adrp x17
	const [adr, other] = [Buffer.from(entry), Buffer.from(entry)];
	adr.writeUInt8(adr.readUInt8(3) & 0x7f, 3);
	other.writeUInt8(other.readUInt8(0) | 1, 0);
	assert.deepEqual(
		[namesOf(adr.subarray(0, 4)), namesOf(other.subarray(0, 4))],
		[[undefined], [undefined]],
	);
});

test('arm64: slots in front of the table, and far behind it', () => {
	const elf = (slot: number) => {
		const at = (slot - GOT) / 8;
		assert.ok(Number.isInteger(at));
		return fileWith({ machine: MACHINE.arm64, code: entryArm64(slot, 0) });
	};
	assert.deepEqual(namesAt(elf(slotAt(1)), 0), ['second@plt']);
	// Nobody's slot; but the same number of pages the other way would be the first one's.
	assert.deepEqual(namesAt(elf(2 * PLT - GOT + 0x2000), 0), [undefined]);
});

test('only relocations of slots name them, the first of two; only tables of that name are looked at', () => {
	const code = Buffer.concat([LAZY_STUB, ...NAMES.map((_, i) => lazy(i))]);
	assert.deepEqual(namesAt(fileWith({ code, kind: GLOB_DAT }), 16), ['first@plt']);
	assert.deepEqual(namesAt(fileWith({ code, kind: RELATIVE }), 16), [undefined]);
	assert.deepEqual(namesAt(fileWith({ code, relocations: '.rela.text' }), 16), [undefined]);
	assert.deepEqual(namesAt(fileWith({ section: '.text', code }), 16), [undefined]);
	assert.deepEqual(namesAt(fileWith({ code, symbolOf: () => 0 }), 16), [undefined]);
	const twice = fileWith({
		code,
		more: [{ name: '.rela.dyn', type: SECTION_TYPE.rela, dataOf: 2, link: 1 }],
	});
	assert.deepEqual(namesAt(twice, 16, 32), ['first@plt', 'second@plt']);
});

test('padding is no entry, and a table that is cut off ends with the last whole one', () => {
	const code = Buffer.concat([LAZY_STUB, lazy(0), Buffer.alloc(16, 0xcc), lazy(2)]);
	const third = code.length - 16;
	jump(slotAt(1), third + 6).copy(code, third);
	assert.deepEqual(namesAt(fileWith({ code }), 16, 32, 47, 48), [
		'first@plt',
		'first@plt',
		'first@plt',
		'second@plt',
	]);
	for (let length = 0; length < 16 + 16; length++) {
		const cut = fileWith({ code: Buffer.concat([LAZY_STUB, lazy(0)]).subarray(0, length) });
		assert.deepEqual(namesAt(cut, 16), [length >= 22 ? 'first@plt' : undefined], `${length}`);
	}
});

test('a relocation whose symbol is not there is damage', () => {
	const code = Buffer.concat([LAZY_STUB, ...NAMES.map((_, i) => lazy(i))]);
	const last = fileWith({ code, symbolOf: () => NAMES.length });
	assert.deepEqual(namesAt(last, 16), ['third@plt']);
	const beyond = fileWith({ code, symbolOf: () => NAMES.length + 1 });
	assert.throws(() => namesAt(beyond, 16), SymbolError);
	// Nobody asks for what it would say.
	assert.deepEqual(namesAt(beyond, 0), [undefined]);
});
