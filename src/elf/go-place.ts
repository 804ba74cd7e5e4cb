/**
 * Where the table of Go's functions is in a file, and where the code begins that its offsets count from. Sections say
 * so, or, where a linker has merged them or somebody has taken them away, what the table begins with.
 */
import { readUint64, SymbolError } from './bytes.js';
import { type Elf, MACHINE, PF_X, SECTION_TYPE, SEGMENT_TYPE } from './elf.js';

/** The second is what Go's linker writes into programs that can be mapped anywhere, up to Go 1.25. */
const SECTIONS = ['.gopclntab', '.data.rel.ro.gopclntab'];
/** Every Go program has it, and other programs do not. */
const MARK = '.go.buildinfo';
/** moduledata, from Go 1.26 on; and which of its words says where code begins: runtime/symtab.go. */
const MODULE = { name: '.go.module', textAt: 22 * 8 };
/** Where it is in the table's header. */
const TEXT_AT = 24;

/** What is searched for a table that no section names. */
const MAX_SEARCHED_BYTES = 128 * 2 ** 20;
const SEARCHED_AT_ONCE = 4 * 2 ** 20;
/** Behind the first byte, which tells the version: zeros, what addresses count in, and how long they are. */
const BEGINNINGS: Readonly<Record<number, Buffer>> = {
	[MACHINE.x64]: Buffer.from('ffffff0000' + '0108', 'hex'),
	[MACHINE.arm64]: Buffer.from('ffffff0000' + '0408', 'hex'),
};
const FIRST_BYTES: readonly (number | undefined)[] = [0xfa, 0xf0, 0xf1];
const HEADER_BYTES = 72;
/** What looks like the beginning of one, in a part that is searched; more than one is chance, more than a few malice. */
const MAX_BEGINNINGS = 64;
/** Linkers align it by more. */
const ALIGNMENT = 8;

const RELOCATION_BYTES = 24;
const MAX_RELOCATIONS_BYTES = 32 * 2 ** 20;

export interface Place {
	/** In the file. */
	readonly at: number;
	/** The table has no more. */
	readonly size_bytes: number;
}

/** Undefined: it is no Go program. Throws SymbolError. */
export function findGoTable(elf: Elf): Place | undefined {
	const section = elf.sections.find(
		({ name, type }) => SECTIONS.includes(name) && type !== SECTION_TYPE.nobits,
	);
	if (section) return { at: section.offset, size_bytes: section.size_bytes };
	return elf.sections.length === 0 || elf.section(MARK) ? searched(elf) : undefined;
}

/** The first place that looks like a table in what is mapped and is no code. */
function searched(elf: Elf): Place | undefined {
	const beginning = BEGINNINGS[elf.machine];
	if (!beginning) return undefined;
	let left = MAX_SEARCHED_BYTES;
	for (const { type, flags, offset, size_bytes } of elf.segments) {
		if (type !== SEGMENT_TYPE.load || (flags & PF_X) !== 0) continue;
		const end = offset + Math.min(size_bytes, left);
		left -= end - offset;
		// Parts overlap, so that no header lies across their border.
		for (let from = offset; from < end; from += SEARCHED_AT_ONCE) {
			const length = Math.min(SEARCHED_AT_ONCE + HEADER_BYTES, end - from);
			const found = headerIn(elf.bytes.read(from, length), beginning, offset + size_bytes - from);
			if (found !== undefined)
				return { at: from + found, size_bytes: offset + size_bytes - from - found };
		}
	}
	return undefined;
}

/** Where in these bytes a header is, of a table that has room in `room_bytes`. */
function headerIn(bytes: Buffer, beginning: Buffer, room_bytes: number): number | undefined {
	for (let at = 0, i = 0; i < MAX_BEGINNINGS; i++) {
		at = bytes.indexOf(beginning, at + 1);
		if (at < 0) return undefined;
		const start = at - 1;
		if (start % ALIGNMENT !== 0 || start + HEADER_BYTES > bytes.length) continue;
		if (!FIRST_BYTES.includes(bytes[start])) continue;
		// Where names, units, files, stacks and records are: in the header's last words, in this order.
		const places = [4, 5, 6, 7].map((word) => readUint64(bytes, start + word * 8));
		const isAscending = places.every((place, i) => place > (places[i - 1] ?? 0));
		if (isAscending && (places[3] as number) < room_bytes - start) return start;
	}
	return undefined;
}

/**
 * Where code begins, as it is linked, of a table at this place in the file whose header says `said`. From Go 1.26 on
 * it says nothing (0), and before that it says nothing in the file if the loader is to write it. Throws SymbolError
 * where nobody says it: wrong names are worse than none.
 */
export function textStart(elf: Elf, tableAt: number, said: number): number {
	const table = elf.addressOf(tableAt);
	const ways = [
		() => said,
		() => (table === undefined ? 0 : relocatedWord(elf, table + TEXT_AT)),
		() => moduleText(elf),
	];
	for (const way of ways) {
		const start = way();
		if (isCode(elf, start)) return start;
	}
	throw new SymbolError('nothing says where its code begins');
}

function moduleText(elf: Elf): number {
	const module = elf.section(MODULE.name);
	if (!module || module.size_bytes < MODULE.textAt + 8) return 0;
	const word = readUint64(elf.bytes.read(module.offset + MODULE.textAt, 8), 0);
	return word || relocatedWord(elf, module.address + MODULE.textAt);
}

/** What the loader writes to an address, as far as it is a place in this file; 0 where it writes nothing. */
function relocatedWord(elf: Elf, address: number): number {
	const section = elf.section('.rela.dyn');
	if (!section || section.size_bytes > MAX_RELOCATIONS_BYTES) return 0;
	const table = elf.contents(section);
	for (let at = 0; at + RELOCATION_BYTES <= table.length; at += RELOCATION_BYTES) {
		if (readUint64(table, at) === address) return readUint64(table, at + 16);
	}
	return 0;
}

const isCode = (elf: Elf, start: number) =>
	elf.segments.some(
		({ type, flags, address, size_bytes }) =>
			type === SEGMENT_TYPE.load &&
			(flags & PF_X) !== 0 &&
			start >= address &&
			start < address + size_bytes &&
			start > 0,
	);
