/**
 * Reads the frame of 64-bit little-endian ELF files: segments, sections, build-id, debug link.
 * Source: man 5 elf; the System V ABI's ELF chapters; gdb's manual, "Separate Debug Files".
 * Every read is bounded; malformed input ends in a SymbolError.
 */
import { type Bytes, readText, readUint64, SymbolError } from './bytes.js';

const HEADER_BYTES = 64;
const SEGMENT_BYTES = 56;
const SECTION_BYTES = 64;
const MAX_SECTIONS = 100_000;
const MAX_SECTION_NAME_BYTES = 64;
const MAX_NOTES_BYTES = 2 ** 16;
/** Three are usual. */
const MAX_NOTES_SEGMENTS = 16;
const PAGE_BYTES = 4096;

export const SEGMENT_TYPE = { load: 1, note: 4, ehFrameHeader: 0x6474_e550 } as const;
/** The segment's memory can be executed. */
export const PF_X = 1;
const NT_GNU_BUILD_ID = 3;

const ET_EXEC = 2;
/** One of the section's entries, and the bit in it that tells a program from a library. */
const DT_FLAGS_1 = 0x6fff_fffb;
const DF_1_PIE = 0x0800_0000;
const DYNAMIC_ENTRY_BYTES = 16;
const MAX_DYNAMIC_BYTES = 2 ** 16;

export const MACHINE = { x64: 62, arm64: 183 } as const;

export const SECTION_TYPE = { symtab: 2, rela: 4, nobits: 8, dynsym: 11 } as const;
/** The section holds machine instructions. */
export const SHF_EXECINSTR = 4;
/** A header and compressed bytes are in the file instead of the section's own. */
export const SHF_COMPRESSED = 0x800;

export interface Section {
	readonly name: string;
	readonly type: number;
	readonly flags: number;
	/** As it is linked; 0 for what is not loaded. */
	readonly address: number;
	readonly offset: number;
	readonly size_bytes: number;
	/** The section with the names, for a table of symbols; that with the symbols, for relocations. */
	readonly link: number;
}

export interface Segment {
	readonly type: number;
	readonly flags: number;
	readonly offset: number;
	/** As it is linked. */
	readonly address: number;
	/** In the file. */
	readonly size_bytes: number;
	/** In memory; what the file has not begins as zeroes. */
	readonly memory_bytes: number;
}

/** ELF of 32 bits, or big-endian. */
export class OtherElf extends SymbolError {}

export class Elf {
	readonly machine: number;
	/** It is a program, not a library. */
	readonly isProgram: boolean;
	/** It is in memory where it is linked; others are somewhere else each time. */
	readonly isFixed: boolean;
	/** Where a program begins. */
	readonly entry: number;
	readonly sections: readonly Section[];
	/** In lower-case hexadecimal; undefined when the file has none. */
	readonly buildId: string | undefined;
	readonly segments: readonly Segment[];

	/** Takes the whole file. Throws SymbolError when it is not ELF of this kind, or malformed. */
	constructor(readonly bytes: Bytes) {
		const header = bytes.read(0, HEADER_BYTES);
		if (header.readUInt32BE(0) !== 0x7f454c46) throw new SymbolError('not ELF');
		if (header[4] !== 2 || header[5] !== 1) {
			throw new OtherElf('not 64-bit little-endian ELF');
		}
		this.machine = header.readUInt16LE(18);
		this.entry = Number(header.readBigUInt64LE(24));
		this.segments = readSegments(bytes, header);
		this.sections = readSections(bytes, header);
		this.buildId = this.#findBuildId();
		this.isFixed = header.readUInt16LE(16) === ET_EXEC;
		this.isProgram = this.isFixed || this.#isPie();
	}

	section(name: string): Section | undefined {
		return this.sections.find((section) => section.name === name);
	}

	/** What a section holds; empty when nothing of it is in the file. Throws SymbolError. */
	contents(section: Section): Buffer {
		if (section.type === SECTION_TYPE.nobits) return Buffer.alloc(0);
		return this.bytes.read(section.offset, section.size_bytes);
	}

	/** The address, as it is linked, of what is at this place in the file. */
	addressOf(fileOffset: number): number | undefined {
		for (const { type, offset, address, size_bytes } of this.segments) {
			if (type !== SEGMENT_TYPE.load || fileOffset >= offset + size_bytes) continue;
			// The kernel maps whole pages: what is in front, on the segment's first page, is mapped too.
			if (fileOffset >= offset || fileOffset >= offset - (offset % PAGE_BYTES))
				return fileOffset - offset + address;
		}
		return undefined;
	}

	/** Where the symbols were moved to (.gnu_debuglink): a file's name, and its CRC-32. */
	debugLink(): { name: string; crc: number } | undefined {
		const section = this.section('.gnu_debuglink');
		if (!section || section.size_bytes > PAGE_BYTES) return undefined;
		const data = this.contents(section);
		const end = data.indexOf(0);
		const crcAt = (end + 4) & ~3;
		if (end <= 0 || crcAt + 4 > data.length) return undefined;
		const name = data.toString('utf8', 0, end);
		// A name, not a way to somewhere else.
		if (name.includes('/') || name === '..') return undefined;
		return { name, crc: data.readUInt32LE(crcAt) };
	}

