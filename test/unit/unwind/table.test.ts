/** Tables of files that the test writes itself, so that it knows each rule. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { CFA, FP, RA, type UnwindRule } from '../../../src/unwind/rule.js';
import {
	ruleAt,
	TableWorkspace,
	type UnwindTable,
	unwindTable,
} from '../../../src/unwind/table.js';
import { elfOf } from '../hostile/elf-builder.js';
import {
	type CfaPlace,
	little,
	type Place,
	type Stretch,
	type Writing,
	type WrittenFunction,
	writeFrames,
} from './frame-writer.js';

const TEXT_AT = 0x10000;
const DATA_AT = 0x8000;
const FRAMES_AT = 0x40000;
const CODE = 5;
const [X64, ARM64] = [62, 183];
const LOAD = 1;
const EH_FRAME_HEADER = 0x6474e550;
const UNKNOWN: Partial<UnwindRule> = { cfa: CFA.unknown };

const eights = (min: number, max: number) => fc.integer({ min, max }).map((n) => n * 8);
const place: fc.Arbitrary<Place> = fc.oneof(
	{ weight: 2, arbitrary: fc.constant<Place>({ at: 'same' }) },
	{ weight: 6, arbitrary: fc.record({ at: fc.constant('cfa' as const), offset: eights(-400, 3) }) },
	fc.record({ at: fc.constantFrom('fp' as const, 'sp' as const), offset: eights(-9, 9) }),
	fc.constantFrom<Place[]>({ at: 'undefined' }, { at: 'elsewhere' }),
);
const cfaPlace: fc.Arbitrary<CfaPlace> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			of: fc.constantFrom('sp' as const, 'fp' as const),
			offset: fc.oneof(eights(-5, 100), eights(0, 2 ** 26)),
		}),
	},
	fc.record({ of: fc.constant('another' as const), offset: eights(0, 10) }),
	fc.record({
		of: fc.constantFrom('*sp' as const, '*fp' as const),
		offset: eights(-100, 100),
		addend: fc.constantFrom(0, 8, 56, 248, 256),
	}),
	fc.record({ of: fc.constant('plt' as const), offset: fc.nat(15) }),
	fc.constant<CfaPlace>({ of: 'nobody knows' }),
);
const stretch = (step: number): fc.Arbitrary<Stretch> =>
	fc.record({
		bytes: fc
			.oneof(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 700 }))
			.map((n) => n * step),
		cfa: cfaPlace,
		fp: place,
		ra: fc.oneof({ weight: 3, arbitrary: fc.constant<Place>({ at: 'cfa', offset: -8 }) }, place),
		movesSp: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
		how: fc.nat(2 ** 18),
	});

interface Program {
	readonly writing: Writing;
	/** In the order in which they are written. */
	readonly functions: readonly WrittenFunction[];
	/** The sections' headers are gone; the program headers know .eh_frame_hdr. */
	readonly isStripped: boolean;
}

const program: fc.Arbitrary<Program> = fc
	.record({
		isArm64: fc.boolean(),
		isDebug: fc.boolean(),
		newer: fc.boolean(),
		encoding: fc.constantFrom(0, 0x03, 0x04, 0x01, 0x09, 0x0b, 0x1b, 0x1c, 0x33, 0x3b, 0x50),
		hasLongLengths: fc.boolean(),
		augmentation: fc.constantFrom(
			'' as const,
			'zR' as const,
			'zPLR' as const,
			'zRB' as const,
			'zRS' as const,
		),
		isStripped: fc.boolean(),
	})
	.chain(({ isStripped, newer, ...choice }) => {
		const { isArm64, isDebug } = choice;
		const encoding = isDebug || choice.augmentation === '' ? 0 : choice.encoding;
		const writing: Writing = {
			...choice,
			encoding,
			augmentation: isDebug ? '' : choice.augmentation,
			version: isDebug ? (newer ? 4 : 3) : newer ? 3 : 1,
			codeFactor: isArm64 ? 4 : 1,
			sectionAddress: isDebug ? 0 : FRAMES_AT,
			dataAddress: DATA_AT,
		};
		const step = writing.codeFactor;
		const some = fc.array(stretch(step), { minLength: 1, maxLength: 6 });
		const fn = fc.record({ gap: fc.oneof(fc.constant(0), fc.nat(20)), stretches: some });
		return fc
			.array(fn, { minLength: 1, maxLength: 6 })
			.map((list) => placed(list, step))
			.chain((list) => fc.shuffledSubarray(list, { minLength: list.length }))
			.map((functions) => {
				return {
					writing,
					functions,
					isStripped: isStripped && !isDebug && (encoding & 0x70) !== 0x30,
				};
			});
	});

