/** One frame to the next by each kind of rule, in memory that the test lays out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuleLookup } from '../../../src/unwind/lookup.js';
import { CFA, FP, RA, type UnwindRule } from '../../../src/unwind/rule.js';
import { END, type Frame, pointerStep, step } from '../../../src/unwind/step.js';
import { type CodeMapping, walkOutside } from '../../../src/unwind/walk.js';

const SP = 0x7ffd_1234_0000;
const IP = 0x5555_0000_1008;
const CALLER = 0x5555_0000_2000;
const X64 = { isArm64: false };
const ARM64 = { isArm64: true };

/** Words at distances from SP; nothing else can be read. */
function memory(words: Readonly<Record<number, number | bigint>>) {
	return (address: number, length: number): DataView | undefined => {
		const value = words[address - SP];
		if (value === undefined || length !== 8) return undefined;
		const view = new DataView(new ArrayBuffer(8));
		view.setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true);
		return view;
	};
}

const frameAt = (more: Partial<Frame> = {}): Frame => {
	const usual = { ip: IP, sp: SP, fp: SP + 64, link: undefined };
	return { ...usual, isExact: true, isByPointer: false, ...more };
};

const ruleOf = (more: Partial<UnwindRule>): UnwindRule => {
	const places = { fp: FP.same, fpOffset: 0, ra: RA.atCfa, raOffset: -8 };
	return { cfa: CFA.sp, cfaOffset: 32, cfaAddend: 0, ...places, ...more };
};

const caller = (sp: number | undefined, fp: number, more: Partial<Frame> = {}): Frame => {
	return { ip: CALLER, sp, fp, link: undefined, isExact: false, isByPointer: false, ...more };
};

test('each kind of CFA, and of places of the frame pointer', () => {
	const same = caller(SP + 32, SP + 64);
	assert.deepEqual(step(ruleOf({}), frameAt(), memory({ 24: CALLER }), X64), same);
	const byFp = ruleOf({ cfa: CFA.fp, cfaOffset: 16, fp: FP.atCfa, fpOffset: -16 });
	const record = memory({ 64: SP + 200, 72: CALLER });
	assert.deepEqual(step(byFp, frameAt(), record, X64), caller(SP + 80, SP + 200));
	const bySp = ruleOf({ cfa: CFA.spDeref, cfaOffset: 40, cfaAddend: 8, fp: FP.undefined });
	const stored = memory({ 40: SP + 300, 300: CALLER });
	assert.deepEqual(step(bySp, frameAt(), stored, X64), caller(SP + 308, 0));
	const aligned = ruleOf({ cfa: CFA.fpDeref, cfaOffset: -8, fp: FP.atFp, fpOffset: 0 });
	const drap = memory({ 56: SP + 400, 64: SP + 900, 392: CALLER });
	assert.deepEqual(step(aligned, frameAt(), drap, X64), caller(SP + 400, SP + 900));
	const plt = ruleOf({ cfa: CFA.plt, cfaOffset: 11 });
	const entry = memory({ 0: CALLER, 8: CALLER });
	for (const [ip, sp] of [
		[0x1000, 8],
		[0x100a, 8],
		[0x100b, 16],
		[0x100f, 16],
	] as const) {
		assert.deepEqual(step(plt, frameAt({ ip }), entry, X64), caller(SP + sp, SP + 64));
	}
});

test('a function of Go that went to another stack, which may be below or above', () => {
	const rule = ruleOf({ cfa: CFA.elsewhere, cfaOffset: 16, fp: FP.atCfa, fpOffset: -16 });
	for (const fp of [SP - 0x4000, SP + 0x4000]) {
		const record = memory({ [fp - SP]: fp + 64, [fp - SP + 8]: CALLER });
		assert.deepEqual(step(rule, frameAt({ fp }), record, X64), caller(fp + 16, fp + 64));
	}
	assert.equal(step(rule, frameAt({ fp: 0 }), memory({}), X64), END.unreadable);
	const here = ruleOf({ cfa: CFA.fp, cfaOffset: 16 });
	assert.equal(step(here, frameAt({ fp: SP - 0x4000 }), memory({}), X64), END.astray);
});

test('a function of Go that calls C: from the end of its stack, or where it was', () => {
	const rule = ruleOf({ cfa: CFA.goC, cfaOffset: 40 });
	const [goroutine, end, was] = [SP - 0x1000, SP - 0x100, SP - 0x800];
	const words = { 40: end - was, 48: goroutine, [goroutine + 8 - SP]: end, [was - SP]: CALLER };
	assert.deepEqual(step(rule, frameAt(), memory(words), X64), caller(was + 8, SP + 64));
	const without = { 40: was, 48: 0, [was - SP]: CALLER };
	assert.deepEqual(step(rule, frameAt(), memory(without), X64), caller(was + 8, SP + 64));
	assert.equal(step(rule, frameAt(), memory({ 40: 8 }), X64), END.unreadable);
	assert.equal(step(rule, frameAt(), memory({ 40: 8, 48: goroutine }), X64), END.unreadable);
	assert.equal(step(rule, frameAt(), memory({ 48: 0 }), X64), END.unreadable);
	const unkept = memory({ 48: goroutine, [goroutine + 8 - SP]: end });
	assert.equal(step(rule, frameAt(), unkept, X64), END.unreadable);
});

