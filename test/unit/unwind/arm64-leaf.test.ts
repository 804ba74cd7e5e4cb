/** Instructions of arm64 that leave sp, x29 and x30 as they are, and those that may not: as llvm-mc assembles them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isLeaf, MAX_CODE_BYTES } from '../../../src/unwind/arm64-leaf.js';

const KEEP: readonly (readonly [word: number, text: string])[] = [
	[0xd503233f, 'paciasp'],
	[0xd50323bf, 'autiasp'],
	[0xd503245f, 'bti c'],
	[0xd503201f, 'nop'],
	[0xd503203f, 'yield'],
	[0xd50339bf, 'dmb ishld'],
	[0xd5033fdf, 'isb'],
	[0xd53be042, 'mrs x2, CNTVCT_EL0'],
	[0xd53be0c2, 'mrs x2, S3_3_C14_C0_6'],
	[0xd4000001, 'svc #0'],
	[0x71003c1f, 'cmp w0, #15'],
	[0xb1000c3f, 'cmn x1, #3'],
	[0x721b045f, 'tst w2, #0x60'],
	[0xeb03001f, 'cmp x0, x3'],
	[0xeb23401f, 'cmp x0, w3, uxtw'],
	[0x6a05005f, 'tst w2, w5'],
	[0xfa41100f, 'ccmp x0, x1, #15, ne'],
	[0x52800022, 'mov w2, #1'],
	[0xf2a77343, 'movk x3, #15258, lsl #16'],
	[0x10fee8c3, 'adr x3, #-8936'],
	[0xb000001c, 'adrp x28, #4096'],
	[0x910043e4, 'add x4, sp, #16'],
	[0x8b2463e4, 'add x4, sp, x4'],
	[0x92401c00, 'and x0, x0, #0xff'],
	[0x937c7c08, 'sbfiz x8, x0, #4, #32'],
	[0x93c20c20, 'extr x0, x1, x2, #3'],
	[0x9a840063, 'csel x3, x3, x4, eq'],
	[0x9b052400, 'madd x0, x0, x5, x9'],
	[0x9ba37c42, 'umull x2, w2, w3'],
	[0x9ac82400, 'lsr x0, x0, x8'],
	[0xdac01020, 'clz x0, x1'],
	[0xb9400067, 'ldr w7, [x3]'],
	[0xf940009f, 'ldr xzr, [x4]'],
	[0xf94007e0, 'ldr x0, [sp, #8]'],
	[0xf94007a0, 'ldr x0, [x29, #8]'],
	[0xf9000427, 'str x7, [x1, #8]'],
	[0xf85fd020, 'ldur x0, [x1, #-3]'],
	[0xf8627820, 'ldr x0, [x1, x2, lsl #3]'],
	[0xf8408420, 'ldr x0, [x1], #8'],
	[0xf8008c20, 'str x0, [x1, #8]!'],
	[0xa940a86b, 'ldp x11, x10, [x3, #8]'],
	[0xa94107e0, 'ldp x0, x1, [sp, #16]'],
	[0xa900003f, 'stp xzr, x0, [x1]'],
	[0xa8810440, 'stp x0, x1, [x2], #16'],
	[0x69c10440, 'ldpsw x0, x1, [x2, #8]!'],
	[0x58000200, 'ldr x0, #64'],
	[0x88dffc62, 'ldar w2, [x3]'],
	[0x889ffc62, 'stlr w2, [x3]'],
	[0x3cc1041e, 'ldr q30, [x0], #16'],
	[0xad00781d, 'stp q29, q30, [x0]'],
	[0x4cdfa000, 'ld1 {v0.16b, v1.16b}, [x0], #32'],
	[0x4c0073fd, 'st1 {v29.16b}, [sp]'],
	[0x4ebf87c0, 'add v0.4s, v30.4s, v31.4s'],
	[0x4ebf87df, 'add v31.4s, v30.4s, v31.4s'],
	[0x9e660000, 'fmov x0, d0'],
	[0x0e043c23, 'umov w3, v1.s[0]'],
	[0x1e612000, 'fcmp d0, d1'],
	[0x54000001, 'b.ne #0'],
];

const MAY_CHANGE: readonly (readonly [word: number, text: string])[] = [
	[0x94000000, 'bl #0'],
	[0xd63f0020, 'blr x1'],
	[0xd61f0020, 'br x1'],
	[0xd71f0822, 'braa x1, x2'],
	[0xd65f0020, 'ret x1'],
	[0xd69f03e0, 'eret'],
	[0xd4200020, 'brk #1'],
	[0xd4000002, 'hvc #0'],
	[0xd51bd040, 'msr TPIDR_EL0, x0'],
	[0xd53be05e, 'mrs x30, CNTVCT_EL0'],
	[0xd53be05d, 'mrs x29, CNTVCT_EL0'],
	[0xd10043ff, 'sub sp, sp, #16'],
	[0x910043ff, 'add sp, sp, #16'],
	[0x9100001f, 'mov sp, x0'],
	[0x910003fd, 'mov x29, sp'],
	[0x9100041d, 'add x29, x0, #1'],
	[0xaa0003fe, 'mov x30, x0'],
	[0x5280003e, 'mov w30, #1'],
	[0x1000001e, 'adr x30, #0'],
	[0xb000001d, 'adrp x29, #4096'],
	[0x927cec1f, 'and sp, x0, #0xfffffffffffffff0'],
	[0xcb2063ff, 'sub sp, sp, x0'],
	[0x8b22403f, 'add sp, x1, w2, uxtw'],
	[0xb240001e, 'orr x30, x0, #1'],
	[0xd341101d, 'ubfx x29, x0, #1, #4'],
	[0x93c20c3e, 'extr x30, x1, x2, #3'],
	[0x8b02003e, 'add x30, x1, x2'],
	[0xeb02003d, 'subs x29, x1, x2'],
	[0x9a82003e, 'csel x30, x1, x2, eq'],
	[0x9b020c3d, 'madd x29, x1, x2, x3'],
	[0x9ac2083e, 'udiv x30, x1, x2'],
	[0xdac0003e, 'rbit x30, x1'],
	[0x9181041f, 'addg sp, x0, #16, #1'],
	[0x9ac1101f, 'irg sp, x0, x1'],
	[0xdac1001e, 'pacia x30, x0'],
	[0xf940001e, 'ldr x30, [x0]'],
	[0xb940041d, 'ldr w29, [x0, #4]'],
	[0xf85f801e, 'ldur x30, [x0, #-8]'],
	[0xf861681e, 'ldr x30, [x0, x1]'],
	[0xf84107e0, 'ldr x0, [sp], #16'],
	[0xf81f0fe0, 'str x0, [sp, #-16]!'],
	[0xf84087a0, 'ldr x0, [x29], #8'],
	[0xf8008fc0, 'str x0, [x30, #8]!'],
	[0x3cc107e0, 'ldr q0, [sp], #16'],
	[0xa9be7bfd, 'stp x29, x30, [sp, #-32]!'],
	[0xa9407820, 'ldp x0, x30, [x1]'],
	[0xa940003d, 'ldp x29, x0, [x1]'],
	[0xa8c107e0, 'ldp x0, x1, [sp], #16'],
	[0xa98107a0, 'stp x0, x1, [x29, #16]!'],
	[0xacc107e0, 'ldp q0, q1, [sp], #32'],
	[0x6940003e, 'ldpsw x30, x0, [x1]'],
	[0x5800021e, 'ldr x30, #64'],
	[0x9800021d, 'ldrsw x29, #64'],
	[0xc8dffc1e, 'ldar x30, [x0]'],
	[0xc85f7c1e, 'ldxr x30, [x0]'],
	[0xc81e7c20, 'stxr w30, x0, [x1]'],
	[0xc87f7820, 'ldxp x0, x30, [x1]'],
	[0x483e7c40, 'casp x30, xzr, x0, x1, [x2]'],
	[0xc8be7c20, 'cas x30, x0, [x1]'],
	[0xf820003e, 'ldadd x0, x30, [x1]'],
	[0xf820803d, 'swp x0, x29, [x1]'],
	[0xf8201fe0, 'ldraa x0, [sp, #8]!'],
	[0x4cdf73e0, 'ld1 {v0.16b}, [sp], #16'],
	[0x0ddf83a0, 'ld1 {v0.s}[0], [x29], #4'],
	[0x9e66001e, 'fmov x30, d0'],
	[0x9e78001d, 'fcvtzs x29, d0'],
	[0x0e043c1e, 'umov w30, v0.s[0]'],
	[0x4e042c1d, 'smov x29, v0.s[0]'],
	[0x043f503f, 'addvl sp, sp, #1'],
	[0x2518e3e0, 'ptrue p0.b'],
	[0xf83fd016, 'ld64b x22, [x0]'],
	[0x19c20420, 'setp [x0]!, x1!, x2'],
	[0xd960001e, 'ldg x30, [x0]'],
	[0xd940001e, 'ldapur x30, [x0]'],
	[0x00000000, 'udf #0'],
	[0xcc40a000, 'like ld1, reserved'],
];

const RET = 0xd65f03c0;
const NOP = 0xd503201f;

function codeOf(...words: readonly number[]): Buffer {
	const code = Buffer.alloc(words.length * 4);
	for (const [i, word] of words.entries()) code.writeUInt32LE(word, i * 4);
	return code;
}

/** So many instructions on, or back. */
const b = (count: number) => (0x14000000 | (count & 0x3ffffff)) >>> 0;
const conditional = {
	'b.eq': (count: number) => (0x54000000 | ((count & 0x7ffff) << 5)) >>> 0,
	'cbz w0': (count: number) => (0x34000000 | ((count & 0x7ffff) << 5)) >>> 0,
	'cbnz x0': (count: number) => (0xb5000000 | ((count & 0x7ffff) << 5)) >>> 0,
	'tbz w0, #0': (count: number) => (0x36000000 | ((count & 0x3fff) << 5)) >>> 0,
	'tbnz x0, #63': (count: number) => (0xb7f80000 | ((count & 0x3fff) << 5)) >>> 0,
};

