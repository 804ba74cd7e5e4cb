/**
 * The table of functions that every Go program has, also a stripped one, as its own runtime needs it: where each
 * begins, its name, and how its stack grows. Source: Go's src/runtime/symtab.go (pcHeader, moduledata), runtime2.go
 * (_func) and cmd/link/internal/ld/pcln.go, of Go 1.16 to 1.26; the release notes of Go 1.26, "Linker".
 */
import { firstIndex } from '../ascending.js';
import { type Bytes, MemoryBytes, readText, readUint64, SymbolError } from './bytes.js';
import { type Elf, MACHINE } from './elf.js';
import { type Place, textStart } from './go-place.js';

/** The first word of a table: which version of Go began to write it so. */
const VERSIONS: Readonly<Record<number, number>> = {
	4294967290: 16,
	4294967280: 18,
	4294967281: 20,
};
/** Of Go 1.2 to 1.15. */
const OLD_MAGIC = 0xffff_fffb;
/** caddy has 41,202. */
const MAX_FUNCTIONS = 2 ** 20;
/** caddy's longest has 308. */
const MAX_NAME_BYTES = 4096;
const POINTER_BYTES = 8;
/** What addresses are counted in. */
const QUANTUM: Readonly<Record<number, number>> = { [MACHINE.x64]: 1, [MACHINE.arm64]: 4 };
/** Behind the first eight bytes: how many functions and files; from 1.18 on where code begins; then where what is. */
const HEADER_WORDS = 8;
/** _func, up to its flags. */
const RECORD_BYTES = 48;
/** caddy's longest has 668. */
const MAX_STACK_BYTES = 2 ** 16;

/** Bits of a function's flags: src/internal/abi/symtab.go, FuncFlag. */
export const GO_FLAG = {
	/** Nobody called it: it is the first of its stack. */
	top: 1,
	/** It sets the stack pointer to what is not said. */
	switchesStack: 2,
	/** It was written in assembly. */
	assembly: 4,
} as const;

/** What the table says of one function. */
export interface GoFunction {
	/** Where it begins, as it is linked. */
	readonly start: number;
	/** Where the next one begins. */
	readonly end: number;
	/** Bits of GO_FLAG; Go 1.16 has none, and Go 1.17 no `assembly`. */
	readonly flags: number;
	readonly nameOffset: number;
	/** 0: nothing is said of its stack. */
	readonly stackOffset: number;
}

export class GoTable {
	/** How many functions there are. */
	readonly count: number;
	/** What addresses are counted in: 1 byte, or 4 on arm64. */
	readonly quantum: number;
	/** Functions have all flags: those of Go 1.16 and 1.17 have not. */
	readonly hasFlags: boolean;
	readonly #bytes: Bytes;
	/** The whole table, if it was read at once. */
	readonly #all: Buffer | undefined;
	/** In a function's record. */
	readonly #flagsAt: number;
	/** Where code begins; 0 where the table has whole addresses. */
	readonly #text: number;
	/** Begins and places of the functions; and the end of the last. */
	readonly #index: Buffer;
	readonly #fieldBytes: number;
	readonly #namesAt: number;
	readonly #stacksAt: number;
	readonly #recordsAt: number;

