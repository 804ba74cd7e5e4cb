/** Goes through a file's tables of symbols (.symtab, .dynsym). Source: man 5 elf, Elf64_Sym. */
import { readUint64, SymbolError } from './bytes.js';
import { type Elf, type Section, SHF_EXECINSTR } from './elf.js';

const SYMBOL_BYTES = 24;
/** Symbols are read in parts of this many. */
const SYMBOLS_AT_ONCE = 2 ** 15;
/** 1.5 million in a browser. */
const MAX_SYMBOLS = 5_000_000;

export const STT = { notype: 0, object: 1, func: 2, gnuIfunc: 10 } as const;
export const STB = { local: 0, global: 1, weak: 2 } as const;

/** The section with a table's names. Throws SymbolError. */
export function namesOf(elf: Elf, table: Section): Section {
	const strings = elf.sections[table.link];
	if (!strings) throw new SymbolError('symbols without names');
	return strings;
}

/**
 * Calls `see` for each symbol, with where it lies in a part of the table, until that returns true.
 * No objects are made of symbols: there are hundreds of thousands. Throws SymbolError.
 */
export function eachSymbol(
	elf: Elf,
	table: Section,
	see: (part: Buffer, at: number) => boolean,
): void {
	const count = Math.floor(table.size_bytes / SYMBOL_BYTES);
	if (count > MAX_SYMBOLS) throw new SymbolError('too many symbols');
	for (let first = 0; first < count; first += SYMBOLS_AT_ONCE) {
		const some = Math.min(SYMBOLS_AT_ONCE, count - first);
		const part = elf.bytes.read(table.offset + first * SYMBOL_BYTES, some * SYMBOL_BYTES);
		for (let at = 0; at < part.length; at += SYMBOL_BYTES) {
			if (see(part, at)) return;
		}
	}
}

/** STT_… */
export function symbolType(part: Buffer, at: number): number {
	return part.readUInt8(at + 4) & 0xf;
}

/** STB_… */
export function symbolBinding(part: Buffer, at: number): number {
	return part.readUInt8(at + 4) >>> 4;
}

/** Where its name is in the section of names. */
export function symbolName(part: Buffer, at: number): number {
	return part.readUInt32LE(at);
}

/** The section of instructions that it is in; undefined where it is in none. */
export function symbolCode(elf: Elf, part: Buffer, at: number): Section | undefined {
	const section = elf.sections[part.readUInt16LE(at + 6)];
	return section && (section.flags & SHF_EXECINSTR) !== 0 ? section : undefined;
}

/** Its address, as it is linked. */
export function symbolAddress(part: Buffer, at: number): number {
	return readUint64(part, at + 8);
}

/** 0: the file does not say. */
export function symbolSize(part: Buffer, at: number): number {
	return readUint64(part, at + 16);
}