	/** Only this distinguishes programs that can be mapped anywhere from libraries. */
	#isPie(): boolean {
		const section = this.section('.dynamic');
		if (!section || section.size_bytes > MAX_DYNAMIC_BYTES) return false;
		const entries = this.contents(section);
		for (let at = 0; at + DYNAMIC_ENTRY_BYTES <= entries.length; at += DYNAMIC_ENTRY_BYTES) {
			if (readUint64(entries, at) === DT_FLAGS_1)
				return (entries.readUInt32LE(at + 8) & DF_1_PIE) !== 0;
		}
		return false;
	}

	#findBuildId(): string | undefined {
		const section = this.section('.note.gnu.build-id');
		if (section) {
			const id = buildIdIn(this.bytes, section);
			if (id) return id;
		}
		const notes = this.segments.filter(({ type }) => type === SEGMENT_TYPE.note);
		for (const segment of notes.slice(0, MAX_NOTES_SEGMENTS)) {
			const id = buildIdIn(this.bytes, segment);
			if (id) return id;
		}
		return undefined;
	}
}

function readSegments(bytes: Bytes, header: Buffer): Segment[] {
	const count = header.readUInt16LE(56);
	if (count === 0) return [];
	if (header.readUInt16LE(54) !== SEGMENT_BYTES)
		throw new SymbolError('its program headers are damaged');
	const table = bytes.read(readUint64(header, 32), count * SEGMENT_BYTES);
	return Array.from({ length: count }, (_, i) => {
		const at = i * SEGMENT_BYTES;
		return {
			type: table.readUInt32LE(at),
			flags: table.readUInt32LE(at + 4),
			offset: readUint64(table, at + 8),
			address: readUint64(table, at + 16),
			size_bytes: readUint64(table, at + 32),
			memory_bytes: readUint64(table, at + 40),
		};
	});
}

function readSections(bytes: Bytes, header: Buffer): Section[] {
	const at = readUint64(header, 40);
	if (at === 0) return [];
	if (header.readUInt16LE(58) !== SECTION_BYTES)
		throw new SymbolError('its section headers are damaged');
	const first = bytes.read(at, SECTION_BYTES);
	// Numbers too large for the header are in the first section's.
	const count = header.readUInt16LE(60) || readUint64(first, 32);
	if (count > MAX_SECTIONS) throw new SymbolError('too many sections');
	const namesIndex = header.readUInt16LE(62);
	const names = namesIndex === 0xffff ? first.readUInt32LE(40) : namesIndex;
	const table = bytes.read(at, count * SECTION_BYTES);
	if (names >= count) throw new SymbolError('the sections have no names');
	const namesAt = readUint64(table, names * SECTION_BYTES + 24);
	const namesBytes = readUint64(table, names * SECTION_BYTES + 32);
	const text = bytes.read(namesAt, namesBytes);
	return Array.from({ length: count }, (_, i) => readSection(table, i * SECTION_BYTES, text));
}

function readSection(table: Buffer, at: number, names: Buffer): Section {
	const nameAt = table.readUInt32LE(at);
	// No section that is looked for has a long name; all of them may lack an end.
	const name = names.subarray(nameAt, nameAt + MAX_SECTION_NAME_BYTES);
	const nameEnd = name.indexOf(0);
	return {
		name: name.toString('latin1', 0, nameEnd < 0 ? name.length : nameEnd),
		type: table.readUInt32LE(at + 4),
		flags: table.readUInt32LE(at + 8),
		address: readUint64(table, at + 16),
		offset: readUint64(table, at + 24),
		size_bytes: readUint64(table, at + 32),
		link: table.readUInt32LE(at + 40),
	};
}

function buildIdIn(bytes: Bytes, place: { offset: number; size_bytes: number }) {
	if (place.offset + place.size_bytes > bytes.size_bytes) return undefined;
	const notes = bytes.read(place.offset, Math.min(place.size_bytes, MAX_NOTES_BYTES));
	for (let at = 0; at + 12 <= notes.length; ) {
		const nameBytes = notes.readUInt32LE(at);
		const idAt = at + 12 + ((nameBytes + 3) & ~3);
		const idEnd = idAt + notes.readUInt32LE(at + 4);
		if (idAt < at || idEnd > notes.length) return undefined;
		const isGnu = nameBytes === 4 && notes.toString('latin1', at + 12, at + 16) === 'GNU\0';
		if (isGnu && notes.readUInt32LE(at + 8) === NT_GNU_BUILD_ID) return idOf(notes, idAt, idEnd);
		at = idAt + ((idEnd - idAt + 3) & ~3);
	}
	return undefined;
}

function idOf(notes: Buffer, from: number, to: number): string | undefined {
	// SHA-1 has 20 bytes; 2 to 64 are seen.
	const length = to - from;
	return length >= 2 && length <= 64 ? notes.toString('hex', from, to) : undefined;
}

/** The text at `offset` of a table of strings. Throws SymbolError. */
export function stringAt(elf: Elf, strings: Section, offset: number, limit: number): string {
	if (offset >= strings.size_bytes) throw new SymbolError('a name lies outside its table');
	const left = strings.size_bytes - offset;
	return readText(elf.bytes, strings.offset + offset, Math.min(limit, left));
}
