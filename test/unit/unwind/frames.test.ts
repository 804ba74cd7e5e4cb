/** What entries of .eh_frame and .debug_frame say, byte by byte: numbers at their bounds, and damage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { CFA, FP, RA } from '../../../src/unwind/rule.js';
import { ruleAt, unwindTable } from '../../../src/unwind/table.js';
import { elfOf } from '../hostile/elf-builder.js';
import { little, uleb } from './frame-writer.js';

const TEXT_AT = 0x10000;
const SIZE = 64;
/** Near enough for distances of 16 bits; what counts from there to the text is negative. */
const FRAMES_AT = 0x11000;
const HEADER_AT = 0x20000;
const CODE = 5;
const COMPRESSED = 0x800;
/** CFA is rsp + 8, and rip is there at -8. */
const USUAL = [0x0c, 7, 8, 0x90, 1];

const entry = (...body: readonly number[]) => [...little(body.length, 4), ...body];
const letters = (text: string) => [...Buffer.from(`${text}\0`)];
/** Version 1, factors 1 and -8, rip in 16; distances of 32 bits. */
const commonOf = (instructions: readonly number[] = USUAL) =>
	entry(0, 0, 0, 0, 1, ...letters('zR'), 1, 0x78, 16, 1, 0x1b, ...instructions);

/** The only function, whose address and size are so many bytes each. */
function functionOf(at: number, instructions: readonly number[], bytes = 4): number[] {
	const distance = TEXT_AT - (FRAMES_AT + at + 8);
	const place = [...little(distance, bytes), ...little(SIZE, bytes)];
	return entry(...little(at + 4, 4), ...place, 0, ...instructions);
}

function fileOf(
	frames: readonly number[],
	{ name = '.eh_frame', flags = 0, isStripped = false } = {},
): Buffer {
	// .eh_frame is right behind, and the table that it says it has is not looked at.
	const header = Buffer.from([
		1,
		0x1b,
		3,
		0x3b,
		...little(FRAMES_AT - HEADER_AT - 4, 4),
		0,
		0,
		0,
		0,
	]);
	const data = Buffer.from(frames);
	return elfOf({
		sections: [
			{ name: '.text', flags: 4, address: TEXT_AT, data: Buffer.alloc(SIZE) },
			{ name, flags, address: FRAMES_AT, data },
			{ name: '.eh_frame_hdr', address: HEADER_AT, data: header },
		],
		segments: [
			{ type: 1, flags: CODE, address: TEXT_AT, dataOf: 0 },
			{ type: 1, flags: 4, address: FRAMES_AT, dataOf: 1 },
			{ type: name === '.eh_frame' ? 0x6474e550 : 0, address: HEADER_AT, dataOf: 2 },
		],
		header: isStripped ? [[40, 8, 0n]] : [],
	});
}

function tableOf(...of: Parameters<typeof fileOf>) {
	const file = fileOf(...of);
	const table = unwindTable(new MemoryBytes(file));
	const text = Number(file.readBigUInt64LE(64 + 8));
	return { problems: table.problems, at: (distance: number) => ruleAt(table, text + distance) };
}

/** Rules from each byte on, of which each has its own instructions. */
function rulesOf(common: readonly number[], ...each: readonly (readonly number[])[]) {
	const begin = commonOf(common);
	const instructions = each.flatMap((one, i) => (i > 0 ? [0x41, ...one] : [...one]));
	const { problems, at } = tableOf([...begin, ...functionOf(begin.length, instructions)]);
	assert.deepEqual(problems, []);
	return each.map((_, i) => at(i));
}

test('numbers that a rule has no room for: the rule is unknown, and the next one is not', () => {
	const kinds = rulesOf(
		USUAL,
		[0x0e, ...uleb(2 ** 31 - 8)],
		[0x0e, ...uleb(2 ** 31)],
		[0x0e, ...uleb(2 ** 32 + 8)],
		[0x0e, ...uleb(2 ** 40 + 8)],
		[0x0e, 24],
	).map(({ cfa, cfaOffset }) => (cfa === CFA.sp ? cfaOffset : cfa));
	assert.deepEqual(kinds, [2 ** 31 - 8, CFA.unknown, CFA.unknown, CFA.unknown, 24]);
});

