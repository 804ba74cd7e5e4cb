/**
 * Finds symbols that a file exports by their names, without going through all of them. Source: the hash table of
 * .gnu.hash as glibc's dl-lookup.c reads it.
 */
import { readUint64, SymbolError } from './bytes.js';
import { type Elf, type Section, stringAt } from './elf.js';
import { namesOf } from './symbol-table.js';

const HEADER_BYTES = 16;
const WORD_BYTES = 8;
const SYMBOL_BYTES = 24;
/** Of symbols whose names are compared; a table made to do harm has a chain without an end. */
const MAX_CHAIN = 4096;
const MAX_NAME_BYTES = 256;

export interface ExportedSymbol {
	/** As it is linked. */
	readonly address: number;
	readonly size_bytes: number;
}

export class ExportedSymbols {
	readonly #elf: Elf;
	readonly #hashes: Section | undefined;
	readonly #symbols: Section | undefined;
	readonly #strings: Section | undefined;

	/** Throws SymbolError. */
	constructor(elf: Elf) {
		this.#elf = elf;
		this.#hashes = elf.section('.gnu.hash');
		this.#symbols = elf.section('.dynsym');
		this.#strings = this.#symbols && namesOf(elf, this.#symbols);
	}

	/** Undefined: the file exports none of this name. Throws SymbolError. */
	find(name: string): ExportedSymbol | undefined {
		if (!this.#hashes || !this.#symbols || !this.#strings) return undefined;
		const header = this.#read(0, HEADER_BYTES);
		const buckets = header.readUInt32LE(0);
		const firstHashed = header.readUInt32LE(4);
		const bloomWords = header.readUInt32LE(8);
		if (buckets === 0) return undefined;
		const hash = hashOf(name);
		const bucketsAt = HEADER_BYTES + bloomWords * WORD_BYTES;
		let symbol = this.#read(bucketsAt + (hash % buckets) * 4, 4).readUInt32LE(0);
		if (symbol < firstHashed) return undefined;
		const chainAt = bucketsAt + buckets * 4;
		for (let steps = 0; steps < MAX_CHAIN; steps++, symbol++) {
			const chained = this.#read(chainAt + (symbol - firstHashed) * 4, 4).readUInt32LE(0);
			const found = (chained | 1) === (hash | 1) ? this.#symbolAt(symbol, name) : undefined;
			if (found) return found;
			if ((chained & 1) === 1) return undefined;
		}
		return undefined;
	}

	#symbolAt(number: number, name: string): ExportedSymbol | undefined {
		const { offset, size_bytes } = this.#symbols as Section;
		if ((number + 1) * SYMBOL_BYTES > size_bytes)
			throw new SymbolError('a symbol lies outside its table');
		const symbol = this.#elf.bytes.read(offset + number * SYMBOL_BYTES, SYMBOL_BYTES);
		const strings = this.#strings as Section;
		if (stringAt(this.#elf, strings, symbol.readUInt32LE(0), MAX_NAME_BYTES) !== name)
			return undefined;
		return { address: readUint64(symbol, 8), size_bytes: readUint64(symbol, 16) };
	}

	#read(at: number, length_bytes: number): Buffer {
		const { offset, size_bytes } = this.#hashes as Section;
		if (at + length_bytes > size_bytes) throw new SymbolError('its table of hashes is damaged');
		return this.#elf.bytes.read(offset + at, length_bytes);
	}
}

/** Of 32 bits, as an unsigned number. */
function hashOf(name: string): number {
	let hash = 5381;
	for (const byte of Buffer.from(name)) hash = (Math.imul(hash, 33) + byte) >>> 0;
	return hash;
}
