/** ELF files that were made to do harm; and one that is as it should be, for what is changed in it. */
import { ALLOCATOR_FUNCTIONS } from '../../../src/tools/memleak/heap/allocators.js';
import { type GoSpec, goProgram, goTableOf, TABLE, TEXT } from '../elf/go-writer.js';
import {
	elfOf,
	relocationOf,
	type SectionSpec,
	type SymbolSpec,
	symbolsOf,
} from './elf-builder.js';

const TEXT_AT = 0x10000;
const CODE = 4;
const MIB = 2 ** 20;
const [SYMTAB, STRTAB, RELA, NOTE, DYNSYM] = [2, 3, 4, 7, 11];
const [LOAD, NOTES] = [1, 4];

const NAMES = ALLOCATOR_FUNCTIONS.map(({ name }) => name);

/** Names with a NUL in front and behind each, and where each begins. */
function stringsOf(names: readonly string[]): { bytes: Buffer; at: Map<string, number> } {
	const at = new Map<string, number>();
	let end = 1;
	for (const name of names) {
		at.set(name, end);
		end += name.length + 1;
	}
	return { bytes: Buffer.from(`\0${names.join('\0')}\0`), at };
}

/** An allocator whose functions have so many bytes each, `step` after one another; they may overlap. */
function allocator(
	code: Uint8Array,
	{ size, step = 0 }: { size: number; step?: number },
	further: readonly SectionSpec[] = [],
): Buffer {
	const strings = stringsOf(NAMES);
	const symbols = NAMES.map((name, i): SymbolSpec => {
		return { name: strings.at.get(name) ?? 0, section: 1, address: TEXT_AT + i * step, size };
	});
	return elfOf({
		sections: [
			{ name: '.text', flags: CODE, address: TEXT_AT, data: code },
			{ name: '.symtab', type: SYMTAB, data: symbolsOf(symbols), link: 3 },
			{ name: '.strtab', type: STRTAB, data: strings.bytes },
			...further,
		],
		segments: [{ type: LOAD, address: TEXT_AT, dataOf: 0 }],
	});
}

/** endbr64; push %rbp; mov %rsp,%rbp; test %rdi,%rdi; je; jmp *disp(%rip); pop %rbp; ret */
const FUNCTION = Buffer.alloc(64, 0x90);
Buffer.from('f30f1efa554889e54885ff7406ff25340000005dc3', 'hex').copy(FUNCTION);

/** For .eh_frame_hdr: version and encodings, and the beginnings of functions relative to it. */
function frameHeader(count: number, starts: number, step: number): Buffer {
	const out = Buffer.alloc(12 + starts * 8);
	out.writeUInt32BE(0x011b033b, 0);
	out.writeUInt32LE(count, 8);
	for (let i = 0; i < starts; i++) out.writeInt32LE((i * step) | 0, 12 + i * 8);
	return out;
}

const FRAMES_AT = 0x20000;

const commonFrame = (augmentation: string, ...instructions: number[]): Buffer =>
	frameEntry([
		0,
		0,
		0,
		0,
		1,
		...Buffer.from(`${augmentation}\0`),
		1,
		0x78,
		16,
		1,
		0x1b,
		...instructions,
	]);

function frameEntry(body: readonly number[]): Buffer {
	const out = Buffer.alloc(4 + body.length);
	out.writeUInt32LE(body.length, 0);
	out.set(body, 4);
	return out;
}

/** A function in .eh_frame, `at` behind its beginning; its CIE is the first entry. */
function functionFrame(at: number, start: number, size: number, ...instructions: number[]): Buffer {
	const head = Buffer.alloc(12);
	head.writeUInt32LE(at + 4, 0);
	head.writeInt32LE((start - (FRAMES_AT + at + 8)) | 0, 4);
	head.writeUInt32LE(size >>> 0, 8);
	return frameEntry([...head, 0, ...instructions]);
}

