/** Files with tables of symbols that are written for a test. */
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf, SECTION_TYPE } from '../../../../src/elf/elf.js';
import { elfOf, symbolsOf } from '../../hostile/elf-builder.js';

/** A symbol. */
interface Written {
	readonly name: string;
	readonly address: number;
	readonly size?: number;
	/** STB << 4 | STT. */
	readonly info?: number;
	/** 3: code. */
	readonly section?: number;
}

const GLOBAL_FUNC = 0x12;
const CODE = 3;
/** Where its code is, and its data. */
export const TEXT = 0x401000;
export const DATA_ADDRESS = 0x500000;

/** Its one table of symbols is of this type. */
export function fileWith(
	symbols: readonly Written[],
	type: number = SECTION_TYPE.dynsym,
	strings?: number,
): Elf {
	const names = Buffer.from(`\0${symbols.map(({ name }) => name).join('\0')}\0`);
	const table = symbolsOf(
		symbols.map(({ name, address, size = 8, info = GLOBAL_FUNC, section = CODE }) => {
			return { name: names.indexOf(`\0${name}\0`) + 1, address, size, info, section };
		}),
	);
	const sections = [
		{ name: '.symbols', type, data: table, link: strings ?? 2 },
		{ name: '.strings', type: 3, data: names },
		{ name: '.text', flags: 6, address: TEXT, data: Buffer.alloc(64) },
		{ name: '.data', flags: 3, address: DATA_ADDRESS, data: Buffer.alloc(64) },
	];
	return new Elf(new MemoryBytes(elfOf({ sections })));
}
