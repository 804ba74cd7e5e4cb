/**
 * Which line an instruction of a code object is of. Each version's tables say it in their own way; all may be forged.
 * Source: CPython's Objects/lnotab_notes.txt (3.9, 3.10), Objects/codeobject.c, InternalDocs/code_objects.md (3.11 on).
 */

/** 3.9: co_lnotab; 3.10: co_linetable of pairs; 3.11 on: co_linetable of locations. */
export type LineFormat = 'lnotab' | 'pairs' | 'locations';

/** Of an instruction in code units. */
const UNIT_BYTES = 2;
/** In a table of pairs: instructions that no line of the source has made. */
const NO_LINE = -128;
/** Of a location: the beginning of an entry, what it is, and of how many code units less one. */
const ENTRY = 0x80;
const CODE = { shift: 3, mask: 15 } as const;
const UNITS_MASK = 7;
const ONE_LINE = { first: 10, last: 12 } as const;
const NO_COLUMNS = 13;
const LONG = 14;
const NOWHERE = 15;
/** Of a number: so many bits in each byte, and whether another one follows. */
const CHUNK = { bits: 6, mask: 0x3f, more: 0x40 } as const;
const MAX_CHUNKS = 6;
const MAX_LINE = 2 ** 31 - 1;

/** `instruction`: as frames tell it. Undefined: it is of none, or the table does not say. */
export function lineOf(
	table: DataView,
	format: LineFormat,
	firstLine: number,
	instruction: number,
): number | undefined {
	const line = READERS[format](table, firstLine, instruction);
	return line !== undefined && line > 0 && line <= MAX_LINE ? line : undefined;
}

type Reader = (table: DataView, firstLine: number, instruction: number) => number | undefined;
const READERS: Readonly<Record<LineFormat, Reader>> = {
	lnotab: byLnotab,
	pairs: byPairs,
	locations: byLocations,
};

/** Each pair: so many bytes further the line is another one. Frames count bytes. */
function byLnotab(table: DataView, firstLine: number, instruction: number): number {
	let line = firstLine;
	let from = 0;
	for (let at = 0; at + 1 < table.byteLength; at += 2) {
		from += table.getUint8(at);
		if (from > instruction) break;
		line += table.getInt8(at + 1);
	}
	return line;
}

/** Each pair: so many bytes are of a line that is so much further. Frames count code units. */
function byPairs(table: DataView, firstLine: number, instruction: number): number | undefined {
	let line = firstLine;
	let end = 0;
	for (let at = 0; at + 1 < table.byteLength; at += 2) {
		end += table.getUint8(at);
		const further = table.getInt8(at + 1);
		if (further !== NO_LINE) line += further;
		if (end > instruction * UNIT_BYTES) return further === NO_LINE ? undefined : line;
	}
	return undefined;
}

/** Each entry is several bytes; only its first byte has the highest bit. Frames have the address of an instruction. */
function byLocations(table: DataView, firstLine: number, instruction: number): number | undefined {
	let line = firstLine;
	let end = 0;
	let at = 0;
	while (at < table.byteLength) {
		const first = table.getUint8(at++);
		if ((first & ENTRY) === 0) continue;
		const code = (first >> CODE.shift) & CODE.mask;
		end += ((first & UNITS_MASK) + 1) * UNIT_BYTES;
		line += furtherIn(table, at, code);
		if (end > instruction) return code === NOWHERE ? undefined : line;
	}
	return undefined;
}

/** How many lines an entry is further than the one before; `at`: behind its first byte. */
function furtherIn(table: DataView, at: number, code: number): number {
	if (code === NO_COLUMNS || code === LONG) return signedAt(table, at);
	return code >= ONE_LINE.first && code <= ONE_LINE.last ? code - ONE_LINE.first : 0;
}

/** Its lowest bit is the sign. */
function signedAt(table: DataView, from: number): number {
	let number = 0;
	for (let i = 0; i < MAX_CHUNKS && from + i < table.byteLength; i++) {
		const byte = table.getUint8(from + i);
		number += (byte & CHUNK.mask) * 2 ** (CHUNK.bits * i);
		if ((byte & CHUNK.more) === 0) break;
	}
	const size = Math.floor(number / 2);
	return number % 2 === 1 ? -size : size;
}
