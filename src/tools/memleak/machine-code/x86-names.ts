/** Names of the instructions that entries of functions are made of, for messages. */
import type { Head } from './x86-encoding.js';
import { ONE_BYTE_MAP, TWO_BYTE_MAP } from './x86-opcodes.js';

const CONDITIONS = [
	...['o', 'no', 'b', 'ae', 'e', 'ne', 'be', 'a', 's', 'ns', 'p', 'np', 'l', 'ge', 'le', 'g'],
];
const ARITHMETIC = ['add', 'or', 'adc', 'sbb', 'and', 'sub', 'xor', 'cmp'];
const ONE_BYTE_NAMES: readonly (readonly [first: number, last: number, name: string])[] = [
	[0x50, 0x57, 'push'],
	[0x58, 0x5f, 'pop'],
	[0x63, 0x63, 'movslq'],
	[0x68, 0x68, 'push'],
	[0x69, 0x69, 'imul'],
	[0x6a, 0x6a, 'push'],
	[0x6b, 0x6b, 'imul'],
	[0x84, 0x85, 'test'],
	[0x86, 0x87, 'xchg'],
	[0x88, 0x8b, 'mov'],
	[0x8d, 0x8d, 'lea'],
	[0x90, 0x90, 'nop'],
	[0xa8, 0xa9, 'test'],
	[0xb0, 0xbf, 'mov'],
	[0xc3, 0xc3, 'ret'],
	[0xc6, 0xc7, 'mov'],
	[0xe8, 0xe8, 'call'],
	[0xe9, 0xe9, 'jmp'],
	[0xeb, 0xeb, 'jmp'],
];

/** The instruction's name; or its opcode, in hexadecimal. */
export function nameOf(code: Uint8Array, { map, at, prefixes }: Head): string {
	const [byte = 0, next = 0] = code.subarray(at, at + 2);
	const hexadecimal = byte.toString(16).padStart(2, '0');
	if (map === ONE_BYTE_MAP) return oneByteName(byte, (next >> 3) & 7) ?? `opcode ${hexadecimal}`;
	if (map !== TWO_BYTE_MAP) return 'a vector instruction';
	if ((byte & 0xf0) === 0x80) return `j${CONDITIONS[byte & 15]}`;
	if ((byte & 0xf0) === 0x40) return `cmov${CONDITIONS[byte & 15]}`;
	if (byte === 0x1e && next === 0xfa && prefixes.rep) return 'endbr64';
	if (byte === 0x05) return 'syscall';
	if (byte === 0x1f) return 'nop';
	return `opcode 0f ${hexadecimal}`;
}

function oneByteName(byte: number, reg: number): string | undefined {
	if ((byte & 0xf0) === 0x70) return `j${CONDITIONS[byte & 15]}`;
	if (byte < 0x40 && (byte & 7) < 6) return ARITHMETIC[byte >> 3];
	if (byte >= 0x80 && byte <= 0x83) return ARITHMETIC[reg];
	if (byte === 0xff) return ['inc', 'dec', 'call', undefined, 'jmp', undefined, 'push'][reg];
	return ONE_BYTE_NAMES.find(([first, last]) => byte >= first && byte <= last)?.[2];
}
