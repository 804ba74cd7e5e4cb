/**
 * What little of Go's assembly has to be read to know what its tables do not say: where functions set the stack pointer
 * to another stack, and whether they save the frame pointer. Source: Intel's and Arm's manuals.
 */

/** The offset behind the first instruction that sets the stack pointer; undefined where none does. */
export function switchesFrom(code: Buffer, isArm64: boolean): number | undefined {
	for (const end of isArm64 ? switchesArm64(code) : switchesX64(code)) return end;
	return undefined;
}

/** The offset behind the last one; 0 where none does. */
export function switchesTo(code: Buffer, isArm64: boolean): number {
	let last = 0;
	for (const end of isArm64 ? switchesArm64(code) : switchesX64(code)) last = end;
	return last;
}

/**
 * Where the offsets behind the instructions are. Bytes are not told apart into instructions: what looks like one in the
 * middle of another is found, too.
 */
function* switchesX64(code: Buffer): Generator<number> {
	for (let at = 0; at + 3 <= code.length; at++) {
		const length = switchLength(code.readUIntLE(at, 3), code[at + 3] ?? 0);
		if (length > 0) yield Math.min(at + length, code.length);
	}
}

/** How long the instruction is, if it sets the stack pointer; 0: it does not. */
function switchLength(bytes: number, sib: number): number {
	const [prefix, code, mode] = [bytes & 0xff, (bytes >>> 8) & 0xff, bytes >>> 16];
	// REX.W. Its lower bits extend the numbers of registers: %rsp is 4 without.
	if ((prefix & 0xf8) !== 0x48) return 0;
	const isIntoRsp = (mode & 0x38) === 0x20 && (prefix & 4) === 0;
	if (code === 0x8b && isIntoRsp) return loadLength(mode, sib);
	const isToRsp = (mode & 0xc7) === 0xc4 && (prefix & 1) === 0;
	if (!isToRsp) return 0;
	if (code === 0x89) return 3; // mov from a register
	if ((mode & 0x38) !== 0x20) return 0;
	return code === 0x83 ? 4 : code === 0x81 ? 7 : 0; // and with a constant
}

/** Of a mov into a register, by how it says where from. */
function loadLength(mode: number, sib: number): number {
	const [kind, base] = [mode >>> 6, mode & 7];
	if (kind === 3) return 3;
	const hasSib = base === 4;
	const isAbsolute = kind === 0 && (hasSib ? (sib & 7) === 5 : base === 5);
	const offset = kind === 1 ? 1 : kind === 2 || isAbsolute ? 4 : 0;
	return 3 + (hasSib ? 1 : 0) + offset;
}

/**
 * How asmcgocall calls C, and what is in front of the call: src/runtime/asm_amd64.s, of Go 1.16 to 1.20. Offsets from
 * the stack pointer are left out.
 */
const CALLS_C = {
	/** mov %rdi, n+8(%rsp); mov 8(%rdi), %rdi; sub %rdx, %rdi; mov %rdi, n(%rsp) */
	keeps: ['48897c24', '488b7f084829d748897c24'].map((bytes) => Buffer.from(bytes, 'hex')),
	/** mov %rbx, %rdi; mov %rbx, %rcx; call *%rax */
	calls: Buffer.from('4889df4889d9ffd0', 'hex'),
	callBytes: 2,
};

interface CallsOfC {
	/** From the stack pointer to where its own is kept. */
	readonly offset: number;
	/** Where the calls begin and end. */
	readonly calls: readonly { readonly from: number; readonly to: number }[];
}

/** Of asmcgocall; undefined where it is written otherwise: from Go 1.21 on, the frame pointer leads on. */
export function callsOfC(code: Buffer): CallsOfC | undefined {
	const [first, second] = CALLS_C.keeps as [Buffer, Buffer];
	const at = code.indexOf(second);
	const goroutineAt = at - first.length - 1;
	const isThere = goroutineAt >= 0 && code.indexOf(first, goroutineAt) === goroutineAt;
	const offset = code[at + second.length];
	if (!isThere || offset === undefined || code[at - 1] !== offset + 8) return undefined;
	const calls: { from: number; to: number }[] = [];
	const { calls: call, callBytes } = CALLS_C;
	for (let i = code.indexOf(call); i >= 0; i = code.indexOf(call, i + 1)) {
		const to = i + call.length;
		calls.push({ from: to - callBytes, to });
	}
	return { offset, calls };
}

/** add and sub of a constant to another register than sp, which mov is too; and with a constant. */
function* switchesArm64(code: Buffer): Generator<number> {
	for (let at = 0; at + 4 <= code.length; at += 4) {
		const word = code.readUInt32LE(at);
		const isToSp = (word & 0x1f) === 31;
		const operation = (word >>> 23) & 0x1ff;
		const isOfOther = ((word >>> 5) & 0x1f) !== 31;
		const isSum = (operation === 0x122 || operation === 0x1a2) && isOfOther;
		if (isToSp && (isSum || operation === 0x124)) yield at + 4;
	}
}

/**
 * Whether the function saves its caller's frame pointer as its stack grows for the first time, by the instruction in
 * front of `at` or the one there. On arm64: and the link register.
 */
export function savesPointer(code: Buffer, at: number, isArm64: boolean): boolean {
	if (isArm64) return savesPointerArm64(code, at);
	// push %rbp
	if (at >= 1 && code[at - 1] === 0x55) return true;
	if (at + 4 > code.length) return false;
	// mov %rbp, n(%rsp)
	return [0x246c8948, 0x242c8948, 0x24ac8948].includes(code.readUInt32LE(at));
}

/** The ways that Go's assembler has, by how large the frame is, and asyncPreempt's own. */
function savesPointerArm64(code: Buffer, at: number): boolean {
	if (at < 4 || at + 4 > code.length) return false;
	if (at < 8) return savesSmallFrame(code, at);
	const [second, first] = [code.readUInt32LE(at - 8), code.readUInt32LE(at - 4)];
	// stp x29, x30, [x20, #-8]; mov sp, x20
	if (second === 0xa93ffa9d && first === 0x9100029f) return true;
	// str x30, [sp, x27]; sub sp, sp, #n; stur x29, [sp, #-8]
	const isSub = (first & 0xff8003ff) >>> 0 === 0xd10003ff;
	if (second === 0xf83b6bfe && isSub) return code.readUInt32LE(at) === SAVES_X29;
	return savesSmallFrame(code, at);
}

/** stur x29, [sp, #-8] */
const SAVES_X29 = 0xf81f83fd;

/** str x30, [sp, #-n]!; stur x29, [sp, #-8] */
function savesSmallFrame(code: Buffer, at: number): boolean {
	const grows = (code.readUInt32LE(at - 4) & 0xffe00fff) >>> 0 === 0xf8000ffe;
	return grows && code.readUInt32LE(at) === SAVES_X29;
}
