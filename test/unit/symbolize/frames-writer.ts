/** Writes programs whose functions keep a frame pointer or not, with the table that says where they begin. */
import { elfOf } from '../hostile/elf-builder.js';

export const TEXT = 0x1000;
const HDR = 0x8000;
export const CODE = 6;
/** push %rbp; mov %rsp,%rbp */
const FRAME = [0x55, 0x48, 0x89, 0xe5];
/** sub $8,%rsp */
const NO_FRAME = [0x48, 0x83, 0xec, 0x08];

interface WrittenFunction {
	readonly bytes: number;
	readonly frame: boolean;
}

/** A program of these functions, one after the other. */
export function program(
	functions: readonly WrittenFunction[],
	{ entry = 0, name = '.text', flags = CODE, version = 1, listed = functions.length } = {},
): Buffer {
	const starts = functions.map((_, i) =>
		functions.slice(0, i).reduce((sum, { bytes }) => sum + bytes, TEXT),
	);
	const text = Buffer.concat(
		functions.map(({ bytes, frame }) =>
			Buffer.concat([Buffer.from(frame ? FRAME : NO_FRAME)], bytes).fill(0x90, 4),
		),
	);
	const table = Buffer.alloc(12 + 8 * functions.length);
	table.set([version, 0x1b, 0x03, 0x3b]);
	table.writeUInt32LE(listed, 8);
	for (const [i, start] of starts.entries()) table.writeInt32LE(start - HDR, 12 + 8 * i);
	return elfOf({
		sections: [
			{ name, flags, address: TEXT, data: text },
			{ name: '.eh_frame_hdr', address: HDR, data: table },
		],
		header: [[24, 8, BigInt(entry)]],
	});
}

export const many = (count: number, bytes: number, frame: boolean): WrittenFunction[] =>
	Array.from({ length: count }, () => ({ bytes, frame }));