/** def_cfa rsp+8; rip at c-8 */
const AT_ENTRY = [0x0c, 7, 8, 0x90, 1];
/** Of push %rbp; mov %rsp,%rbp; remembered and restored; an expression; a signal's. */
const USUAL = [0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 9, 0x0c, 7, 8, 0x0b];
const EXPRESSIONS = [0x44, 0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0, 0x41, 0x07, 16];

/** Functions of 64 bytes, one after the other. */
function usualFrames(count: number): Buffer {
	const parts = [commonFrame('zR', ...AT_ENTRY)];
	let at = (parts[0] as Buffer).length;
	for (let i = 0; i < count; i++) {
		const part = functionFrame(at, TEXT_AT + i * 64, 60, ...USUAL, ...EXPRESSIONS);
		parts.push(part);
		at += part.length;
	}
	return Buffer.concat(parts);
}

/** Code of `size_bytes` that has these frames. */
function framed(
	frameBytes: Uint8Array,
	size_bytes = 4096,
	further: readonly SectionSpec[] = [],
): Buffer {
	return elfOf({
		sections: [
			{ name: '.text', flags: CODE, address: TEXT_AT, data: Buffer.alloc(size_bytes) },
			{ name: '.eh_frame', address: FRAMES_AT, data: frameBytes },
			...further,
		],
		segments: [{ type: LOAD, flags: 1, address: TEXT_AT, dataOf: 0 }],
	});
}

const INDEX_AT = 0x8000;

/** The same, with an index to its first function. */
function indexed(frameBytes: Uint8Array, size_bytes: number): Buffer {
	const index = frameHeader(1, 1, 0);
	index.writeInt32LE(TEXT_AT - INDEX_AT, 12);
	index.writeInt32LE(FRAMES_AT + commonFrame('zR', ...AT_ENTRY).length - INDEX_AT, 16);
	return framed(frameBytes, size_bytes, [
		{ name: '.eh_frame_hdr', address: INDEX_AT, data: index },
	]);
}

/** A function with these instructions. */
function busyFunction(instructions: Buffer, size: number): Buffer {
	const common = commonFrame('zR', ...AT_ENTRY);
	const head = functionFrame(common.length, TEXT_AT, size);
	head.writeUInt32LE(head.length - 4 + instructions.length, 0);
	return Buffer.concat([common, head, instructions]);
}

/** 24 MiB of the same instructions. */
const overAndOver = (...bytes: number[]): Buffer => Buffer.alloc(24 * MIB, Buffer.from(bytes));

function buildId(): Buffer {
	const note = Buffer.alloc(36, 0x5a);
	note.writeUInt32LE(4, 0);
	note.writeUInt32LE(20, 4);
	note.writeUInt32LE(3, 8);
	note.write('GNU\0', 12, 'latin1');
	return note;
}

