/** Against objdump: each opcode behind 0f and in the maps of VEX and EVEX, whatever libraries of this machine have. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decode } from '../../../../../src/tools/memleak/machine-code/x86-decode.js';
import { temporaryFolder } from '../../../symbolize/support.js';

const NOP = 0x90;
/** As many as the longest of them take: four in front, opcode, ModRM, and a number. */
const SLOT_BYTES = 10;
const LINE = /^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t(\S*)(.*)$/gm;
const folder = temporaryFolder();

interface Known {
	readonly length_bytes: number;
	readonly name: string;
}

/** Each instruction in a slot of its own; what objdump knows of it, by where its slot begins. */
function inSlots(instructions: readonly (readonly number[])[]) {
	const code = Buffer.alloc(instructions.length * SLOT_BYTES, NOP);
	for (const [i, bytes] of instructions.entries()) code.set(bytes, i * SLOT_BYTES);
	const path = join(folder, 'code');
	writeFileSync(path, code);
	const words = ['-Dw', '-b', 'binary', '-m', 'i386:x86-64', path];
	const text = execFileSync('objdump', words, { encoding: 'utf8', maxBuffer: 2 ** 27 });
	const known = new Map<number, Known>();
	for (const [, at = '', bytes = '', name = '', operands = ''] of text.matchAll(LINE)) {
		const place = Number.parseInt(at, 16);
		const isBad = /\(bad\)|^\./.test(name + operands);
		if (place % SLOT_BYTES !== 0 || isBad) continue;
		known.set(place, { length_bytes: bytes.length / 3, name });
	}
	return { code, known };
}

/** What kernels have, and debuggers; what no compiler makes. */
const UNUSUAL = new RegExp(
	'^(sldt|str|lldt|ltr|verr|verw|lar|lsl|clts|sysret.|invd|wbinvd|femms|pf.*|mov|wrmsr|rdmsr|rdpmc|sysenter|sysexit.|' +
		'getsec|movdiri|vmread|vmwrite|rsm|ud[01])$',
);
/** Of those that may stand in front of an instruction. */
const isPrefix = (byte: number) =>
	(byte & 0xf0) === 0x40 || (byte & 0xe7) === 0x26 || PREFIXES.includes(byte);
const PREFIXES = [0x0f, 0x62, 0x64, 0x65, 0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3];
const ARITHMETIC = /^(add|or|adc|sbb|and|sub|xor|cmp)[bwlq]?$/;
/** Two registers; with these, each of the eight that may be a part of the opcode. */
const modRm = (reg: number) => 0xc1 | (reg << 3);
const REGISTERS = [...Array(8).keys()];

const MAPS: Readonly<Record<string, readonly number[]>> = {
	'0f': [0x0f],
	'0f 38': [0x0f, 0x38],
	'0f 3a': [0x0f, 0x3a],
	'VEX 0f': [0xc5, 0xf8],
	'VEX 66 0f': [0xc5, 0xf9],
	'VEX 66 0f 38': [0xc4, 0xe2, 0x79],
	'VEX 66 0f 3a': [0xc4, 0xe3, 0x79],
	'EVEX 0f': [0x62, 0xf1, 0x7c, 0x48],
};

test('common instructions have their names, and arithmetic wherever it is', (t) => {
	if (process.arch !== 'x64') return t.skip('objdump is another one');
	const opcodes = [...Array(256).keys()].filter((opcode) => !isPrefix(opcode));
	const { code, known } = inSlots(
		opcodes.flatMap((opcode) => REGISTERS.map((reg) => [opcode, modRm(reg)])),
	);
	for (const [at, { name, length_bytes }] of known) {
		const ours = decode(code, at)?.name;
		if (ours === undefined || (ours.startsWith('opcode') && !ARITHMETIC.test(name))) continue;
		// It is so with REX.W.
		if (ours === 'movslq' && name === 'movsxd') continue;
		assert.equal(ours, name, code.toString('hex', at, at + length_bytes));
	}
});

for (const [name, head] of Object.entries(MAPS)) {
	test(`behind ${name}: what objdump knows is known, and as long`, (t) => {
		if (process.arch !== 'x64') return t.skip('objdump is another one');
		const instructions = Array.from({ length: 256 }, (_, opcode) =>
			(name === '0f' ? REGISTERS : [2]).map((reg) => [...head, opcode, modRm(reg)]),
		).flat();
		const { code, known } = inSlots(instructions);
		assert.notEqual(known.size, 0);
		for (const [at, theirs] of known) {
			const ours = decode(code, at);
			if (!ours && UNUSUAL.test(theirs.name)) continue;
			const bytes = code.toString('hex', at, at + theirs.length_bytes);
			assert.equal(ours?.length_bytes, theirs.length_bytes, `${bytes} ${theirs.name}`);
		}
	});
}
