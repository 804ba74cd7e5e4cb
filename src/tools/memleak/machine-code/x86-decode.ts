/**
 * Decodes single x86-64 instructions, as far as it takes to choose where in a function to put a
 * uprobe: length, where it goes next, which registers it writes, and whether the kernel emulates
 * it under a uprobe. Gives up on what it does not know; it never guesses.
 */

import {
	type Head,
	MAX_LENGTH_BYTES,
	type ModRm,
	type Prefixes,
	readHead,
	readModRm,
	readSigned,
} from './x86-encoding.js';
import { nameOf } from './x86-names.js';
import {
	ALL_REGISTERS,
	ONE_BYTE_MAP,
	type Opcode,
	type OpcodeMap,
	REGISTERS,
	RSP,
	TWO_BYTE_MAP,
} from './x86-opcodes.js';

export interface Instruction {
	readonly length_bytes: number;
	/** For people: "je", "push", or the opcode's bytes when it is none of the common ones. */
	readonly name: string;
	/**
	 * To the next one (also after a call); to `target`, perhaps; to `target` always; to what a
	 * register or memory says; not on by itself (ret, syscall, ud2).
	 */
	readonly flow: 'next' | 'call' | 'branch' | 'jump' | 'indirect' | 'end';
	/** Where a direct branch goes, as an offset into the code; may lie outside. */
	readonly target: number | undefined;
	/** `jmp *disp(%rip)`: to what one variable says, as by way of the GOT. */
	readonly throughVariable: boolean;
	/** By every kernel since 5.4, under a uprobe. */
	readonly emulated: boolean;
	/** Bit N for register N (in the order of REGISTERS): all that it may write, and perhaps more. */
	readonly writes: number;
	/** By how much the stack grows; undefined when that is not known. */
	readonly pushed_bytes: number | undefined;
}

/** The instruction at offset `at`; null when it is not known, or does not end within the code. */
export function decode(code: Uint8Array, at: number): Instruction | null {
	const head = readHead(code, at);
	const opcode = head && opcodeOf(code, head);
	if (!opcode) return null;
	const { prefixes } = head;
	const modRm = opcode.words.has('modrm') ? readModRm(code, head.at + 1, prefixes.rex) : undefined;
	if (modRm === null || !isAllowed(opcode, modRm, prefixes)) return null;
	const immediateAt = head.at + 1 + (modRm?.length_bytes ?? 0);
	const immediateBytes = sizeOfImmediate(opcode, prefixes);
	if (immediateBytes === undefined) return null;
	const length_bytes = immediateAt + immediateBytes - at;
	if (length_bytes > MAX_LENGTH_BYTES || at + length_bytes > code.length) return null;
	const immediate = readSigned(code, immediateAt, immediateBytes);
	const byte = code[head.at] as number;
	const operation = { opcode, byte, modRm, immediate, writes: writesOf(opcode, head, byte, modRm) };
	const flow = flowOf(opcode);
	const direct = opcode.words.has('rel8') || opcode.words.has('rel32');
	return {
		length_bytes,
		name: nameOf(code, head),
		flow,
		target: direct ? at + length_bytes + immediate : undefined,
		throughVariable: flow === 'indirect' && (modRm?.fromInstructionPointer ?? false),
		emulated: isEmulated(prefixes, head.map, byte),
		writes: operation.writes,
		pushed_bytes: pushedBytes(head, operation),
	};
}

function opcodeOf(code: Uint8Array, { map, at }: Head): Opcode | undefined {
	const byte = code[at];
	const listed = byte === undefined ? undefined : map[byte];
	return isGroup(listed) ? listed[((code[at + 1] ?? 0) >> 3) & 7] : listed;
}

function isGroup(listed: OpcodeMap[number]): listed is readonly (Opcode | undefined)[] {
	return Array.isArray(listed);
}

function isAllowed({ words }: Opcode, modRm: ModRm | undefined, { rep, rex }: Prefixes): boolean {
	if (words.has('rep') && !rep) return false;
	if (words.has('memory') && modRm?.mod === 3) return false;
	return !words.has('zero') || (modRm?.mod === 3 && modRm.rm === (rex & 1) << 3);
}

const IMMEDIATES = ['rel8', 'rel32', 'moffs', 'imm8', 'imm16', 'immz', 'immv'] as const;