/** With something of all that is ever read. */
export function validElf(machine = 62): Buffer {
	const strings = stringsOf([...NAMES, 'versioned@@V_1.0', '_ZN4shop4waitEv']);
	const at = (name: string) => strings.at.get(name) ?? 0;
	const code = Buffer.concat(Array.from({ length: 8 }, () => FUNCTION));
	const own = ['malloc', 'free', '_Znwm', 'versioned@@V_1.0', '_ZN4shop4waitEv'];
	const symbols = own.map((name, i): SymbolSpec => {
		return { name: at(name), section: 1, address: TEXT_AT + i * 64, size: i === 4 ? 0 : 64 };
	});
	const plt = Buffer.alloc(32, 0x90);
	Buffer.from('ff35000000000000', 'hex').copy(plt, 0);
	Buffer.from('f30f1efaff2500000000', 'hex').copy(plt, 16);
	return elfOf({
		machine,
		sections: [
			{ name: '.text', flags: CODE, address: TEXT_AT, data: code },
			{ name: '.plt', flags: CODE, address: TEXT_AT + code.length, data: plt },
			{ name: '.symtab', type: SYMTAB, data: symbolsOf(symbols), link: 5 },
			{ name: '.dynsym', type: DYNSYM, data: symbolsOf(symbols.slice(1)), link: 5 },
			{ name: '.strtab', type: STRTAB, data: strings.bytes },
			{
				name: '.rela.plt',
				type: RELA,
				data: relocationOf(TEXT_AT + code.length + 16 + 10, 1),
				link: 4,
			},
			{ name: '.note.gnu.build-id', type: NOTE, data: buildId() },
			{ name: '.eh_frame_hdr', address: TEXT_AT, data: frameHeader(6, 6, 64) },
			{ name: '.eh_frame', address: FRAMES_AT, data: usualFrames(6) },
			{
				name: '.debug_frame',
				data: Buffer.from('10000000ffffffff03000178100c070890010000', 'hex'),
			},
			{ name: '.gnu_debuglink', data: Buffer.from('x.debug\0\x01\x02\x03\x04', 'latin1') },
			{ name: '.interp', data: Buffer.from('/nonexistent/ld.so\0') },
			{ name: '.gnu_debugdata', data: Buffer.from('fd377a585a000004e6d6b446', 'hex') },
		],
		segments: [
			{ type: LOAD, flags: 1, address: TEXT_AT, dataOf: 0 },
			{ type: NOTES, address: 0, dataOf: 6 },
		],
	});
}

const FULL = 2n ** 64n - 1n;

/** A Go program with functions of all kinds. */
export function validGo(machine = 62, more: Partial<GoSpec> = {}): Buffer {
	const depths = [
		[0, 4],
		[24, 24],
		[0, 4],
	] as const;
	const special = ['goexit', 'mcall', 'systemstack', 'asmcgocall', 'nanotime1', 'sigreturn'];
	const names = ['main.main', ...special.map((name) => `runtime.${name}`), 'main.last'];
	const code = Buffer.from('554889e5498b66384889f4c3', 'hex');
	const functions = names.map((name, i) => ({ name, size: 64, flags: i % 8, depths, code }));
	return goProgram({ machine, functions, ...more });
}

/** So many functions of `size` bytes with the same record: its name and its stack are what is given. */
function manyInGo(count: number, size: number, name: string, depths: Buffer): Buffer {
	const one = goTableOf({ functions: [{ name: 'n', size, flags: 7, depths: [[0, 4]] }] });
	const index = Buffer.alloc((count * 2 + 1) * 4 + 64);
	for (let i = 0; i <= count; i++) {
		index.writeUInt32LE(i * size, i * 8);
		if (i < count) index.writeUInt32LE((count * 2 + 1) * 4, i * 8 + 4);
	}
	// The record: its name and its stack begin where the tables of them do.
	const record = index.subarray((count * 2 + 1) * 4);
	record.writeUInt32LE(1, 16);
	record.writeUInt8(6, 41);
	const header = Buffer.from(one.subarray(0, 72));
	const write = (at: number, value: number) => header.writeBigUInt64LE(BigInt(value), at);
	write(8, count);
	write(32, 72 + index.length);
	write(56, 72 + index.length + name.length - 1);
	write(64, 72);
	const table = Buffer.concat([header, index, Buffer.from(name), depths]);
	return elfOf({
		sections: [
			{ name: '.text', flags: CODE, address: TEXT, data: Buffer.alloc(count * size) },
			{ name: '.gopclntab', address: TABLE, data: table },
		],
		segments: [
			{ type: LOAD, flags: 5, address: TEXT, dataOf: 0 },
			...Array.from({ length: 60_000 }, () => {
				return { type: LOAD, flags: 4, address: TABLE + 2 ** 30, dataOf: 1 };
			}),
			{ type: LOAD, flags: 5, address: TEXT, dataOf: 0 },
		],
	});
}

