/** Goes through a file's tables of symbols (.symtab, .dynsym). Source: man 5 elf, Elf64_Sym. */
import { SymbolError } from './bytes.js';
import { type Elf, type Section, SHF_EXECINSTR } from './elf.js';

const SYMBOL_BYTES = 24;
const SYMBOL_WORDS = 6;
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

/** A part of a table, in words of 32 bits, which are little-endian here as there. */
export type Symbols = Uint32Array;

/**
 * Calls `see` for each symbol, with where it lies in a part of the table, until that returns true.
 * No objects are made of symbols: there are hundreds of thousands. Throws SymbolError.
 */
export function eachSymbol(
	elf: Elf,
	table: Section,
	see: (part: Symbols, at: number) => boolean,
): void {
	const count = Math.floor(table.size_bytes / SYMBOL_BYTES);
	if (count > MAX_SYMBOLS) throw new SymbolError('too many symbols');
	for (let first = 0; first < count; first += SYMBOLS_AT_ONCE) {
		const some = Math.min(SYMBOLS_AT_ONCE, count - first);
		const part = wordsOf(elf.bytes.read(table.offset + first * SYMBOL_BYTES, some * SYMBOL_BYTES));
		for (let at = 0; at < part.length; at += SYMBOL_WORDS) {
			if (see(part, at)) return;
		}
	}
}

function wordsOf(bytes: Buffer): Symbols {
	const isAligned = bytes.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0;
	const { buffer, byteOffset, length } = isAligned ? bytes : new Uint8Array(bytes);
	return new Uint32Array(buffer, byteOffset, length / Uint32Array.BYTES_PER_ELEMENT);
}

/** STT_… */
export function symbolType(part: Symbols, at: number): number {
	return (part[at + 1] as number) & 0xf;
}

/** STB_… */
export function symbolBinding(part: Symbols, at: number): number {
	return ((part[at + 1] as number) >>> 4) & 0xf;
}

/** Where its name is in the section of names. */
export function symbolName(part: Symbols, at: number): number {
	return part[at] as number;
}

/** The section of instructions that it is in; undefined where it is in none. */
export function symbolCode(elf: Elf, part: Symbols, at: number): Section | undefined {
	const section = elf.sections[(part[at + 1] as number) >>> 16];
	return section && (section.flags & SHF_EXECINSTR) !== 0 ? section : undefined;
}

/** Its address, as it is linked. */
export function symbolAddress(part: Symbols, at: number): number {
	return uint64At(part, at + 2);
}

/** 0: the file does not say. */
export function symbolSize(part: Symbols, at: number): number {
	return uint64At(part, at + 4);
}

/** As readUint64. */
function uint64At(part: Symbols, at: number): number {
	return (part[at + 1] as number) * 2 ** 32 + (part[at] as number);
}
