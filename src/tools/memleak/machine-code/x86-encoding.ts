/**
 * What x86-64's instructions have around their opcodes: prefixes in front, ModRM and what it asks
 * for behind. Source: Intel SDM volume 2, chapter 2.
 */
import {
	ESCAPE_MAPS,
	ONE_BYTE_MAP,
	type OpcodeMap,
	TWO_BYTE_MAP,
	VECTOR_MAPS,
} from './x86-opcodes.js';

/** The processor's own limit. */
export const MAX_LENGTH_BYTES = 15;

/** What the prefixes say. */
export interface Prefixes {
	/** Of legacy prefixes. */
	readonly count: number;
	readonly operand16: boolean;
	readonly address32: boolean;
	/** One of 66, f2, f3, f0, which VEX does not bear. */
	readonly mandatory: boolean;
	readonly rep: boolean;
	/** 0 without one. */
	readonly rex: number;
}

export interface ModRm {
	readonly mod: number;
	/** With what REX, VEX or EVEX add to them. */
	readonly reg: number;
	readonly rm: number;
	/** Of ModRM, SIB and displacement. */
	readonly length_bytes: number;
	/** Where the displacement is, when the address is it and the stack pointer's value alone. */
	readonly fromStackPointer: number | undefined;
	readonly fromInstructionPointer: boolean;
}

/** An instruction as far as its opcode. */
export interface Head {
	readonly prefixes: Prefixes;
	readonly map: OpcodeMap;
	/** Where the opcode's last byte is. */
	readonly at: number;
	/** The register that VEX and EVEX name beside ModRM. */
	readonly third: number | undefined;
}

/** The prefixes and the opcode's place at offset `at`; null when they are not known. */
export function readHead(code: Uint8Array, at: number): Head | null {
	const prefixes = readPrefixes(code, at);
	const opcodeAt = at + prefixes.count + (prefixes.rex === 0 ? 0 : 1);
	const byte = code[opcodeAt];
	if (byte === 0xc5 || byte === 0xc4 || byte === 0x62) {
		const vector = prefixes.rex === 0 && !prefixes.mandatory;
		return vector ? readVectorHead(code, opcodeAt, prefixes) : null;
	}
	if (byte !== 0x0f) return { prefixes, map: ONE_BYTE_MAP, at: opcodeAt, third: undefined };
	const second = code[opcodeAt + 1];
	if (second === 0x38 || second === 0x3a) {
		return { prefixes, map: ESCAPE_MAPS[second], at: opcodeAt + 2, third: undefined };
	}
	return { prefixes, map: TWO_BYTE_MAP, at: opcodeAt + 1, third: undefined };
}

function readPrefixes(code: Uint8Array, at: number): Prefixes {
	const seen = new Set<number>();
	let end = at;
	for (; end < at + MAX_LENGTH_BYTES && isPrefix(code[end]); end++) seen.add(code[end] as number);
	const next = code[end] ?? 0;
	return {
		count: end - at,
		operand16: seen.has(0x66),
		address32: seen.has(0x67),
		mandatory: [0x66, 0xf0, 0xf2, 0xf3].some((each) => seen.has(each)),
		rep: seen.has(0xf3),
		rex: (next & 0xf0) === 0x40 ? next : 0,
	};
}

function isPrefix(byte: number | undefined): boolean {
	switch (byte) {
		case 0x26: // es, cs, ss, ds, fs, gs
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0x66: // operand size, address size
		case 0x67:
		case 0xf0: // lock, repne, rep
		case 0xf2:
		case 0xf3:
			return true;
		default:
			return false;
	}
}

/** The prefixes VEX (c5, c4) and EVEX (62): they hold REX's bits, inverted, and the map. */
function readVectorHead(code: Uint8Array, at: number, prefixes: Prefixes): Head | null {
	const [kind = 0, first = 0, second = 0] = code.subarray(at, at + 3);
	const short = kind === 0xc5;
	const mapNumber = short ? 1 : first & (kind === 0x62 ? 7 : 0x1f);
	// What APX adds to EVEX is marked by these bits.
	if (kind === 0x62 && ((first & 0x08) !== 0 || (second & 0x04) === 0)) return null;
	const map = VECTOR_MAPS[mapNumber];
	if (!map) return null;
	const inverted = ~first & (short ? 0x80 : 0xe0);
	return {
		prefixes: { ...prefixes, rex: 0x40 | (inverted >> 5) },
		map,
		at: at + (short ? 2 : kind === 0xc4 ? 3 : 4),
		third: (~(short ? first : second) >> 3) & 15,
	};
}

/** The ModRM byte at `at`, with SIB and displacement; null at the end of the code. */
export function readModRm(code: Uint8Array, at: number, rex: number): ModRm | null {
	const byte = code[at];
	if (byte === undefined) return null;
	const mod = byte >> 6;
	const low = byte & 7;
	const sib = mod !== 3 && low === 4 ? code[at + 1] : undefined;
	const withoutBase = mod === 0 && (sib === undefined ? low : sib & 7) === 5;
	const displacementBytes = mod === 1 ? 1 : mod === 2 || withoutBase ? 4 : 0;
	const displacementAt = at + (sib === undefined ? 1 : 2);
	const stack = sib === 0x24 && (rex & 3) === 0;
	return {
		mod,
		reg: ((byte >> 3) & 7) | ((rex & 4) << 1),
		rm: low | ((rex & 1) << 3),
		length_bytes: displacementAt + displacementBytes - at,
		fromStackPointer: stack ? readSigned(code, displacementAt, displacementBytes) : undefined,
		fromInstructionPointer: withoutBase && sib === undefined,
	};
}

/** 0 for what has 0 bytes, or 8: nothing needs those. */
export function readSigned(code: Uint8Array, at: number, bytes: number): number {
	const low = code[at] ?? 0;
	if (bytes === 1) return (low << 24) >> 24;
	if (bytes !== 4) return 0;
	const second = code[at + 1] ?? 0;
	const third = code[at + 2] ?? 0;
	const high = code[at + 3] ?? 0;
	return low | (second << 8) | (third << 16) | (high << 24);
}