/** One after the other, with gaps. */
function placed(list: readonly { gap: number; stretches: readonly Stretch[] }[], step: number) {
	let at = TEXT_AT;
	return list.map(({ gap, stretches }): WrittenFunction => {
		const start = at + gap * step;
		at = start + stretches.reduce((sum, { bytes }) => sum + bytes, 0);
		return { start, stretches };
	});
}

/** Room for all functions of a program, each of six stretches of 2,800 bytes, with gaps. */
const TEXT = Buffer.alloc(0x20000);

function fileOf({ writing, functions, isStripped }: Program): Buffer {
	const frames = writeFrames(functions, writing);
	const header = Buffer.alloc(12);
	header.writeUInt32BE(0x011b033b, 0);
	header.writeInt32LE(FRAMES_AT - (FRAMES_AT - 0x1000 + 4), 4);
	return elfOf({
		machine: writing.isArm64 ? ARM64 : X64,
		sections: [
			{ name: '.text', flags: 6, address: TEXT_AT, data: TEXT },
			{
				name: writing.isDebug ? '.debug_frame' : '.eh_frame',
				address: writing.sectionAddress,
				data: frames,
			},
			{ name: '.got.plt', address: writing.isArm64 ? 0 : DATA_AT, data: Buffer.alloc(8) },
			{ name: '.got', address: writing.isArm64 ? DATA_AT : 0, data: Buffer.alloc(8) },
			{ name: '.eh_frame_hdr', address: FRAMES_AT - 0x1000, data: header },
		],
		segments: [
			{ type: LOAD, flags: CODE, address: TEXT_AT, dataOf: 0 },
			{ type: LOAD, flags: 4, address: FRAMES_AT, dataOf: 1 },
			{ type: writing.isDebug ? 0 : EH_FRAME_HEADER, address: FRAMES_AT - 0x1000, dataOf: 4 },
		],
		header: isStripped ? [[40, 8, 0n]] : [],
	});
}

/** Where the text is in the file: its program header says so. */
const textOffset = (file: Buffer) => Number(file.readBigUInt64LE(64 + 8));

/** The rule that says what a stretch says. */
function ruleOf(stretch: Stretch, { isArm64, augmentation }: Writing): Partial<UnwindRule> {
	const { cfa, fp, ra, movesSp } = stretch;
	if (ra.at === 'undefined') return { cfa: CFA.end };
	// No compiler writes other signal frames than those that are recognised.
	if (movesSp || augmentation === 'zRS') return UNKNOWN;
	const isLink = ra.at === 'same' && isArm64;
	if (ra.at !== 'cfa' && !isLink) return UNKNOWN;
	if (cfa.of === 'another' || cfa.of === 'nobody knows') return UNKNOWN;
	if (cfa.of === 'plt' && isArm64) return UNKNOWN;
	const addend = 'addend' in cfa ? cfa.addend : 0;
	if (addend > 255) return UNKNOWN;
	const kinds = { sp: CFA.sp, fp: CFA.fp, '*sp': CFA.spDeref, '*fp': CFA.fpDeref, plt: CFA.plt };
	return {
		cfa: kinds[cfa.of],
		cfaOffset: cfa.offset,
		cfaAddend: addend,
		...pointerOf(fp, cfa),
		ra: isLink ? RA.register : RA.atCfa,
		raOffset: 'offset' in ra ? ra.offset : 0,
	};
}

