/** Tables of files that the test writes itself, so that it knows each rule. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { CFA, FP, RA, type UnwindRule } from '../../../src/unwind/rule.js';
import { ruleAt, type UnwindTable, unwindTable } from '../../../src/unwind/table.js';
import { elfOf } from '../hostile/elf-builder.js';
import {
	type CfaPlace,
	type Place,
	type Stretch,
	type Writing,
	type WrittenFunction,
	writeFrames,
} from './frame-writer.js';

const TEXT_AT = 0x10000;
const DATA_AT = 0x8000;
const FRAMES_AT = 0x20000;
const CODE = 5;
const [X64, ARM64] = [62, 183];
const LOAD = 1;
const EH_FRAME_HEADER = 0x6474e550;
const UNKNOWN: Partial<UnwindRule> = { cfa: CFA.unknown };

const eights = (min: number, max: number) => fc.integer({ min, max }).map((n) => n * 8);
const place: fc.Arbitrary<Place> = fc.oneof(
	{ weight: 2, arbitrary: fc.constant<Place>({ at: 'same' }) },
	{ weight: 6, arbitrary: fc.record({ at: fc.constant('cfa' as const), offset: eights(-400, 3) }) },
	fc.record({ at: fc.constant('fp' as const), offset: eights(-9, 9) }),
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
		augmentation: fc.constantFrom('' as const, 'zR' as const, 'zPLR' as const, 'zRB' as const),
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

const TEXT = Buffer.alloc(0x8000);

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
function ruleOf({ cfa, fp, ra }: Stretch, { isArm64 }: Writing): Partial<UnwindRule> {
	if (ra.at === 'undefined') return { cfa: CFA.end };
	const isLink = ra.at === 'same' && isArm64;
	if (ra.at !== 'cfa' && !isLink) return UNKNOWN;
	if (cfa.of === 'another' || cfa.of === 'nobody knows') return UNKNOWN;
	if (cfa.of === 'plt' && isArm64) return UNKNOWN;
	const addend = 'addend' in cfa ? cfa.addend : 0;
	if (addend > 255) return UNKNOWN;
	const kinds = { sp: CFA.sp, fp: CFA.fp, '*sp': CFA.spDeref, '*fp': CFA.fpDeref, plt: CFA.plt };
	const pointers = {
		same: FP.same,
		cfa: FP.atCfa,
		fp: FP.atFp,
		undefined: FP.undefined,
		elsewhere: FP.undefined,
	};
	return {
		cfa: kinds[cfa.of],
		cfaOffset: cfa.offset,
		cfaAddend: addend,
		fp: pointers[fp.at],
		fpOffset: 'offset' in fp ? fp.offset : 0,
		ra: isLink ? RA.register : RA.atCfa,
		raOffset: 'offset' in ra ? ra.offset : 0,
	};
}

function assertRule(table: UnwindTable, offset: number, expected: Partial<UnwindRule>): void {
	const rule = ruleAt(table, offset);
	assert.deepEqual({ ...rule, ...expected }, rule, `at ${offset.toString(16)}`);
}

test('each byte of each function has the rule that was written for it, all others none', () => {
	fc.assert(
		fc.property(program, (each) => {
			const file = fileOf(each);
			const table = unwindTable(new MemoryBytes(file));
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