/** Tables that the header, or another table, lies about. */
export const LIES: Readonly<Record<string, () => Buffer>> = {
	nothing: () => Buffer.alloc(0),
	'a header only': () => validElf().subarray(0, 64),
	'half of it': () => validElf().subarray(0, 700),
	'2^32 sections': () => elfOf({ header: [[60, 2, 0n]], first: [[32, 8, 2n ** 32n]] }),
	'2^64 - 1 sections': () => elfOf({ header: [[60, 2, 0n]], first: [[32, 8, FULL]] }),
	'sections outside the file': () => elfOf({ header: [[40, 8, 2n ** 62n]] }),
	'sections at the very end of what there is': () => elfOf({ header: [[40, 8, FULL]] }),
	'names of sections in a section there is none of': () =>
		elfOf({ header: [[62, 2, 0xffffn]], first: [[40, 4, 0xffffffffn]] }),
	'65,535 segments outside the file': () => elfOf({ header: [[56, 2, 0xffffn]] }),
	'segments at 2^64 - 1': () =>
		elfOf({ segments: [{ type: LOAD, address: 0 }], header: [[32, 8, FULL]] }),
	'headers of no size': () =>
		elfOf({
			header: [
				[54, 2, 0n],
				[58, 2, 0n],
			],
		}),
	'2^32 symbols': () => symbolTable({ size: 24n * 2n ** 32n }),
	'2^64 - 1 bytes of symbols': () => symbolTable({ size: FULL }),
	'symbols from the file\u2019s end on': () => symbolTable({ offset: FULL }),
	'symbols whose names are in themselves': () => symbolTable({ link: 2 }),
	'symbols whose names are nowhere': () => symbolTable({ link: 0xffffffff }),
	'names of symbols outside the file': () => symbolTable({}, { offset: FULL, size: FULL }),
	'a table of names of no size': () => symbolTable({}, { size: 0n }),
	'sections that all have the whole file': overlapping,
	'a frame table that says 2^32 - 1': () => frames(frameHeader(0xffffffff, 100, 64), 1),
	'a frame table that goes backwards': () => frames(frameHeader(100, 100, -64), 1),
	'a frame table that is cut': () => frames(frameHeader(100, 100, 64).subarray(0, 30), 1),
	'an interpreter that is no path': () =>
		elfOf({ sections: [{ name: '.interp', data: Buffer.from('\u001b[31m\n\0/x\0') }] }),
	'functions that are 2 GiB long, and all in the same place': () => {
		const one = commonFrame('zR', ...AT_ENTRY);
		const all: Buffer[] = [];
		for (let i = 0, at = one.length; i < 100; i++) {
			const rows = [0x44, 0x0e, 16, 0x04, 255, 255, 255, 63, 0x0e, 8 * (i % 16)];
			const fn = functionFrame(at, TEXT_AT + (i % 3), 2 ** 31 - 1, ...rows);
			at += fn.length;
			all.push(fn);
		}
		return framed(Buffer.concat([one, ...all]));
	},
	'entries that are their own CIE': () => {
		const one = Buffer.alloc(64, frameEntry([4, 0, 0, 0, 0, 0, 0, 0]));
		return framed(one);
	},
	'a CIE in the middle of another one': () => {
		const common = commonFrame('zR', ...AT_ENTRY);
		const fn = functionFrame(common.length - 4, TEXT_AT, 64, ...USUAL);
		return framed(Buffer.concat([common, fn]));
	},
	'compressed frames that are none': () =>
		elfOf({
			sections: [
				{ name: '.debug_frame', flags: 0x800, data: Buffer.from(`01${'00'.repeat(40)}`, 'hex') },
			],
		}),
	'a Go program of 2^64 - 1 functions': () => validGo(62, { lies: [[8, FULL]] }),
	'a Go program whose names are outside the file': () => validGo(62, { lies: [[32, FULL]] }),
	'a Go program whose stacks are outside the file': () => validGo(62, { lies: [[56, FULL]] }),
	'a Go program whose functions are outside the file': () => validGo(62, { lies: [[64, FULL]] }),
	'a Go program whose functions are its header': () => validGo(62, { lies: [[64, 0n]] }),
	'a Go program whose code is at 2^64 - 1': () => validGo(62, { lies: [[24, FULL]] }),
	'a note that goes round': () => {
		const note = Buffer.alloc(64, 0xff);
		return elfOf({ sections: [{ name: '.note.gnu.build-id', type: NOTE, data: note }] });
	},
};

