/** Rules of the vdso of arm64, which has no table: of one that is written as the kernel's linker script does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { ruleLookup } from '../../../src/unwind/lookup.js';
import { CFA, FP, GAP, RA } from '../../../src/unwind/rule.js';
import { ruleAt, unwindTable } from '../../../src/unwind/table.js';
import { elfOf } from '../hostile/elf-builder.js';

const [X64, ARM64] = [62, 183];
const [NOTYPE, FUNC, GLOBAL] = [0, 2, 0x10];
const TEXT_AT = 0x2d0;
const [LOAD, READ_AND_EXECUTE] = [1, 5];

/** mov x8, #113; svc #0; ret. Then a function with a frame: stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16; ret. */
const WORDS = [
	...[0xd2800e28, 0xd4000001, 0xd65f03c0, 0xd503201f],
	...[0xa9bf7bfd, 0xa8c17bfd, 0xd65f03c0, 0xd503201f],
	// A leaf again; and how a signal's handler returns: mov x8, #139; svc #0.
	...[0x910043e4, 0xd65f03c0],
	...[0xd2801168, 0xd4000001],
];
const LEAVES = [
	[0, 12],
	[32, 40],
] as const;
const LEAF_RULE = { ...GAP, cfa: CFA.sp, fp: FP.same, ra: RA.register };

interface SymbolSpec {
	readonly at: number;
	readonly size: number;
	readonly type?: number;
}

const SYMBOLS: readonly SymbolSpec[] = [
	{ at: 0, size: 12 },
	{ at: 16, size: 12 },
	{ at: 32, size: 8 },
	{ at: 40, size: 8, type: NOTYPE },
];

interface VdsoSpec {
	readonly machine?: number;
	readonly symbols?: readonly SymbolSpec[];
	readonly words?: readonly number[];
	readonly name?: string;
	readonly frames?: Buffer;
}

function vdsoOf(spec: VdsoSpec): Buffer {
	const { machine = ARM64, symbols = SYMBOLS, words = WORDS, name = 'linux-vdso.so.1' } = spec;
	const text = Buffer.alloc(words.length * 4);
	for (const [i, word] of words.entries()) text.writeUInt32LE(word, i * 4);
	const table = Buffer.alloc((symbols.length + 1) * 24);
	for (const [i, { at, size, type = FUNC }] of symbols.entries()) {
		const entry = table.subarray((i + 1) * 24);
		entry.writeUInt8(GLOBAL | type, 4);
		entry.writeUInt16LE(1, 6);
		entry.writeBigUInt64LE(BigInt(TEXT_AT + at), 8);
		entry.writeBigUInt64LE(BigInt(size), 16);
	}
	const frames = spec.frames ? [{ name: '.eh_frame', type: 1, data: spec.frames }] : [];
	return elfOf({
		machine,
		sections: [
			{ name: '.text', type: 1, flags: 6, address: TEXT_AT, data: text },
			{ name: '.dynsym', type: 11, link: 3, data: table },
			{ name: '.dynstr', type: 3, data: Buffer.from(`\0${name}\0`) },
			...frames,
		],
		segments: [{ type: LOAD, flags: READ_AND_EXECUTE, address: TEXT_AT, dataOf: 0 }],
	});
}

/** From where to where rules are, in the code. */
function stretches(spec: VdsoSpec): (readonly [from: number, to: number])[] {
	const bytes = new MemoryBytes(vdsoOf(spec));
	const [table, lookup] = [unwindTable(bytes), ruleLookup(bytes)];
	const text = vdsoOf(spec).readUInt32LE(64 + 8);
	const found: [number, number][] = [];
	const size = (spec.words ?? WORDS).length * 4;
	for (let at = -4; at < size + 4; at++) {
		const rule = ruleAt(table, text + at);
		assert.deepEqual(lookup.ruleAt(text + at), rule);
		if (rule.cfa === CFA.gap) continue;
		assert.deepEqual(rule, LEAF_RULE);
		const last = found.at(-1);
		if (last?.[1] === at) last[1]++;
		else found.push([at, at + 1]);
	}
	return found;
}

test('leaves have a rule; what has a frame, no size, or is no function is a gap', () => {
	assert.deepEqual(stretches({}), LEAVES);
	const reversed = SYMBOLS.toReversed();
	assert.deepEqual(stretches({ symbols: reversed }), LEAVES);
	// The last one ends where the code does.
	assert.deepEqual(stretches({ symbols: SYMBOLS.slice(0, 3), words: WORDS.slice(0, 10) }), LEAVES);
	assert.deepEqual(stretches({ symbols: [{ at: 0, size: 0 }] }), []);
	assert.deepEqual(stretches({ symbols: [{ at: 0, size: 12, type: NOTYPE }] }), []);
});

test('only of the vdso, of arm64, and only if it has no table', () => {
	assert.deepEqual(stretches({ machine: X64 }), []);
	assert.deepEqual(stretches({ name: 'libc.so.6' }), []);
	assert.deepEqual(stretches({ frames: Buffer.alloc(4) }), []);
});

test('symbols that are wrong cost their own rules only', () => {
	const wrong = [
		{ at: 1, size: 11 },
		{ at: 8, size: 2 ** 40 },
		{ at: 8, size: 44 },
		{ at: -8, size: 20 },
		{ at: -TEXT_AT, size: 4 },
		{ at: 4096, size: 4 },
	];
	assert.deepEqual(stretches({ symbols: [...wrong, ...SYMBOLS] }), LEAVES);
	// Halves of two instructions are none.
	const [symbols, words] = [[{ at: 2, size: 4 }], [0x03c0201f, 0xd503d65f]];
	assert.deepEqual(stretches({ symbols, words }), []);
});

test('many functions, or much code: no more is looked at than a vdso has', () => {
	const many = Array.from({ length: 100 }, (_, i) => ({ at: i * 4, size: 4 }));
	const words = Array<number>(100).fill(0xd65f03c0);
	assert.deepEqual(stretches({ symbols: many, words }), [[0, 256]]);
});

test('a damaged vdso costs what is damaged', () => {
	const whole = vdsoOf({});
	const place = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
	fc.assert(
		fc.property(fc.array(place, { maxLength: 4 }), fc.nat(whole.length), (places, length) => {
			const bytes = Buffer.from(whole);
			for (const [at, value] of places) bytes[at] = value;
			unwindTable(new MemoryBytes(bytes));
			const { rows, problems } = unwindTable(new MemoryBytes(bytes.subarray(0, length)));
			assert.ok(rows.addresses.length <= 2 * SYMBOLS.length && problems.length <= 8);
		}),
		{ numRuns: 1000 },
	);
});