test('arm64: the link register in the first function only, and signatures taken off', () => {
	const leaf = ruleOf({ cfaOffset: 0, ra: RA.register, raOffset: 0 });
	const link = CALLER;
	assert.deepEqual(step(leaf, frameAt({ link }), memory({}), ARM64), caller(SP, SP + 64));
	assert.equal(step(leaf, frameAt(), memory({}), ARM64), END.astray);
	assert.equal(step({ ...leaf, cfaOffset: 16 }, frameAt(), memory({}), ARM64), END.noRule);
	const signed = memory({ 24: (0x7cfen << 48n) | BigInt(CALLER) });
	assert.deepEqual(step(ruleOf({}), frameAt(), signed, ARM64), caller(SP + 32, SP + 64));
	// By frame pointers nobody knows sp; then a function that keeps a record has it at fp.
	const record = memory({ 64: SP + 200, 72: CALLER, 208: CALLER + 8, 200: SP + 300 });
	const next = pointerStep(frameAt(), true, record, ARM64);
	assert.deepEqual(next, caller(undefined, SP + 200, { isByPointer: true }));
	const keeps = ruleOf({ cfaOffset: 96, fp: FP.atCfa, fpOffset: -96, raOffset: -88 });
	const found = step(keeps, next as Frame, record, ARM64);
	assert.deepEqual(found, caller(SP + 296, SP + 300, { ip: CALLER + 8 }));
	assert.equal(step(ruleOf({}), next as Frame, record, ARM64), END.noRule);
	// What saves x29 alone, or apart, may have anything there.
	for (const raOffset of [-96, -80, -8]) {
		assert.equal(step({ ...keeps, raOffset }, next as Frame, record, ARM64), END.noRule);
	}
	assert.equal(step({ ...keeps, ra: RA.register }, next as Frame, record, ARM64), END.noRule);
	// And what counts from fp itself goes on.
	const byFp = { ...keeps, cfa: CFA.fp, cfaOffset: 96 };
	assert.deepEqual(step(byFp, next as Frame, record, ARM64), found);
});

test('a signal: all registers, and the interrupted instruction itself', () => {
	const rule = ruleOf({ cfa: CFA.signal });
	const x64 = memory({ 120: 1, 160: SP + 5000, 168: CALLER });
	const interrupted = { isExact: true };
	assert.deepEqual(step(rule, frameAt(), x64, X64), caller(SP + 5000, 1, interrupted));
	const arm64 = memory({ 544: 1, 552: 77, 560: SP + 5000, 568: CALLER });
	const expected = caller(SP + 5000, 1, { ...interrupted, link: 77 });
	assert.deepEqual(step(rule, frameAt(), arm64, ARM64), expected);
	assert.equal(step(rule, frameAt(), memory({ 168: CALLER }), X64), END.unreadable);
});

test('where a walk ends, it says why', () => {
	const ends = (rule: Partial<UnwindRule>, words: Readonly<Record<number, number>> = {}) =>
		step(ruleOf(rule), frameAt(), memory(words), X64);
	assert.equal(ends({ cfa: CFA.end }), END.whole);
	assert.equal(ends({}, { 24: 0 }), END.zero);
	assert.equal(ends({ cfa: CFA.unknown }), END.noRule);
	assert.equal(ends({}), END.unreadable);
	assert.equal(ends({ cfa: CFA.spDeref }), END.unreadable);
	assert.equal(ends({ fp: FP.atCfa, fpOffset: -16 }, { 24: CALLER }), END.unreadable);
	assert.equal(ends({ cfaOffset: -8 }), END.astray);
	assert.equal(ends({ cfaOffset: 0 }), END.astray);
	const points = (fp: number, words: Readonly<Record<number, number>> = {}, isFirst = false) =>
		pointerStep(frameAt({ fp }), isFirst, memory(words), X64);
	// The end, or code that uses the register for something else.
	assert.equal(points(0), END.guessed);
	assert.equal(points(0, {}, true), END.gap);
	assert.equal(points(SP - 8), END.gap);
	assert.equal(points(SP + 4), END.gap);
	assert.equal(points(SP + 8), END.gap);
	assert.equal(points(SP + 8, { 8: SP + 8, 16: CALLER }), END.gap);
	assert.equal(points(SP + 8, { 8: SP + 64, 16: 0 }), END.zero);
	assert.equal(points(SP + 8, { 8: SP + 64 }), END.gap);
	assert.equal(points(SP + 8, { 16: CALLER }), END.gap);
});