test('what leaves the registers as they are', () => {
	for (const [word, text] of KEEP) assert.ok(isLeaf(codeOf(word, RET)), text);
	assert.ok(isLeaf(codeOf(...KEEP.map(([word]) => word), RET)));
	// With the signature of the link register looked at: retaa, retab.
	for (const word of [RET, 0xd65f0bff, 0xd65f0fff]) assert.ok(isLeaf(codeOf(word)));
});

test('what may change one of them, calls, or goes somewhere else', () => {
	for (const [word, text] of MAY_CHANGE) assert.ok(!isLeaf(codeOf(word, RET)), text);
});

test('branches stay in the function', () => {
	const jumps = Object.entries({ ...conditional, b });
	for (const [text, jump] of jumps) {
		for (const count of [-1, 0, 1]) assert.ok(isLeaf(codeOf(NOP, jump(count), RET)), text);
		for (const count of [-2, 2, -8000, 8000]) {
			assert.ok(!isLeaf(codeOf(NOP, jump(count), RET)), `${text} ${count}`);
		}
	}
});

test('a function returns, and ends with that or with a branch', () => {
	assert.ok(isLeaf(codeOf(NOP, RET, b(-2))));
	assert.ok(!isLeaf(codeOf(NOP, b(-1))), 'a part of a function that has a frame may be so');
	assert.ok(!isLeaf(codeOf(RET, NOP)), 'what comes next is not known');
	for (const jump of Object.values(conditional)) assert.ok(!isLeaf(codeOf(RET, jump(-1))));
});

test('what is no code, or too much', () => {
	assert.ok(!isLeaf(Buffer.alloc(0)));
	assert.ok(!isLeaf(codeOf(NOP, RET).subarray(0, 6)));
	const most = Array<number>(MAX_CODE_BYTES / 4 - 1).fill(NOP);
	assert.ok(isLeaf(codeOf(...most, RET)));
	assert.ok(!isLeaf(codeOf(...most, NOP, RET)));
	const bytes = fc.uint8Array({ maxLength: 64 });
	fc.assert(fc.property(bytes, (some) => typeof isLeaf(Buffer.from(some)) === 'boolean'));
});