	/** `isForAll`: all functions will be looked at, so that it is read at once. Throws SymbolError. */
	constructor(elf: Elf, { at, size_bytes }: Place, isForAll: boolean) {
		const inFile = new PartOfBytes(elf.bytes, at, size_bytes);
		this.#all = isForAll ? inFile.read(0, size_bytes) : undefined;
		this.#bytes = this.#all ? new MemoryBytes(this.#all) : inFile;
		const header = this.#bytes.read(0, 8 + HEADER_WORDS * POINTER_BYTES);
		const version = VERSIONS[header.readUInt32LE(0)] ?? 0;
		this.quantum = header.readUInt8(6);
		if (header.readUInt32LE(0) === OLD_MAGIC) throw new SymbolError('Go before 1.16 wrote it');
		const isKnown = version > 0 && header.readUInt16LE(4) === 0;
		if (!isKnown || this.quantum !== QUANTUM[elf.machine] || header.readUInt8(7) !== POINTER_BYTES)
			throw new SymbolError('Go wrote it in a way that tstrace does not know');
		this.count = headerWord(header, 0);
		if (this.count === 0 || this.count > MAX_FUNCTIONS) throw new SymbolError('too many functions');
		const hasStart = version >= 18;
		// Behind them: compilation units and files.
		const places = hasStart ? 3 : 2;
		this.#namesAt = headerWord(header, places);
		this.#stacksAt = headerWord(header, places + 3);
		this.#recordsAt = headerWord(header, places + 4);
		this.hasFlags = hasStart;
		this.#fieldBytes = hasStart ? 4 : POINTER_BYTES;
		this.#flagsAt = this.#fieldBytes + 33 + (version >= 20 ? 4 : 0);
		this.#index = this.#bytes.read(this.#recordsAt, (this.count * 2 + 1) * this.#fieldBytes);
		this.#checkOrder();
		this.#text = hasStart ? textStart(elf, at, headerWord(header, 2)) : 0;
	}

	/** Of each function in turn, by its number from 0 on, in the order of their addresses. Throws SymbolError. */
	functionAt(number: number): GoFunction {
		const at = this.#recordsAt + this.#field(number * 2 + 1);
		const skipped = this.#fieldBytes;
		const record = this.#bytes.read(at, Math.min(RECORD_BYTES, this.#bytes.size_bytes - at));
		if (record.length <= this.#flagsAt) throw new SymbolError('a function lies outside its table');
		return {
			start: this.startOf(number),
			end: this.startOf(number + 1),
			flags: record.readUInt8(this.#flagsAt),
			nameOffset: record.readUInt32LE(skipped),
			stackOffset: record.readUInt32LE(skipped + 12),
		};
	}

	/** The flags of function `number`, without what else there is of it. Throws SymbolError. */
	flagsOf(number: number): number {
		const at = this.#recordsAt + this.#field(number * 2 + 1) + this.#flagsAt;
		return this.#all?.[at] ?? this.functionAt(number).flags;
	}

	/** Where function `number` begins, as it is linked; of the number behind the last, where that ends. */
	startOf(number: number): number {
		return this.#text + this.#field(number * 2);
	}

	/** The number of the function around an address; -1 where there is none. */
	numberAt(address: number): number {
		const behind = firstIndex(this.count + 1, (i) => this.startOf(i) > address);
		return behind > this.count ? -1 : behind - 1;
	}

	/** Its name, or the first so many bytes of it. Throws SymbolError. */
	nameOf({ nameOffset }: GoFunction, limit_bytes = MAX_NAME_BYTES): string {
		return readText(this.#bytes, this.#namesAt + nameOffset, limit_bytes);
	}

	/** The bytes that say how the function's stack grows, and others behind them. Throws SymbolError. */
	stackBytes({ stackOffset }: GoFunction): Buffer {
		const at = this.#stacksAt + stackOffset;
		return this.#bytes.read(at, Math.min(MAX_STACK_BYTES, this.#bytes.size_bytes - at));
	}

	#checkOrder(): void {
		for (let i = 0; i < this.count; i++) {
			if (this.#field(i * 2) > this.#field(i * 2 + 2))
				throw new SymbolError('its functions are not in the order of their addresses');
		}
	}

	#field(number: number): number {
		const at = number * this.#fieldBytes;
		return this.#fieldBytes === 4 ? this.#index.readUInt32LE(at) : readUint64(this.#index, at);
	}
}

/** A part of a file, by itself. */
class PartOfBytes implements Bytes {
	constructor(
		private readonly whole: Bytes,
		private readonly start: number,
		readonly size_bytes: number,
	) {}

	read(offset: number, length_bytes: number): Buffer {
		if (offset < 0 || offset + length_bytes > this.size_bytes)
			throw new SymbolError('a part lies outside the table');
		return this.whole.read(this.start + offset, length_bytes);
	}
}

const headerWord = (header: Buffer, number: number) =>
	readUint64(header, 8 + number * POINTER_BYTES);