test('places of the return address and the frame pointer: 32 KiB around the CFA, and no further', () => {
	const [ra, fp] = [16, 6];
	/** By a number whose factor is -8, and by a signed one. */
	const below = (register: number, eights: number) => [0x05, register, ...uleb(eights)];
	const above = (register: number, hex: string) => [0x11, register, ...Buffer.from(hex, 'hex')];
	const returns = rulesOf(
		USUAL,
		below(ra, 4096),
		below(ra, 4097),
		above(ra, '8160'), // -4095
		above(ra, '8060'), // -4096
		below(ra, 1),
	).map(({ cfa, raOffset }) => (cfa === CFA.sp ? raOffset : cfa));
	assert.deepEqual(returns, [-32_768, CFA.unknown, 32_760, CFA.unknown, -8]);
	const pointers = rulesOf(
		USUAL,
		below(fp, 4096),
		below(fp, 4097),
		above(fp, '8060'),
		below(fp, 2),
	);
	assert.deepEqual(
		pointers.map(({ fp: kind, fpOffset }) => [kind, fpOffset]),
		[
			[FP.atCfa, -32_768],
			[FP.undefined, 0],
			[FP.undefined, 0],
			[FP.atCfa, -16],
		],
	);
});

test('what is restored is as the CIE says it, register by register', () => {
	const common = [...USUAL, 0x86, 2];
	const [changed, pointer, returns, stack] = rulesOf(
		common,
		// rbp has not changed; the return address is undefined; rsp is in another register.
		[0x08, 6, 0x07, 16, 0x09, 7, 3],
		[0xc6],
		[0x06, 16],
		[0xc7],
	);
	assert.equal(changed?.cfa, CFA.end);
	assert.equal(pointer?.cfa, CFA.end);
	assert.equal(returns?.cfa, CFA.unknown);
	assert.deepEqual(
		{ ...stack },
		{
			...{ cfa: CFA.sp, cfaOffset: 8, cfaAddend: 0 },
			...{ fp: FP.atCfa, fpOffset: -16, ra: RA.atCfa, raOffset: -8 },
		},
	);
});

/** What is in memory at a register + offset, below 64, plus addend; written as a block. */
const deref = (register: number, offset: number, addend: number) => [
	...[0x0f, 5, 0x70 + register, offset, 0x06, 0x23, addend],
];

test('a state that is remembered comes back with all of it', () => {
	const [before, meanwhile, after] = rulesOf(
		USUAL,
		deref(7, 24, 8),
		[0x0a, ...deref(6, 16, 32), 0x09, 7, 3],
		[0x0b],
	);
	assert.equal(meanwhile?.cfa, CFA.unknown);
	assert.deepEqual(after, before);
	assert.deepEqual([before?.cfa, before?.cfaOffset, before?.cfaAddend], [CFA.spDeref, 24, 8]);
});

test('glibc’s signal frame is one by all three of its registers', () => {
	/** Of two bytes, as these numbers need. */
	const sleb = (value: number) => [(value & 127) | 128, value >> 7];
	const cfaOf = (sp: number, ip: number, bp: number, addend = 0) => {
		const more = addend > 0 ? [0x23, addend] : [];
		const frame = [
			...[0x0f, 4 + more.length, 0x77, ...sleb(sp), 0x06, ...more],
			...[0x10, 16, 3, 0x77, ...sleb(ip), 0x10, 6, 3, 0x77, ...sleb(bp)],
		];
		return rulesOf(USUAL, frame)[0]?.cfa;
	};
	assert.equal(cfaOf(160, 168, 120), CFA.signal);
	for (const [sp, ip, bp, addend] of [
		[152, 168, 120, 0],
		[160, 176, 120, 0],
		[160, 168, 112, 0],
		[160, 168, 120, 8],
	] as const)
		assert.equal(cfaOf(sp, ip, bp, addend), CFA.unknown, `${sp} ${ip} ${bp} ${addend}`);
});

test('distances of 16 bits have a sign; the number of a register may be longer than it needs', () => {
	const head = [0, 0, 0, 0, 3, ...letters('zRG'), 1, 0x78, 0x90, 0];
	const common = entry(...head, 1, 0x1a, ...USUAL);
	const { problems, at } = tableOf([...common, ...functionOf(common.length, [], 2)]);
	assert.deepEqual(problems, []);
	assert.deepEqual([at(0).cfa, at(SIZE - 1).cfa, at(SIZE).cfa], [CFA.sp, CFA.sp, CFA.gap]);
});

