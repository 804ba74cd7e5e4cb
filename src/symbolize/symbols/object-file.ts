/** Names of places in a program or library, from wherever its symbols are. */

import { offsetName } from '../../bounded-names.js';
import { type Bytes, MemoryBytes, SymbolError } from '../../elf/bytes.js';
import { Elf, SECTION_TYPE, type Section } from '../../elf/elf.js';
import { enclosingFunctions } from '../../unwind/functions.js';
import { type DebugFilePlaces, openDebugFile } from './debug-files.js';
import { hasSymbolTable } from './functions.js';
import { goNames } from './go-names.js';
import { pltNames } from './plt.js';
import { SymbolSearch } from './symbol-search.js';
import { unpackXz } from './xz.js';

/** Symbols that came packed: Fedora's are a tenth of that. */
const MAX_UNPACKED_BYTES = 64 * 2 ** 20;
/** What glibc and musl call the code that a signal handler returns to. It has no symbol in stripped files. */
const SIGNAL_TRAMPOLINE = '__restore_rt';

export interface FileNames {
	/**
	 * For each place in the file that was asked for, in the order given. In a function without a name
	 * it is where that begins ("libc.so.6+0x1234"), so that all places in it read the same.
	 */
	readonly names: string[];
	/** Which of them are names of symbols, rather than "libc.so.6+0x1234". */
	readonly known: boolean[];
	readonly buildId: string | undefined;
	/** It, or a debug file, has a table of all its symbols: what has no name there has none. */
	readonly complete: boolean;
}

/**
 * Names these places of a file (offsets into it). `path` is where it is under one of the roots.
 * Throws SymbolError when it is not an ELF file that can be read; damaged symbols only lack.
 */
export async function nameOffsets(
	bytes: Bytes,
	path: string,
	places: DebugFilePlaces,
	offsets: readonly number[],
): Promise<FileNames> {
	const elf = new Elf(bytes);
	const addresses = offsets.map((offset) => elf.addressOf(offset));
	const wanted = ascending(addresses);
	const debug = hasSymbolTable(elf) ? undefined : openDebugFile(elf, path, places);
	const found = new Map<number, string>();
	/** Names that hold only for addresses of the function that begins where it is said here. */
	const doubtful = new Map<number, number>();
	let complete: boolean;
	try {
		const search = new SymbolSearch(wanted);
		complete = await searchAll(search, elf, debug?.elf);
		for (const [i, name] of search.names().entries()) {
			if (name !== undefined) found.set(wanted[i] as number, name);
		}
		if (!complete) for (const [address, start] of search.unsized) doubtful.set(address, start);
	} finally {
		debug?.close();
	}
	attempt(() => {
		const rest = wanted.filter((address) => !found.has(address) || doubtful.has(address));
		for (const [address, name] of goNames(elf, rest)) {
			found.set(address, name);
			doubtful.delete(address);
		}
	});
	attempt(() => {
		const rest = wanted.filter((address) => !found.has(address));
		for (const [address, name] of pltNames(elf, Array.from(rest))) found.set(address, name);
	});
	const asked = wanted.filter((address) => !found.has(address) || doubtful.has(address));
	const enclosing = enclosingFunctions(elf, asked);
	for (const [address, start] of doubtful) {
		if (enclosing.get(address)?.start !== start) found.delete(address);
	}
	for (const [address, { isSignal }] of enclosing) {
		if (isSignal) found.set(address, SIGNAL_TRAMPOLINE);
	}
	const known = addresses.map((address) => address !== undefined && found.has(address));
	const names = addresses.map((address, i) => {
		const place = address ?? (offsets[i] as number);
		return found.get(place) ?? offsetName(path, enclosing.get(place)?.start ?? place);
	});
	return { names, known, buildId: elf.buildId, complete };
}

/** Goes through all symbols there are; whether one of the tables is meant to have every function. */
async function searchAll(search: SymbolSearch, elf: Elf, debug: Elf | undefined) {
	if (addTable(search, elf, SECTION_TYPE.symtab)) return true;
	addTable(search, elf, SECTION_TYPE.dynsym);
	if (debug && addTable(search, debug, SECTION_TYPE.symtab)) return true;
	const packed = elf.section('.gnu_debugdata');
	if (!packed) return false;
	try {
		const unpacked = await unpackXz(elf.contents(packed), MAX_UNPACKED_BYTES);
		return addTable(search, new Elf(new MemoryBytes(unpacked)), SECTION_TYPE.symtab);
	} catch (error) {
		if (error instanceof SymbolError) return false;
		throw error;
	}
}

/** Whether there is such a table, in order. */
function addTable(search: SymbolSearch, elf: Elf, type: number): boolean {
	const table = elf.sections.find((section: Section) => section.type === type);
	return table !== undefined && attempt(() => search.add(elf, table));
}

/** Whether it went without a SymbolError: what is damaged costs its own names only. */
function attempt(step: () => void): boolean {
	try {
		step();
		return true;
	} catch (error) {
		if (error instanceof SymbolError) return false;
		throw error;
	}
}

function ascending(addresses: readonly (number | undefined)[]): Float64Array {
	const known = new Set(addresses.filter((address) => address !== undefined));
	return Float64Array.from(known).sort();
}