/** Each is megabytes, and takes hours where work is not bounded. */
export const LABOURS: Readonly<Record<string, () => Buffer>> = {
	'a long table of names without an end': () => {
		const symbols = Array.from({ length: 200_000 }, (_, i): SymbolSpec => {
			return { name: i, section: 1, address: TEXT_AT + i, size: 1 };
		});
		return elfOf({
			sections: [
				{ name: '.text', flags: CODE, address: TEXT_AT, data: Buffer.alloc(64, 0x90) },
				{ name: '.symtab', type: SYMTAB, data: symbolsOf(symbols), link: 3 },
				{ name: '.strtab', type: STRTAB, data: Buffer.alloc(24 * MIB, 'a') },
			],
			segments: [{ type: LOAD, address: TEXT_AT, dataOf: 0 }],
		});
	},
	'many sections, and a long table of their names without an end': () => {
		const sections = Array.from({ length: 90_000 }, () => ({}));
		return elfOf({ sections, names: Buffer.alloc(24 * MIB, 'a') });
	},
	'65,535 segments that all have the same many notes': () =>
		elfOf({
			sections: [{ data: Buffer.alloc(2 ** 16) }],
			segments: Array.from({ length: 65_535 }, () => ({ type: NOTES, address: 0, dataOf: 0 })),
		}),
	'thousands of procedure linkage tables, all in the same place': () => {
		const entry = Buffer.from('ff2500000000909090909090909090cc', 'hex');
		const plt = { name: '.plt', flags: CODE, address: TEXT_AT };
		const relocation = relocationOf(TEXT_AT + 6, 0);
		return elfOf({
			sections: [
				{ ...plt, data: Buffer.alloc(2 * MIB, entry) },
				{ name: '.rela.plt', type: RELA, data: Buffer.alloc(2 * MIB, relocation), link: 3 },
				{ name: '.dynsym', type: DYNSYM, data: symbolsOf([SOMEWHERE]), link: 4 },
				{ name: '.strtab', type: STRTAB, data: Buffer.from('\0name\0') },
				...Array.from({ length: 5000 }, () => ({ ...plt, dataOf: 0 })),
				...Array.from({ length: 5000 }, () => {
					return { name: '.rela.dyn', type: RELA, dataOf: 1, link: 3 };
				}),
			],
			segments: [{ type: LOAD, address: TEXT_AT, dataOf: 0 }],
		});
	},
	'a frame table of millions, for thousands of sections that have none of them': () =>
		frames(frameHeader(0xffffffff, 2_000_000, 64), 40_000),
	'a frame table of millions': () => frames(frameHeader(0xffffffff, 7_000_000, 64), 1, 2 ** 29),
	'an operator new that jumps through thousands of variables': () => {
		// je over the jump; jmp *0(%rip)
		const jumps = Buffer.alloc(2 ** 17, Buffer.from('7406ff2500000000', 'hex'));
		const plt = { name: '.plt', flags: CODE, address: TEXT_AT, dataOf: 0 };
		const relocations = Array.from({ length: 16_384 }, (_, i) =>
			relocationOf(TEXT_AT + 8 * i + 8, 1),
		);
		const rela = { name: '.rela.plt', type: RELA, data: Buffer.concat(relocations), link: 2 };
		return allocator(jumps, { size: 64 }, [plt, rela]);
	},
	'a long way to the first instruction that is emulated, and branches wherever one looks': () => {
		const tests = Buffer.alloc(3 * 80_000, Buffer.from('4885ff', 'hex'));
		const code = Buffer.concat([tests, Buffer.from('7400c3', 'hex'), Buffer.alloc(3 * MIB, 0xe8)]);
		return allocator(code, { size: tests.length + 3 });
	},
	'functions of megabytes': () => {
		const code = Buffer.alloc(24 * MIB, Buffer.from('7400909090', 'hex'));
		Buffer.alloc(500, Buffer.from('4885ff7400', 'hex')).copy(code);
		return allocator(code, { size: code.length - 1000, step: 5 });
	},
};