function pointerOf(fp: Place, cfa: CfaPlace): Partial<UnwindRule> {
	if (fp.at === 'same') return { fp: FP.same, fpOffset: 0 };
	if (fp.at === 'cfa') return { fp: FP.atCfa, fpOffset: fp.offset };
	if (fp.at === 'fp') return { fp: FP.atFp, fpOffset: fp.offset };
	// What counts from sp does so from the CFA, too, where that is sp and a number.
	const offset = fp.at === 'sp' && cfa.of === 'sp' ? fp.offset - cfa.offset : Number.NaN;
	if (offset >= -0x8000 && offset <= 0x7fff) return { fp: FP.atCfa, fpOffset: offset };
	return { fp: FP.undefined, fpOffset: 0 };
}

function assertRule(table: UnwindTable, offset: number, expected: Partial<UnwindRule>): void {
	const rule = ruleAt(table, offset);
	// Most are equal: what differs is only written out then.
	const keys = Object.keys(expected) as (keyof UnwindRule)[];
	if (keys.every((key) => rule[key] === expected[key])) return;
	assert.deepEqual({ ...rule, ...expected }, rule, `at ${offset.toString(16)}`);
}

test('each byte of each function has the rule that was written for it, all others none', () => {
	// One after the other in the same memory.
	const workspace = new TableWorkspace();
	fc.assert(
		fc.property(program, (each) => {
			const file = fileOf(each);
			const table = unwindTable(new MemoryBytes(file), workspace);
			assert.deepEqual(table.problems, []);
			const toFile = textOffset(file) - TEXT_AT;
			const sorted = each.functions.toSorted((a, b) => a.start - b.start);
			let at = TEXT_AT;
			for (const { start, stretches } of sorted) {
				for (; at < start; at++) assertRule(table, at + toFile, { cfa: CFA.gap });
				for (const one of stretches) {
					const expected = ruleOf(one, each.writing);
					for (const end = at + one.bytes; at < end; at++) assertRule(table, at + toFile, expected);
				}
			}
			assertRule(table, at + toFile, { cfa: CFA.gap });
			assertRule(table, TEXT_AT + toFile - 1, { cfa: CFA.gap });
			const { addresses, rules } = table.rows;
			assert.ok(addresses.every((address, i) => i === 0 || address > (addresses[i - 1] as number)));
			assert.ok(
				rules.every((rule, i) => rule !== (i === 0 ? 0 : rules[i - 1])),
				'no row repeats',
			);
		}),
		{ numRuns: 300 },
	);
});

const common: Writing = {
	isArm64: false,
	isDebug: false,
	version: 1,
	encoding: 0x1b,
	hasLongLengths: false,
	augmentation: 'zR',
	codeFactor: 1,
	sectionAddress: FRAMES_AT,
	dataAddress: DATA_AT,
};

/** A function of one rule: CFA is sp + `offset`. */
function simple(start: number, bytes: number, offset: number): WrittenFunction {
	const cfa: CfaPlace = { of: 'sp', offset };
	return {
		start,
		stretches: [
			{ bytes, cfa, fp: { at: 'same' }, ra: { at: 'cfa', offset: -8 }, movesSp: false, how: 0 },
		],
	};
}

const build = (functions: readonly WrittenFunction[], writing = common) =>
	fileOf({ writing, functions, isStripped: false });

/** The CFA's offsets at these distances from the beginning of the text; -1 in a gap. */
function offsetsAt(file: Buffer, ...distances: number[]): number[] {
	const table = unwindTable(new MemoryBytes(file));
	return distances.map((distance) => {
		const { cfa, cfaOffset } = ruleAt(table, textOffset(file) + distance);
		return cfa === CFA.gap ? -1 : cfaOffset;
	});
}

