import { execFileSync } from 'node:child_process';

export interface Disassembled {
	readonly length_bytes: number;
	readonly mnemonic: string;
	readonly operands: string;
	/** Of a direct branch. */
	readonly target: number | undefined;
}

/** The instructions of a file by address, by another reader: objdump. */
export function disassemble(path: string): Map<number, Disassembled> {
	const options = { encoding: 'utf8', maxBuffer: 2 ** 29 } as const;
	const text = execFileSync('objdump', ['-dw', path], options);
	const instructions = new Map<number, Disassembled>();
	for (const [, address = '', bytes = '', words = ''] of text.matchAll(LINE))
		instructions.set(Number.parseInt(address, 16), readLine(bytes, words));
	return instructions;
}

/** Address, bytes, words. */
const LINE = /^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$/gm;
/** The instruction, and what it is of, without the remark behind it. */
const WORDS = /^([^ #<]*) *([^#<]*?) *(?:[#<].*)?$/;
const DIRECT = /^(?:j|call|loop|xbegin)/;
/** Words in front of an instruction's own name. */
const PREFIX =
	/^(?:(?:data16|cs|ds|es|ss|fs|gs|addr32|lock|repz?|repnz|bnd|notrack|rex[.A-Z]*) +)+/;

/** `bytes`: three letters for each. Hundreds of thousands of lines have no second copy of their parts. */
function readLine(bytes: string, line: string): Disassembled {
	const [, mnemonic = '', operands = ''] = WORDS.exec(line.replace(PREFIX, '')) ?? [];
	const direct = DIRECT.test(mnemonic) && /^[0-9a-f]+$/.test(operands);
	return {
		length_bytes: bytes.length / 3,
		mnemonic,
		operands,
		target: direct ? Number.parseInt(operands, 16) : undefined,
	};
}