/** The same, of frames. */
export const FRAME_LABOURS: Readonly<Record<string, () => Buffer>> = {
	'a function with 24 MiB of rows': () =>
		// Each has a byte of code: one row more than a table keeps.
		framed(busyFunction(overAndOver(0x41, 0x0e, 8, 0x41, 0x0e, 16), 2 ** 31 - 1), 9 * MIB),
	'260,000 functions, each of all code': () => {
		const one = commonFrame('zR', ...AT_ENTRY);
		const count = MIB / 4;
		const all = Buffer.alloc(17 * count);
		for (let i = 0, at = 0; i < count; i++, at += 17) {
			all.writeUInt32LE(13, at);
			all.writeUInt32LE(one.length + at + 4, at + 4);
			all.writeInt32LE(TEXT_AT - (FRAMES_AT + one.length + at + 8), at + 8);
			all.writeUInt32LE(2 ** 20, at + 12);
		}
		return framed(Buffer.concat([one, all]), MIB);
	},
	'a function that remembers for ever': () => framed(busyFunction(overAndOver(0x0a), 64)),
	'a function that remembers and restores for ever': () =>
		framed(busyFunction(overAndOver(0x0a, 0x0b, 0x0a, 0x0b), 64)),
	'numbers without an end': () =>
		framed(busyFunction(overAndOver(0x0e, ...Array(255).fill(0x80)), 64)),
	'rules that are all different': () => {
		const rows = Buffer.alloc(5 * MIB);
		for (let i = 0; i < MIB; i++) {
			rows.set([0x41, 0x0e, (i & 127) | 128, ((i >> 7) & 127) | 128, i >> 14], i * 5);
		}
		return framed(busyFunction(rows, 2 ** 26), 2 ** 22);
	},
	'260,000 CIEs': () => {
		const one = commonFrame('zR', ...AT_ENTRY);
		return framed(Buffer.alloc((one.length * MIB) / 4, one));
	},
	'260,000 CIEs whose augmentation has no end': () => {
		const one = frameEntry([0, 0, 0, 0, 1, 1, 1, 1]);
		return framed(Buffer.alloc((one.length * MIB) / 4, one));
	},
	'more than two million functions, from the last one to the first': () => {
		const one = commonFrame('zR', ...AT_ENTRY);
		const count = 2.25 * MIB;
		const all = Buffer.alloc(18 * count);
		for (let i = 0, at = 0; i < count; i++, at += 17) {
			all.writeUInt32LE(13, at);
			all.writeUInt32LE(one.length + at + 4, at + 4);
			all.writeInt32LE(TEXT_AT + count - i - (FRAMES_AT + one.length + at + 8), at + 8);
			all.writeUInt32LE(1, at + 12);
		}
		return framed(Buffer.concat([one, all]), 3 * MIB);
	},
	'65,535 segments of code, of which functions are in the last': () => {
		const frameBytes = usualFrames(200_000);
		return elfOf({
			sections: [
				{ name: '.text', address: TEXT_AT, data: Buffer.alloc(MIB) },
				{ name: '.eh_frame', address: FRAMES_AT, data: frameBytes },
			],
			segments: Array.from({ length: 65_535 }, (_, i) => {
				return { type: LOAD, flags: 1, address: i < 65_534 ? 2 ** 40 + i : TEXT_AT, dataOf: 0 };
			}),
		});
	},
};