test('of functions that overlap the later one has what they share, whatever their order', () => {
	const outer = simple(TEXT_AT, 100, 8);
	const inner = simple(TEXT_AT + 40, 20, 16);
	const twin = simple(TEXT_AT + 40, 30, 24);
	for (const list of [
		[outer, inner],
		[inner, outer],
	]) {
		assert.deepEqual(offsetsAt(build(list), 0, 39, 40, 59, 60, 99), [8, 8, 16, 16, -1, -1]);
	}
	// Of two that begin at the same place, the first in the section.
	assert.deepEqual(offsetsAt(build([inner, outer, twin]), 39, 40, 59, 60), [8, 16, 16, -1]);
	assert.deepEqual(offsetsAt(build([twin, outer, inner]), 39, 40, 69, 70), [8, 24, 24, -1]);
});

test('functions outside the code are left out, and end where it ends', () => {
	const file = build([
		simple(0, 100, 8),
		simple(FRAMES_AT, 8, 8),
		simple(TEXT_AT + TEXT.length - 16, 0x100, 8),
	]);
	const { rows, problems } = unwindTable(new MemoryBytes(file));
	const from = textOffset(file) + TEXT.length - 16;
	assert.deepEqual([...rows.addresses], [from, from + 16]);
	assert.deepEqual(problems, []);
});

test('what is damaged is said, and costs only itself', () => {
	const functions = [simple(TEXT_AT, 16, 8), simple(TEXT_AT + 16, 16, 16)];
	const file = build(functions);
	const framesAt = Number(file.readBigUInt64LE(64 + 56 + 8));
	/** Where the instructions of the second function begin; each entry has its length in front. */
	const first = framesAt + 4 + file.readUInt32LE(framesAt);
	const second = first + 4 + file.readUInt32LE(first);
	const changed = (at: number, ...bytes: number[]) => {
		const copy = Buffer.from(file);
		copy.set(bytes, at);
		return copy;
	};
	const problemsOf = (bytes: Buffer) => unwindTable(new MemoryBytes(bytes)).problems;
	const restores = changed(second + 17, 0x0b);
	assert.deepEqual(problemsOf(restores), ['the instructions of a function are damaged']);
	assert.deepEqual(offsetsAt(restores, 0, 32), [8, -1]);
	const table = unwindTable(new MemoryBytes(restores));
	assert.equal(ruleAt(table, textOffset(file) + 16).cfa, CFA.unknown);
	const long = changed(second, 0, 0, 0, 1);
	assert.deepEqual(problemsOf(long), ['.eh_frame: an entry is longer than the section']);
	assert.deepEqual(offsetsAt(long, 0, 16), [8, -1]);
	const lost = changed(second + 4, 1);
	assert.deepEqual(problemsOf(lost), ['.eh_frame: a function has no CIE in front of it']);
	const newer = changed(framesAt + 8, 9);
	assert.deepEqual(problemsOf(newer), [
		'.eh_frame: a CIE has a version that tstrace does not know',
	]);
	const indirect = changed(framesAt + 16, 0x9b);
	assert.deepEqual(problemsOf(indirect), ['.eh_frame: a function has no address']);
	assert.deepEqual(problemsOf(changed(4, 1)), ['not 64-bit little-endian ELF']);
	assert.deepEqual(problemsOf(changed(18, 8)), ['code for another processor']);
	assert.deepEqual(problemsOf(Buffer.alloc(3)), ['a part lies outside the file']);
});

