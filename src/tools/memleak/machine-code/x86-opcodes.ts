/**
 * What x86-64's instructions are made of, as far as it takes to know how long they are, where they
 * go next, and which general registers they write. Source: Intel SDM volume 2, appendix A (opcode
 * maps). What is not listed here is not understood, and nothing is concluded from it.
 *
 * A line is "OPCODES: WORDS"; "80/7" is opcode 80 with 7 in ModRM.reg. The words:
 *
 *   modrm                   a ModRM byte follows, and what it asks for
 *   memory, zero            ModRM must name memory; must be 11 reg 000
 *   imm8 imm16 immz immv    an immediate: immz has 4 bytes (2 with prefix 66), immv 8 with REX.W
 *   moffs                   an address of 8 bytes
 *   rel8 rel32              how far it is from the end of this instruction to the target
 *   reg rm low              writes the register in ModRM.reg, in ModRM.rm, in the opcode's low bits
 *   byte                    what it writes so is a register of 8 bits
 *   vector                  may write whatever ModRM names: which of these write general registers
 *                           is not told apart
 *   rax rcx ... all         writes this register, these
 *   push pop                moves the stack pointer by 8
 *   jump branch call        to rel8 or rel32: always, perhaps, and back again
 *   indirect                to wherever a register or memory says
 *   end                     does not go on to the next instruction, or only by way of the kernel
 *   rep                     only with prefix f3
 */

export const REGISTERS = [
	...['rax', 'rcx', 'rdx', 'rbx', 'rsp', 'rbp', 'rsi', 'rdi'],
	...['r8', 'r9', 'r10', 'r11', 'r12', 'r13', 'r14', 'r15'],
] as const;

export const RSP = 4;
export const ALL_REGISTERS = 0xffff;

const ONE_BYTE = `
00 08 10 18 20 28 30: modrm byte rm
01 09 11 19 21 29 31: modrm rm
02 0a 12 1a 22 2a 32: modrm byte reg
03 0b 13 1b 23 2b 33: modrm reg
04 0c 14 1c 24 2c 34: imm8 rax
05 0d 15 1d 25 2d 35: immz rax
38-3b: modrm
3c: imm8
3d: immz
50-57: push
58-5f: pop low
63: modrm reg
68: immz push
69: modrm reg immz
6a: imm8 push
6b: modrm reg imm8
70-7f: rel8 branch
80/0-6: modrm byte rm imm8
80/7: modrm imm8
81/0-6: modrm rm immz
81/7: modrm immz
83/0-6: modrm rm imm8
83/7: modrm imm8
84 85: modrm
86: modrm byte reg rm
87: modrm reg rm
88: modrm byte rm
89 8c: modrm rm
8a: modrm byte reg
8b: modrm reg
8d: modrm memory reg
8f/0: modrm pop rm
90-97: low rax
98 9f: rax
99: rdx
9c: push
9d: pop
9e:
a0 a1: moffs rax
a2 a3: moffs
a4-a7: rsi rdi rcx
a8: imm8
a9: immz
aa ab ae af: rdi rcx
ac ad: rax rsi rcx
b0-b7: imm8 byte low
b8-bf: immv low
c0/0-5 c0/7: modrm byte rm imm8
c1/0-5 c1/7: modrm rm imm8
c2: imm16 end
c3: end
c6/0: modrm byte rm imm8
c6/7: modrm zero imm8 rax
c7/0: modrm rm immz
c7/7: modrm zero rel32 branch rax
c9: rsp rbp
cc: end
cd: imm8 end
d0/0-5 d0/7 d2/0-5 d2/7: modrm byte rm
d1/0-5 d1/7 d3/0-5 d3/7: modrm rm
d7: rax
d8-df: modrm rax
e0-e3: rel8 branch rcx
e8: rel32 call all
e9: rel32 jump
eb: rel8 jump
f4: end
f5 f8 f9 fc fd:
f6/0-1: modrm imm8
f6/2-3: modrm byte rm
f6/4-7: modrm rax
f7/0-1: modrm immz
f7/2-3: modrm rm
f7/4-7: modrm rax rdx
fe/0-1: modrm byte rm
ff/0-1: modrm rm
ff/2: modrm call all
ff/4: modrm indirect
ff/6: modrm push
`;