/** The same, of frames with an index, and of Go's functions. */
export const INDEXED_LABOURS: Readonly<Record<string, () => Buffer>> = {
	'an index to a function with 24 MiB of rows': () =>
		indexed(busyFunction(overAndOver(0x41, 0x0e, 8, 0x41, 0x0e, 16), 2 ** 31 - 1), 2 ** 20),
	'an index to a function with 64 KiB of rows': () => {
		const rows = Buffer.alloc(65_500, Buffer.from([0x41, 0x0e, 8, 0x41, 0x0e, 16]));
		return indexed(busyFunction(rows, 2 ** 31 - 1), 2 ** 20);
	},
	'130,000 functions of Go, with a name and a stack without an end': () => {
		const stack = Buffer.alloc(2 * MIB, Buffer.from([2, 1, 1, 1]));
		return manyInGo(MIB / 8, 8, `runtime.${'a'.repeat(2 * MIB)}`, stack);
	},
	'130,000 functions of Go that all leave their stack': () => {
		const stack = Buffer.alloc(64, Buffer.from([2, 4, 16, 4, 0]));
		return manyInGo(MIB / 8, 8, 'runtime.mcall\0', stack);
	},
	'the beginnings of millions of tables of Go': () => {
		const begins = Buffer.from('f1ffffff00000108', 'hex');
		return elfOf({
			sections: [
				{ name: '.rodata', address: TABLE, data: Buffer.alloc(24 * MIB, begins) },
				{ name: '.go.buildinfo', data: Buffer.alloc(16) },
			],
			segments: Array.from({ length: 60_000 }, () => {
				return { type: LOAD, flags: 4, address: TABLE, dataOf: 0 };
			}),
		});
	},
};

const SOMEWHERE: SymbolSpec = { name: 1, section: 1, address: TEXT_AT, size: 64 };

function symbolTable(table: SectionSpec, strings: SectionSpec = {}): Buffer {
	return elfOf({
		sections: [
			{
				name: '.symtab',
				type: SYMTAB,
				data: symbolsOf([{ ...SOMEWHERE, section: 3 }]),
				link: 2,
				...table,
			},
			{ name: '.strtab', type: STRTAB, data: Buffer.from('\0malloc\0'), ...strings },
			{ name: '.text', flags: CODE, address: TEXT_AT, data: FUNCTION },
		],
		segments: [{ type: LOAD, address: TEXT_AT, dataOf: 2 }],
	});
}

function overlapping(): Buffer {
	const names = ['.text', '.plt', '.plt.got', '.rela.plt', '.note.gnu.build-id', '.eh_frame_hdr'];
	const all = [...names, '.symtab', '.strtab', '.gnu_debugdata', '.interp', '.gnu_debuglink'];
	const types: Readonly<Record<string, number>> = { '.rela.plt': RELA, '.symtab': SYMTAB };
	const sections = all.map((name): SectionSpec => {
		return {
			name,
			type: types[name] ?? 1,
			flags: CODE,
			address: 0,
			offset: 0n,
			size: 4096n,
			link: 7,
		};
	});
	return elfOf({ sections: [...sections, { data: Buffer.alloc(8192, 'a\0') }] });
}

/** Sections of code so many, of which none is where the functions are said to begin, unless it is one. */
function frames(header: Buffer, sections: number, bytes = FUNCTION.length * 128): Buffer {
	const code: SectionSpec = { name: '.text', flags: CODE, address: sections > 1 ? 2 ** 40 : 0 };
	return elfOf({
		sections: [
			{ name: '.eh_frame_hdr', address: 0, data: header },
			{ ...code, data: Buffer.alloc(FUNCTION.length * 128, FUNCTION), size: BigInt(bytes) },
			...Array.from({ length: sections - 1 }, () => ({ ...code, dataOf: 1 })),
		],
	});
}