test('signal frames: glibc\u2019s on x86-64, the older vdso\u2019s on arm64', () => {
	const functionOf = (stretch: Omit<Stretch, 'bytes' | 'movesSp' | 'how'>, writing: Writing) => {
		const stretches = [{ ...stretch, bytes: 9, movesSp: false, how: 0 }];
		const file = build([{ start: TEXT_AT, stretches }], writing);
		return ruleAt(unwindTable(new MemoryBytes(file)), textOffset(file)).cfa;
	};
	const arm64: Writing = { ...common, isArm64: true, augmentation: 'zRS' };
	const record: Pick<Stretch, 'fp' | 'ra'> = {
		fp: { at: 'cfa', offset: 0 },
		ra: { at: 'cfa', offset: 8 },
	};
	assert.equal(functionOf({ cfa: { of: 'fp', offset: 0 }, ...record }, arm64), CFA.signal);
	assert.equal(functionOf({ cfa: { of: 'fp', offset: 8 }, ...record }, arm64), CFA.unknown);
	assert.equal(
		functionOf({ cfa: { of: 'fp', offset: 0 }, ...record }, { ...arm64, augmentation: 'zR' }),
		CFA.fp,
	);
	const x64 = { ...common, augmentation: 'zRS' as const };
	const saved = (sp: number): Omit<Stretch, 'bytes' | 'movesSp' | 'how'> => ({
		cfa: { of: '*sp', offset: sp, addend: 0 },
		fp: { at: 'sp', offset: 120 },
		ra: { at: 'sp', offset: 168 },
	});
	assert.equal(functionOf(saved(160), x64), CFA.signal);
	assert.equal(functionOf(saved(168), x64), CFA.unknown);
});

test('a function that names a CIE behind it costs only itself', () => {
	const entry = (...body: number[]) => [...little(body.length, 4), ...body];
	/** CFA is rsp + 8. */
	const commonEntry = entry(255, 255, 255, 255, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1);
	const functionAt = (start: number, commonAt: number) =>
		entry(...little(commonAt, 4), ...little(start, 8), ...little(16, 8));
	const commonAt = functionAt(0, 0).length;
	const frames = [
		...functionAt(TEXT_AT, commonAt),
		...commonEntry,
		...functionAt(TEXT_AT + 16, commonAt),
	];
	const file = elfOf({
		sections: [
			{ name: '.text', flags: 4, address: TEXT_AT, data: Buffer.alloc(64) },
			{ name: '.debug_frame', data: Buffer.from(frames) },
		],
		segments: [{ type: LOAD, flags: CODE, address: TEXT_AT, dataOf: 0 }],
	});
	const table = unwindTable(new MemoryBytes(file));
	const at = 64 + 56 + 8;
	const rules = [at, at + 16].map((place) => ruleAt(table, place));
	assert.deepEqual(
		rules.map(({ cfa, cfaOffset }) => [cfa, cfaOffset]),
		[
			[CFA.gap, 0],
			[CFA.sp, 8],
		],
	);
	assert.deepEqual(table.problems, ['.debug_frame: a function has no CIE in front of it']);
});

test('of much that is damaged eight things are said, each once', () => {
	const entry = (...body: number[]) => [...little(body.length, 4), ...body];
	const damaged = (id: number) => [
		...entry(...little(id, 4), 9),
		...entry(...little(id, 4), 1, 0, 1, 0x78, 15),
		...entry(...little(id, 4), 1, 0x61, 0, 1, 0x78, 16),
		...entry(...little(id, 4), 9),
		...entry(...little(id, 4), 1, 0, 1, 0x78, 16, 0x3f),
		...entry(...little(id, 4), 1, ...Array(20).fill(0x61)),
		...entry(...little(0x7777, 4), ...little(0, 16)),
		...little(0x1000, 4),
	];
	const file = elfOf({
		sections: [
			{ name: '.text', flags: 4, address: TEXT_AT, data: Buffer.alloc(64) },
			{ name: '.eh_frame', address: FRAMES_AT, data: Buffer.from(damaged(0)) },
			{ name: '.debug_frame', data: Buffer.from(damaged(0xffffffff)) },
		],
		segments: [{ type: LOAD, flags: CODE, address: TEXT_AT, dataOf: 0 }],
	});
	const { problems } = unwindTable(new MemoryBytes(file));
	assert.equal(problems.length, 8, problems.join('\n'));
	assert.equal(new Set(problems).size, 8);
	for (const section of ['.eh_frame', '.debug_frame'])
		assert.ok(problems.includes(`${section}: a CIE has a version that tstrace does not know`));
});