/** Of an immediate, an address or a distance; undefined where prefixes make that unclear. */
function sizeOfImmediate({ words }: Opcode, prefixes: Prefixes): number | undefined {
	const wide = (prefixes.rex & 8) !== 0;
	const narrow = prefixes.operand16 && !wide;
	switch (IMMEDIATES.find((word) => words.has(word))) {
		// Intel's processors ignore 66 before these two, AMD's do not.
		case 'rel8':
			return narrow ? undefined : 1;
		case 'rel32':
			return narrow ? undefined : 4;
		case 'moffs':
			return prefixes.address32 ? undefined : 8;
		case 'imm8':
			return 1;
		case 'imm16':
			return 2;
		case 'immz':
			return narrow ? 2 : 4;
		case 'immv':
			return wide ? 8 : narrow ? 2 : 4;
		default:
			return 0;
	}
}

function flowOf({ words }: Opcode): Instruction['flow'] {
	const flows = ['call', 'branch', 'jump', 'indirect', 'end'] as const;
	return flows.find((flow) => words.has(flow)) ?? 'next';
}

function writesOf(opcode: Opcode, head: Head, byte: number, modRm: ModRm | undefined): number {
	const { words } = opcode;
	const { rex } = head.prefixes;
	// nop, or pause; with REX.B it is xchg with r8.
	if (head.map === ONE_BYTE_MAP && byte === 0x90 && (rex & 1) === 0) return 0;
	let { writes } = opcode;
	const vector = words.has('vector');
	// Without REX, 4 to 7 are ah, ch, dh and bh.
	const high = words.has('byte') && rex === 0;
	const bit = (register: number) => 1 << (high && register >= 4 ? register - 4 : register);
	if (modRm && (vector || words.has('reg'))) writes |= bit(modRm.reg);
	if (modRm?.mod === 3 && (vector || words.has('rm'))) writes |= bit(modRm.rm);
	if (words.has('low')) writes |= bit((byte & 7) | ((rex & 1) << 3));
	if (head.third !== undefined) writes |= bit(head.third);
	return writes & ALL_REGISTERS;
}

/**
 * Whether the kernel does the instruction's work itself, instead of single-stepping a copy of it.
 * Source: arch/x86/kernel/uprobes.c, branch_setup_xol_ops() and push_setup_xol_ops(), as they are
 * from 5.4 to 2026; a rule counts when it holds for all. Longer nops are emulated by the newest
 * only. Prefixes before branches and nops are refused by some (66), and nobody uses others. A call
 * is emulated, but left out: emulate_push_stack() does not write to the shadow stack that processes
 * can have since 6.6, so that the callee's return would kill the process.
 */
function isEmulated({ count, rex }: Prefixes, map: OpcodeMap, byte: number): boolean {
	if (count > 0) return false;
	if (map === TWO_BYTE_MAP) return rex === 0 && (byte & 0xf0) === 0x80;
	if (map !== ONE_BYTE_MAP) return false;
	if ((byte & 0xf8) === 0x50) return rex === 0 || rex === 0x41;
	const branch = byte === 0xe9 || byte === 0xeb || (byte & 0xf0) === 0x70;
	return rex === 0 && (branch || byte === 0x90);
}

interface Operation {
	readonly opcode: Opcode;
	readonly byte: number;
	readonly modRm: ModRm | undefined;
	readonly immediate: number;
	readonly writes: number;
}

function pushedBytes({ prefixes, map }: Head, operation: Operation): number | undefined {
	const { words } = operation.opcode;
	const writesPointer = (operation.writes & (1 << RSP)) !== 0;
	if (words.has('push')) return prefixes.operand16 ? undefined : 8;
	if (words.has('pop')) return prefixes.operand16 || writesPointer ? undefined : -8;
	if (!writesPointer) return 0;
	const wide = (prefixes.rex & 8) !== 0;
	return wide && map === ONE_BYTE_MAP ? addedToStack(operation) : undefined;
}

function addedToStack({ byte, modRm, immediate }: Operation): number | undefined {
	const operator = modRm && modRm.reg & 7;
	const arithmetic = byte === 0x81 || byte === 0x83;
	if (arithmetic && operator === 0) return -immediate;
	if (arithmetic && operator === 5) return immediate;
	// lea disp(%rsp),%rsp
	const displacement = byte === 0x8d ? modRm?.fromStackPointer : undefined;
	return displacement === undefined ? undefined : -displacement;
}

/** The bit of each of these registers, together. */
export function registerMask(names: readonly (typeof REGISTERS)[number][]): number {
	return names.reduce((mask, name) => mask | (1 << REGISTERS.indexOf(name)), 0);
}
