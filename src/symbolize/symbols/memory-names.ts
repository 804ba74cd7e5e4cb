/** What lies at an address of a process's data: a variable of a file's, or which memory it is. */
import { closeSync } from 'node:fs';
import type { MemoryPlace } from '../../aggregate/wait-object.js';
import { firstIndex } from '../../ascending.js';
import { boundedName, offsetName } from '../../bounded-names.js';
import { FileBytes, SymbolError } from '../../elf/bytes.js';
import { Elf, PF_X, SEGMENT_TYPE } from '../../elf/elf.js';
import { readMaps } from '../../proc/process-facts.js';
import type { AddressSpace, Mapping } from '../mappings/address-space.js';
import type { MappedFile } from '../mappings/mapped-file.js';
import type { ProcessHistory } from '../mappings/processes.js';
import { openDebugFile } from './debug-files.js';
import { hasSymbolTable } from './functions.js';
import { Variables } from './variables.js';

/** Files below an address that may reach up to it. */
const MOST_FILES = 4;
/** Of all places together. */
const TIME_LIMIT_MS = 2000;
/** Of a thread's stack most often, see `ulimit -s`; of one whose mappings are gone. */
const STACK_BYTES = 8 * 2 ** 20;
/** glibc, malloc/arena.c: HEAP_MAX_SIZE, at a multiple of which each arena begins. */
const ARENA_BYTES = 64 * 2 ** 20;

/** By `place`: a name with an offset, or which memory it is; '': that is not known. */
export function memoryNames(
	places: readonly MemoryPlace[],
	history: ProcessHistory,
): Map<MemoryPlace, string> {
	const until_ms = performance.now() + TIME_LIMIT_MS;
	const files = new Map<MappedFile, OpenElf | undefined>();
	const maps = new Map<number, readonly Area[]>();
	const names = new Map<MemoryPlace, string>();
	try {
		for (const place of places) {
			// No file lies there: it need not be looked for.
			if (place.inHeap) names.set(place, 'heap');
			else if (performance.now() <= until_ms)
				names.set(place, variableAt(place, history, files) || memoryAt(place, maps));
		}
	} finally {
		for (const file of files.values()) file?.close();
	}
	return names;
}

/** A file while names are asked for. */
class OpenElf {
	readonly elf: Elf;
	readonly #file: MappedFile;
	readonly #fd: number;
	readonly #own: Variables;
	/** Undefined: nobody has asked. */
	#debug: { readonly variables?: Variables; close(): void } | undefined;

	/** Takes the descriptor over. Throws SymbolError. */
	constructor(file: MappedFile, fd: number, size_bytes: number) {
		this.#file = file;
		this.#fd = fd;
		this.elf = new Elf(new FileBytes(fd, size_bytes));
		this.#own = new Variables(this.elf);
	}

	/** The variable, or how far in the file's data it is; '': these do not reach there. `address`: as it is linked. */
	nameAt(address: number): string {
		const isIn = this.elf.segments.some(
			({ type, address: from, memory_bytes }) =>
				type === SEGMENT_TYPE.load && address >= from && address < from + memory_bytes,
		);
		if (!isIn) return '';
		return (
			this.#own.nameAt(address) ||
			this.#debugFile().variables?.nameAt(address) ||
			offsetName(this.#file.path, address)
		);
	}

	close(): void {
		this.#debug?.close();
		closeSync(this.#fd);
	}

	/** Looked for once, of a file that has no names itself. */
	#debugFile() {
		const path = this.#file.path;
		const open = () => openDebugFile(this.elf, path, { roots: this.#file.roots() });
		const found = this.#debug || hasSymbolTable(this.elf) ? undefined : open();
		this.#debug ??= found
			? { variables: new Variables(found.elf), close: () => found.close() }
			: { close: () => undefined };
		return this.#debug;
	}
}

function variableAt(
	{ pid, address, at_ns }: MemoryPlace,
	history: ProcessHistory,
	files: Map<MappedFile, OpenElf | undefined>,
): string {
	for (const { file, start, fileOffset } of filesBelow(history.at(pid, at_ns), address)) {
		if (!files.has(file)) files.set(file, openElf(file));
		const open = files.get(file);
		const linked = open && codeAddress(open.elf, fileOffset);
		const name = open && linked !== undefined ? open.nameAt(address - start + linked) : '';
		if (name) return name;
	}
	return '';
}

/** The nearest ones, each once. */
function filesBelow(
	space: AddressSpace | undefined,
	address: number,
): (Mapping & { file: MappedFile })[] {
	const below = new Map<MappedFile, Mapping & { file: MappedFile }>();
	for (const mapping of space?.files() ?? []) {
		const known = below.get(mapping.file);
		if (mapping.start <= address && mapping.start > (known?.start ?? -1))
			below.set(mapping.file, mapping);
	}
	return [...below.values()].sort((a, b) => b.start - a.start).slice(0, MOST_FILES);
}

/** Of code: where segments share a page of the file, `addressOf` may take the one in front. */
function codeAddress(elf: Elf, fileOffset: number): number | undefined {
	const code = elf.segments.find(
		({ type, flags, offset, size_bytes }) =>
			type === SEGMENT_TYPE.load && (flags & PF_X) !== 0 && fileOffset < offset + size_bytes,
	);
	return code && fileOffset - code.offset + code.address;
}

function openElf(file: MappedFile): OpenElf | undefined {
	const open = file.open();
	if (!open) return undefined;
	try {
		return new OpenElf(file, open.fd, open.stat.size);
	} catch (error) {
		closeSync(open.fd);
		if (error instanceof SymbolError) return undefined;
		throw error;
	}
}

/** A mapping, of whatever kind. */
interface Area {
	readonly start: number;
	readonly end: number;
	/** "rw-p" */
	readonly access: string;
	readonly fileOffset: number;
	readonly path: string;
}

const LINE = /^([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) \S+ \d+ *(.*)$/;

function areasOf(pid: number): Area[] {
	return (readMaps(pid) ?? '').split('\n').flatMap((line) => {
		const [, start = '', end = '', access = '', offset = '', path = ''] = LINE.exec(line) ?? [];
		if (access === '') return [];
		const [from, to, fileOffset] = [start, end, offset].map((text) => Number.parseInt(text, 16));
		return [
			{ start: from as number, end: to as number, access, fileOffset: fileOffset as number, path },
		];
	});
}

function memoryAt(place: MemoryPlace, known: Map<number, readonly Area[]>): string {
	const { pid, address, sp } = place;
	const areas = known.get(pid) ?? areasOf(pid);
	known.set(pid, areas);
	// A process can have a million, and be asked for as many places.
	const at = firstIndex(areas.length, (i) => (areas[i] as Area).end > address);
	const area = areas[at];
	// The process has ended, or another one has its number.
	if (!area || area.start > address)
		return address >= sp && address < sp + STACK_BYTES ? 'stack' : '';
	const { path, start, end, fileOffset } = area;
	if (path === '[stack]' || (sp >= start && sp < end)) return 'stack';
	if (path.startsWith('[anon')) return boundedName(path);
	if (path !== '') return offsetName(path, address - start + fileOffset);
	if (start % ARENA_BYTES === 0) return 'heap';
	// The C library puts pages below a stack that nobody may touch.
	const below = areas[at - 1];
	return below?.end === start && below.access.startsWith('---') ? 'stack' : 'anonymous memory';
}
