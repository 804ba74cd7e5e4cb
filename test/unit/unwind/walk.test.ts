/** What a walk tells of its frames meanwhile, and how it ends, in memory that the test lays out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CFA, FP, RA, type UnwindRule } from '../../../src/unwind/rule.js';
import { END, type Frame, isSignalReturn, pointerStep, step } from '../../../src/unwind/step.js';
import { type CodeMapping, type WalkedProcess, walkOutside } from '../../../src/unwind/walk.js';

const SP = 0x7ffd_1234_0000;
const FILE = 0x5555_0000_0000;
const JIT = 0x6666_0000_0000;
const SIZE = 0x1000;
/** From here on the file has no rules. */
const GAP_AT = FILE + 0x800;
const X64 = { isArm64: false };
const ARM64 = { isArm64: true };
const GAP: UnwindRule = {
	cfa: CFA.gap,
	cfaOffset: 0,
	cfaAddend: 0,
	fp: 0,
	fpOffset: 0,
	ra: 0,
	raOffset: 0,
};
const LAST: UnwindRule = { ...GAP, cfa: CFA.end };

/** Words at distances from SP; nothing else can be read. */
const memory = (words: Readonly<Record<number, number>>) => (address: number) => {
	const value = words[address - SP];
	if (value === undefined) return undefined;
	const view = new DataView(new ArrayBuffer(8));
	view.setBigUint64(0, BigInt(value), true);
	return view;
};

/** Code of a file, all of whose first half has this rule, and code of no file. */
function processOf(
	rule: UnwindRule,
	words: Readonly<Record<number, number>>,
	more: Partial<WalkedProcess> = {},
): WalkedProcess {
	const file: CodeMapping = { start: FILE, end: FILE + SIZE, fileOffset: 0, hasFile: true };
	const jit: CodeMapping = { start: JIT, end: JIT + SIZE, fileOffset: 0, hasFile: false };
	return {
		processor: X64,
		mappingAt: (at) => [file, jit].find(({ start, end }) => at >= start && at < end),
		tableOf: () => ({ ruleAt: (place) => (place < GAP_AT - FILE ? rule : GAP) }),
		read: memory(words),
		codeAt: () => undefined,
		...more,
	};
}

test('what was guessed once stays a guess, though rules lead to the end', () => {
	const process = processOf(LAST, { 64: SP + 96, 72: FILE + 8 });
	assert.deepEqual(walkOutside({ ip: GAP_AT + 8, sp: SP, fp: SP + 64 }, process, 127), {
		addresses: [GAP_AT + 8, FILE + 8],
		end: END.whole,
		isGuessed: true,
	});
});

test('a frame pointer that leads to no code ends there; a leaf with a frame pointer of 0 is no end', () => {
	const process = processOf(LAST, { 64: SP + 96, 72: 0x123 });
	const from = (fp: number) => walkOutside({ ip: JIT + 8, sp: SP, fp }, process, 127);
	const ended = { addresses: [JIT + 8], end: END.gap, isGuessed: false };
	assert.deepEqual(from(SP + 64), ended);
	assert.deepEqual(from(0), ended);
});

/** Three frames of code without a file, each by its frame pointer, and then no more. */
const CHAIN = { 64: SP + 96, 72: JIT + 16, 96: SP + 128, 104: JIT + 32, 128: 0, 136: JIT + 48 };

test('each frame is told by its number: where nothing leads on from it, and where it is on the stack', () => {
	const taken: (readonly [number, number])[] = [];
	const stepped: unknown[] = [];
	const process = processOf(LAST, CHAIN, {
		takeFunction: ({ ip }, _mapping, number) => taken.push([ip, number]),
		takeStepped: (frame, number) => stepped.push([frame, number]) * 0,
	});
	walkOutside({ ip: JIT + 8, sp: SP, fp: SP + 64 }, process, 127);
	assert.deepEqual(taken, [
		[JIT + 8, 0],
		[JIT + 16, 1],
		[JIT + 32, 2],
		[JIT + 48, 3],
	]);
	assert.deepEqual(stepped, [
		[{ from: SP, to: SP + 80, code: JIT + 8 }, 0],
		[{ from: SP + 80, to: SP + 112, code: JIT + 15 }, 1],
		[{ from: SP + 112, to: SP + 144, code: JIT + 31 }, 2],
	]);
});

