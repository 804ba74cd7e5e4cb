/**
 * DWARF's expressions, as far as compilers and C libraries write them in tables of frames. They
 * are recognised as a whole, never executed. Source: DWARF 5, 2.5 and 7.7.1.
 */
import type { Cursor } from './cursor.js';

const DEREF = 0x06;
const PLUS_UCONST = 0x23;
const BREG0 = 0x70;
const BREG31 = 0x8f;
/** rsp + 8 + ((rip & 15) >= K) << 3, as linkers write it; the number K is in the byte left out. */
const PLT_BEFORE = [0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a];
const PLT_BEHIND = [0x2a, 0x33, 0x24, 0x22];
const [LIT0, LIT15] = [0x30, 0x3f];

export const EXPRESSION = {
	/** Something else. */
	other: 0,
	/** register + offset */
	register: 1,
	/** What is in memory at register + offset, plus addend. */
	deref: 2,
	/** The CFA in a procedure linkage table of x86-64; `offset` is where in an entry it changes. */
	plt: 3,
} as const;

export interface Expression {
	/** One of EXPRESSION. */
	kind: number;
	register: number;
	offset: number;
	addend: number;
}

/** Reads the block of an expression at the cursor, into `out`. */
export function readExpression(cursor: Cursor, out: Expression): void {
	const start = cursor.block();
	const end = cursor.at;
	out.kind = EXPRESSION.other;
	out.addend = 0;
	if (end > cursor.end || end - start < 2) return;
	cursor.at = start;
	const first = cursor.u8();
	if (isPlt(cursor.bytes, start, end)) {
		out.kind = EXPRESSION.plt;
		out.offset = (cursor.bytes[start + PLT_BEFORE.length] as number) - LIT0;
	} else if (first >= BREG0 && first <= BREG31) {
		out.register = first - BREG0;
		out.offset = cursor.sleb();
		out.kind = kindBehind(cursor, end, out);
	}
	cursor.at = end;
}

function kindBehind(cursor: Cursor, end: number, out: Expression): number {
	if (cursor.at === end) return EXPRESSION.register;
	if (cursor.u8() !== DEREF) return EXPRESSION.other;
	if (cursor.at === end) return EXPRESSION.deref;
	if (cursor.u8() !== PLUS_UCONST) return EXPRESSION.other;
	out.addend = cursor.uleb();
	return cursor.at === end ? EXPRESSION.deref : EXPRESSION.other;
}

function isPlt(bytes: Buffer, start: number, end: number): boolean {
	const kAt = start + PLT_BEFORE.length;
	if (end !== kAt + 1 + PLT_BEHIND.length) return false;
	const k = bytes[kAt] as number;
	if (k < LIT0 || k > LIT15) return false;
	return (
		PLT_BEFORE.every((byte, i) => bytes[start + i] === byte) &&
		PLT_BEHIND.every((byte, i) => bytes[kAt + 1 + i] === byte)
	);
}
