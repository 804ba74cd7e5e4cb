/**
 * Whether a function of arm64 leaves the stack pointer, the frame pointer and the link register as its caller has given
 * them, from its first instruction to its last: then the way back is the same in all of it. Told from the instructions
 * alone, by a list of those that are known to leave them so; of a function with any other nothing is told. Source: Arm
 * Architecture Reference Manual for A-profile, chapter C4, "A64 Instruction Set Encoding"; in capitals are names of
 * instructions, as in chapter C6.
 */

/** Numbers of registers. As 31, some instructions mean the stack pointer, others a register that is always zero. */
const [FP, LINK, SP] = [29, 30, 31];
/** Larger ones are not looked at: the vdso has less than 4 KiB of code. */
export const MAX_CODE_BYTES = 2 ** 16;

/** RET, to x30; RETAA and RETAB check its signature first. */
const RETURNS = [0xd65f03c0, 0xd65f0bff, 0xd65f0fff];

/**
 * `code`: the function's instructions, all of them. It must return, and its branches must stay in it: a part of another
 * function, which has its own frame, would leave by a branch into that.
 */
export function isLeaf(code: Buffer): boolean {
	const { length } = code;
	if (length === 0 || length % 4 !== 0 || length > MAX_CODE_BYTES) return false;
	let hasReturn = false;
	let leavesAtEnd = false;
	for (let at = 0; at < length; at += 4) {
		const word = code.readUInt32LE(at);
		const isReturn = RETURNS.includes(word);
		const offset = branchOffset(word);
		if (offset !== undefined) {
			if (at + offset < 0 || at + offset >= length) return false;
		} else if (!isReturn && !keepsAll(word)) return false;
		hasReturn ||= isReturn;
		leavesAtEnd = isReturn || isBranch(word);
	}
	return hasReturn && leavesAtEnd;
}

const bits = (word: number, high: number, low: number) =>
	(word >>> low) & (2 ** (high - low + 1) - 1);
const signed = (value: number, width: number) => (value << (32 - width)) >> (32 - width);

/** B; in BL, which calls, the highest bit is set. */
const isBranch = (word: number) => bits(word, 31, 26) === 0b000101;

/** To where a branch goes, in bytes from itself; undefined: it is no branch to a place that it says itself. */
function branchOffset(word: number): number | undefined {
	if (isBranch(word)) return signed(bits(word, 25, 0), 26) * 4;
	// B.cond; CBZ, CBNZ; then TBZ, TBNZ.
	const isConditional = bits(word, 31, 24) === 0b01010100;
	if (isConditional || bits(word, 30, 25) === 0b011010) return signed(bits(word, 23, 5), 19) * 4;
	return bits(word, 30, 25) === 0b011011 ? signed(bits(word, 18, 5), 14) * 4 : undefined;
}

/** The groups of instructions are told by bits 28 to 25. What is in none of these is reserved, or knows longer vectors. */
function keepsAll(word: number): boolean {
	const group = bits(word, 28, 25);
	if ((group & 0b1110) === 0b1000) return keepsInImmediate(word);
	if ((group & 0b1110) === 0b1010) return keepsInSystem(word);
	if ((group & 0b0101) === 0b0100) return keepsInMemory(word);
	if ((group & 0b0111) === 0b0101) return keepsInRegisters(word);
	if ((group & 0b0111) === 0b0111) return keepsInVectors(word);
	return false;
}

const isKept = (register: number) => register === FP || register === LINK;

/** Data processing with a constant. Of those that may write to sp, only comparisons have 31 there. */
function keepsInImmediate(word: number): boolean {
	const to = bits(word, 4, 0);
	const isSum = bits(word, 28, 23) === 0b100010 && bits(word, 29, 29) === 1; // CMP, CMN
	const isAnd = bits(word, 28, 23) === 0b100100 && bits(word, 30, 29) === 0b11; // TST
	return !isKept(to) && (to !== SP || isSum || isAnd);
}

/** Data processing of registers: the same. */
function keepsInRegisters(word: number): boolean {
	const to = bits(word, 4, 0);
	const isSum = bits(word, 28, 24) === 0b01011 && bits(word, 29, 29) === 1; // CMP, CMN
	const isAnd = bits(word, 28, 24) === 0b01010 && bits(word, 30, 29) === 0b11; // TST
	return !isKept(to) && (to !== SP || isSum || isAnd);
}

/**
 * Floating point and vectors. They do not know sp, and few write to a register that is none of theirs; which
 * ones need not be told.
 */
const keepsInVectors = (word: number) => !isKept(bits(word, 4, 0));

/** Exceptions and system instructions. */
function keepsInSystem(word: number): boolean {
	// SVC. The kernel gives back all registers but the result's.
	if ((word & 0xffe0001f) >>> 0 === 0xd4000001) return true;
	// Hints. Some sign the link register, or take its signature off: walks take no notice of that.
	// Barriers.
	const mask = (word & 0xfffff01f) >>> 0;
	if (mask === 0xd503201f || mask === 0xd503301f) return true;
	// MRS, which reads a system register.
	return bits(word, 31, 20) === 0xd53 && !isKept(bits(word, 4, 0));
}

/** Loads and stores, by bits 29 and 28. What stores one of the registers that count is not told of either. */
function keepsInMemory(word: number): boolean {
	const isVector = bits(word, 26, 26) === 1;
	const keeps = (register: number) => isVector || !isKept(register);
	const keepsBase = !isKept(bits(word, 9, 5)) && bits(word, 9, 5) !== SP;
	const keepsFirst = keeps(bits(word, 4, 0));
	switch (bits(word, 29, 28)) {
		case 0b00:
			// Vectors in several registers; with bit 23 the base moves.
			if (isVector) return bits(word, 31, 31) === 0 && (bits(word, 23, 23) === 0 || keepsBase);
			// LDAR, STLR and such.
			return bits(word, 24, 23) === 0b01 && bits(word, 21, 21) === 0 && keepsFirst;
		case 0b01:
			// From a place that the instruction says.
			return bits(word, 24, 24) === 0 && keepsFirst;
		case 0b10:
			// Pairs; with bit 23 the base moves.
			return (bits(word, 23, 23) === 0 || keepsBase) && keepsFirst && keeps(bits(word, 14, 10));
		default:
			return keepsFirst && keepsBaseOfOne(word, keepsBase);
	}
}

/** One register: whether the base stays. Atomic operations are not told of. */
function keepsBaseOfOne(word: number, keepsBase: boolean): boolean {
	if (bits(word, 24, 24) === 1) return true;
	if (bits(word, 21, 21) === 1) return bits(word, 11, 10) === 0b10;
	return bits(word, 10, 10) === 0 || keepsBase;
}