/** Behind 0f. */
const TWO_BYTE = `
01: modrm all
05: end all
0b: end
0d 10-1d 1e/0 1e/2-7 1f: modrm
1e/1 ae: modrm rm
28-2b 2e-2f: modrm
2c-2d: modrm reg
31: rax rdx
40-4f: modrm reg
50: modrm reg
51-6f: modrm
70: modrm imm8
71/2 71/4 71/6 72/2 72/4 72/6 73/2-3 73/6-7: modrm imm8
74-76 7c-7d 7f: modrm
77:
7e: modrm rm
80-8f: rel32 branch
90-9f: modrm byte rm
a0 a8: push
a1 a9: pop
a2: rax rbx rcx rdx
a3: modrm
a4 ac: modrm rm imm8
a5 ab ad b3 bb: modrm rm
af: modrm reg
b0: modrm byte rm rax
b1: modrm rm rax
b6 b7 bc-bf: modrm reg
b8: rep modrm reg
ba/4: modrm imm8
ba/5-7: modrm rm imm8
c0: modrm byte reg rm
c1: modrm reg rm
c2 c4 c6: modrm imm8
c3: modrm memory
c5: modrm reg imm8
c7/1: modrm memory rax rdx
c7/3-5: modrm memory
c7/6-7: modrm rm
c8-cf: low
d0-d6 d8-fe: modrm
d7: modrm reg
`;

/** Behind 0f 38, and behind 0f 3a. */
const MAP_38 = `
00-0b 10 14-15 17 1c-1e 20-25 28-2b 30-41 c8-cd cf db-df: modrm
f0-f1: modrm reg rm
f6: modrm reg
`;
const MAP_3A = `
08-0f 20-22 40-42 44 cc ce cf df: modrm imm8
14-17: modrm rm imm8
60-63: modrm rcx imm8
`;

/** Of VEX and EVEX: the map is in the prefix, and most of it is like the one behind 0f. */
const VECTOR_0F = `
10-17 28-2f 41-42 44-47 4a-4b 50-6f 74-76 78-7f 90-93 98-99 ae d0-fe: modrm vector
70-73 c2 c4-c6: modrm vector imm8
77:
`;
const VECTOR_38 = '00-ff: modrm vector';
const VECTOR_3A = '00-ff: modrm vector imm8 rcx';

export interface Opcode {
	readonly words: ReadonlySet<string>;
	/** Bit N for register N: written whatever the operands. */
	readonly writes: number;
}

/** By opcode; by ModRM.reg where that is part of the opcode. */
export type OpcodeMap = readonly (Opcode | readonly (Opcode | undefined)[] | undefined)[];

export const ONE_BYTE_MAP = parseMap(ONE_BYTE);
export const TWO_BYTE_MAP = parseMap(TWO_BYTE);
export const ESCAPE_MAPS = { 56: parseMap(MAP_38), 58: parseMap(MAP_3A) } as const;
/** By the number that VEX and EVEX have for the map. */
export const VECTOR_MAPS: readonly (OpcodeMap | undefined)[] = [
	undefined,
	parseMap(VECTOR_0F),
	parseMap(VECTOR_38),
	parseMap(VECTOR_3A),
];

type Entries = (Opcode | (Opcode | undefined)[] | undefined)[];

function parseMap(text: string): OpcodeMap {
	const map: Entries = new Array(256).fill(undefined);
	for (const line of text.trim().split('\n')) {
		const [ranges = '', words = ''] = line.split(':');
		const opcode = parseWords(words);
		for (const range of ranges.split(' ')) addRange(map, range, opcode);
	}
	return map;
}

/** Adds "70-7f", or "80/0-6". */
function addRange(map: Entries, range: string, opcode: Opcode) {
	const [codes = '', regs] = range.split('/');
	for (const code of numbers(codes)) {
		if (regs === undefined) {
			map[code] = opcode;
			continue;
		}
		const group = map[code];
		const members = Array.isArray(group) ? group : new Array<Opcode | undefined>(8);
		for (const reg of numbers(regs)) members[reg] = opcode;
		map[code] = members;
	}
}

function parseWords(text: string): Opcode {
	const words = new Set(text.trim().split(' '));
	let writes = words.has('all') ? ALL_REGISTERS : 0;
	for (const [i, name] of REGISTERS.entries()) if (words.has(name)) writes |= 1 << i;
	return { words, writes };
}

function numbers(range: string): number[] {
	const [first = 0, last = first] = range.split('-').map((each) => Number.parseInt(each, 16));
	return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