test('a CIE that says what nobody writes is of no use, and that is told', () => {
	const problemsOf = (...body: readonly number[]) => {
		const common = entry(0, 0, 0, 0, ...body);
		return tableOf([...common, ...functionOf(common.length, [])]).problems;
	};
	const augmentation = ['.eh_frame: a CIE has an augmentation that tstrace does not know'];
	// It is shorter than its letters say; functions have no address.
	assert.deepEqual(problemsOf(1, ...letters('zR'), 1, 0x78, 16, 0, 0x1b), augmentation);
	assert.deepEqual(problemsOf(1, ...letters('zR'), 1, 0x78, 16, 1, 0xff), augmentation);
	// Of .debug_frame only.
	assert.deepEqual(problemsOf(4, ...letters('zR'), 8, 0, 1, 0x78, 16, 1, 0x1b), [
		'.eh_frame: a CIE has a version that tstrace does not know',
	]);
});

test('without sections an entry without a length is the end, whatever follows it', () => {
	const common = commonOf();
	const frames = [...common, ...functionOf(common.length, []), 0, 0, 0, 0, ...little(2 ** 30, 8)];
	const { problems, at } = tableOf(frames, { isStripped: true });
	assert.deepEqual(problems, []);
	assert.equal(at(0).cfa, CFA.sp);
});

test('.debug_frame that is compressed: read as it was, or not at all, and why', () => {
	const start = [...little(TEXT_AT, 8), ...little(SIZE, 8)];
	const common = entry(255, 255, 255, 255, 1, 0, 1, 0x78, 16, ...USUAL);
	const frames = Buffer.from([...common, ...entry(0, 0, 0, 0, ...start, 0x41, 0x0e, 16)]);
	const packed = deflateSync(frames);
	const of = (content: Uint8Array, { kind = 1, bytes = frames.length } = {}) => {
		const header = [...little(kind, 4), 0, 0, 0, 0, ...little(bytes, 8), ...little(1, 8)];
		const { problems, at } = tableOf([...header, ...content], {
			name: '.debug_frame',
			flags: COMPRESSED,
		});
		return problems[0] ?? [at(0).cfaOffset, at(1).cfaOffset];
	};
	assert.deepEqual(of(packed), [8, 16]);
	assert.match(
		`${of(packed, { kind: 2 })}`,
		/^\.debug_frame: .* in a way that tstrace cannot read/,
	);
	assert.match(`${of(packed, { bytes: 2 ** 30 })}`, /a part is too large/);
	const damaged = '.debug_frame: what is compressed in it is damaged';
	assert.equal(of(packed.subarray(0, 20)), damaged);
	assert.equal(of(packed, { bytes: frames.length - 1 }), damaged, 'it is longer than it says');
	const cut = tableOf([1, 0, 0, 0], { name: '.debug_frame', flags: COMPRESSED });
	assert.deepEqual(cut.problems, ['.debug_frame: it is cut off']);
});

test('more rules than are kept, and more segments: what has room is there, and that is told', () => {
	const each = Array.from({ length: 5000 }, (_, i) => [0x0e, ...uleb(8 * (i + 1)), 0x41]);
	const common = commonOf();
	const data = Buffer.from([...common, ...functionOf(common.length, each.flat())]);
	data.writeUInt32LE(8000, common.length + 12);
	const build = (segments: number) =>
		elfOf({
			sections: [
				{ name: '.text', flags: 4, address: TEXT_AT, data: Buffer.alloc(8000) },
				{ name: '.eh_frame', address: FRAMES_AT, data },
			],
			segments: Array.from({ length: segments }, () => {
				return { type: 1, flags: CODE, address: TEXT_AT, dataOf: 0 };
			}),
		});
	const file = build(16);
	const table = unwindTable(new MemoryBytes(file));
	assert.deepEqual(table.problems, ['more rules than tstrace keeps']);
	const text = Number(file.readBigUInt64LE(64 + 8));
	const [first, last] = [0, 4999].map((place) => ruleAt(table, text + place));
	assert.deepEqual([first?.cfaOffset, last?.cfa], [8, CFA.unknown]);
	const { problems } = unwindTable(new MemoryBytes(build(17)));
	assert.ok(problems.includes('more segments of code than tstrace keeps'));
});
