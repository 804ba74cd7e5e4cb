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
	for (const line of text.split('\n')) {
		const match = /^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t?(.*)$/.exec(line);
		if (match) instructions.set(Number.parseInt(match[1] ?? '', 16), readLine(match));
	}
	return instructions;
}

/** Words in front of an instruction's own name. */
const PREFIX =
	/^(?:(?:data16|cs|ds|es|ss|fs|gs|addr32|lock|repz?|repnz|bnd|notrack|rex[.A-Z]*) +)+/;

function readLine(match: RegExpExecArray): Disassembled {
	const words = (match[3] ?? '').replace(PREFIX, '').replace(/ *[#<].*/, '');
	const [mnemonic = '', ...rest] = words.split(/ +/);
	const operands = rest.join(' ');
	const direct = /^(?:j|call|loop|xbegin)/.test(mnemonic) && /^[0-9a-f]+$/.test(operands);
	return {
		length_bytes: (match[2] ?? '').trim().split(' ').length,
		mnemonic,
		operands,
		target: direct ? Number.parseInt(operands, 16) : undefined,
	};
}