test('what frames run beside themselves counts as frames of the walk', () => {
	const addressesOf = (each: number, depth: number) => {
		const process = processOf(LAST, CHAIN, { takeStepped: () => each });
		const { addresses, end } = walkOutside({ ip: JIT + 8, sp: SP, fp: SP + 64 }, process, depth);
		return [addresses.length, end];
	};
	assert.deepEqual(addressesOf(0, 4), [4, END.guessed]);
	assert.deepEqual(addressesOf(2, 7), [3, END.tooDeep]);
	assert.deepEqual(addressesOf(2, 6), [2, END.tooDeep]);
});

test('where nobody knows where a frame of arm64 is, nothing is taken for it', () => {
	// It keeps a record, so that the next one is known again.
	const keeps = { ...GAP, cfa: CFA.sp, cfaOffset: 32, fp: FP.atCfa, fpOffset: -32, raOffset: -24 };
	const numbers: number[] = [];
	const process = processOf(
		keeps,
		{ 64: SP + 96, 72: FILE + 8, 96: SP + 160, 104: FILE + 16, 160: 0, 168: 0 },
		{ processor: ARM64, takeStepped: (_, number) => numbers.push(number) * 0 },
	);
	const { addresses } = walkOutside({ ip: JIT + 8, sp: SP, fp: SP + 64 }, process, 127);
	assert.deepEqual(addresses, [JIT + 8, FILE + 8, FILE + 16]);
	assert.deepEqual(numbers, []);
});

const TRAMPOLINE = Buffer.from('48c7c00f0000000f05', 'hex');
const viewOf = (code: Buffer) => new DataView(code.buffer, code.byteOffset, 8);

test('the code that handlers of signals return to is told by all of it, and may be in no file', () => {
	assert.equal(isSignalReturn(viewOf(TRAMPOLINE), X64), true);
	for (const at of [0, 3, 4, 7]) {
		const other = Buffer.from(TRAMPOLINE);
		other[at] = 0x90;
		assert.equal(isSignalReturn(viewOf(other), X64), false, `${at}`);
	}
	assert.equal(isSignalReturn(viewOf(TRAMPOLINE), ARM64), false);
	const process = processOf(LAST, { 120: 0, 160: SP + 512, 168: FILE + 8 });
	const codeAt = () => viewOf(TRAMPOLINE);
	const walked = walkOutside({ ip: JIT + 8, sp: SP, fp: 7 }, { ...process, codeAt }, 127);
	assert.deepEqual(walked, { addresses: [JIT + 8, FILE + 9], end: END.whole, isGuessed: false });
});

test('where nobody knows sp, only a function that has a record at fp leads on, and no small number', () => {
	const unknown: Frame = {
		...{ ip: FILE, sp: undefined, fp: SP + 64, link: undefined },
		...{ isExact: false, isByPointer: true },
	};
	const read = memory({ 64: SP + 96, 72: FILE + 8, [8 - SP]: SP, [16 - SP]: FILE + 8 });
	const keeps = {
		...GAP,
		cfa: CFA.sp,
		cfaOffset: 32,
		fp: FP.atCfa,
		fpOffset: -32,
		ra: RA.atCfa,
		raOffset: -24,
	};
	assert.equal(typeof step(keeps, unknown, read, ARM64), 'object');
	assert.equal(step({ ...keeps, cfa: CFA.spDeref }, unknown, read, ARM64), END.noRule);
	assert.equal(pointerStep({ ...unknown, fp: 8 }, false, read, ARM64), END.gap);
});