/** A file with code at IP's page, whose first half has `rule`; and code of no file at CALLER's. */
function processOf(rule: UnwindRule, words: Readonly<Record<number, number>>) {
	const isFirstHalf = (place: number) => place >= 0x4000 && place < 0x4800;
	const table = {
		ruleAt: (place: number) => (isFirstHalf(place) ? rule : ruleOf({ cfa: CFA.gap })),
	};
	const file: CodeMapping = { start: IP - 8, end: IP + 0xff8, fileOffset: 0x4000, hasFile: true };
	const jit: CodeMapping = { start: CALLER, end: CALLER + 0x1000, fileOffset: 0, hasFile: false };
	return {
		processor: X64,
		mappingAt: (at: number) => [file, jit].find(({ start, end }) => at >= start && at < end),
		tableOf: (): Pick<RuleLookup, 'ruleAt'> | undefined => table,
		read: memory(words),
		codeAt: (_mapping: CodeMapping, _address: number, _length: number): DataView | undefined =>
			undefined,
	};
}

test('a walk goes by table, by frame pointers in code without a file, and by table again', () => {
	const words = { 24: CALLER + 8, 64: SP + 96, 72: IP + 8, 104: 0x123 };
	const process = processOf(ruleOf({}), words);
	const registers = { ip: IP, sp: SP, fp: SP + 64 };
	const walked = walkOutside(registers, process, 127);
	// The last address is no code.
	const isGuessed = false;
	assert.deepEqual(walked, { addresses: [IP, CALLER + 8, IP + 8], end: END.astray, isGuessed });
	assert.deepEqual(walkOutside(registers, process, 2), {
		addresses: [IP, CALLER + 8],
		end: END.tooDeep,
		isGuessed,
	});
});

test('a return address belongs to the call in front of it, an interrupted one to itself', () => {
	// Behind the last call of the file's code with a rule there is a gap.
	const last = IP - 8 + 0x800;
	const process = processOf(ruleOf({ cfa: CFA.end }), { 64: SP + 4096, 72: last });
	const inJit = { ip: CALLER, sp: SP, fp: SP + 64 };
	assert.equal(walkOutside(inJit, process, 127).end, END.whole);
	assert.deepEqual(walkOutside({ ...inJit, ip: last, fp: 7 }, process, 127), {
		addresses: [last],
		end: END.gap,
		isGuessed: false,
	});
});

test('what a signal interrupted looks like a return address, so that one byte before it is where it was', () => {
	const words = { 120: 0, 160: SP + 5000, 168: CALLER };
	const process = processOf(ruleOf({ cfa: CFA.signal }), words);
	const { addresses } = walkOutside({ ip: IP, sp: SP, fp: SP }, process, 127);
	assert.deepEqual(addresses, [IP, CALLER + 1]);
});

test('an address that is no code, and a file without a table', () => {
	const process = processOf(ruleOf({}), {});
	const nowhere = walkOutside({ ip: 8, sp: SP, fp: SP }, process, 127);
	assert.deepEqual(nowhere, { addresses: [8], end: END.astray, isGuessed: false });
	const without = { ...process, tableOf: () => undefined };
	const walked = walkOutside({ ip: IP, sp: SP, fp: SP }, without, 127);
	assert.deepEqual(walked, { addresses: [IP], end: END.noTable, isGuessed: false });
});

/** Where the file has no rules. */
const IN_GAP = IP - 8 + 0x900;

test('frame pointers out of a file\u2019s code without rules are a guess, those out of other code are none until they end', () => {
	const words = { 64: SP + 96, 72: CALLER + 8, 96: 0, 104: CALLER + 16 };
	const process = processOf(ruleOf({}), words);
	const registers = { ip: IN_GAP, sp: SP, fp: SP + 64 };
	const addresses = [IN_GAP, CALLER + 8, CALLER + 16];
	assert.deepEqual(walkOutside(registers, process, 127), {
		addresses,
		end: END.guessed,
		isGuessed: true,
	});
	const inJit = walkOutside({ ...registers, ip: CALLER + 4 }, process, 127);
	assert.deepEqual(inJit, {
		addresses: [CALLER + 4, CALLER + 8, CALLER + 16],
		end: END.guessed,
		isGuessed: true,
	});
});

test('an end that only a frame pointer of 0 tells is a guess, however the walk came there', () => {
	const words = { 64: 0, 72: IN_GAP };
	const process = processOf(
		ruleOf({ cfa: CFA.sp, cfaOffset: 80, fp: FP.atCfa, fpOffset: -16 }),
		words,
	);
	const { end, isGuessed } = walkOutside({ ip: IP, sp: SP, fp: 0 }, process, 127);
	assert.deepEqual([end, isGuessed], [END.guessed, true]);
});

test('a signal\u2019s trampoline without rules is known by its code', () => {
	const words = { 120: SP + 3000, 160: SP + 5000, 168: IP };
	const process = processOf(ruleOf({ cfa: CFA.end }), words);
	const code = Buffer.from('48c7c00f0000000f05', 'hex');
	const asked: number[] = [];
	const codeAt = (_: CodeMapping, address: number, length: number) => {
		asked.push(address);
		return new DataView(code.buffer, code.byteOffset, length);
	};
	const registers = { ip: IN_GAP, sp: SP, fp: 7 };
	assert.deepEqual(walkOutside(registers, { ...process, codeAt }, 127), {
		addresses: [IN_GAP, IP + 1],
		end: END.whole,
		isGuessed: false,
	});
	// Where a rule says what to do, nothing is read.
	assert.deepEqual(asked, [IN_GAP]);
});
