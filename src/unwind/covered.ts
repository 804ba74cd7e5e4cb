/** How much of a file's code its unwind tables tell of: an estimate, from places that are spread over the code. */
import { type Bytes, SymbolError } from '../elf/bytes.js';
import { Elf, PF_X, SEGMENT_TYPE, SHF_EXECINSTR } from '../elf/elf.js';
import { ruleLookup } from './lookup.js';
import { CFA, type UnwindRule } from './rule.js';
import { ruleAt, unwindTable } from './table.js';

/** So many are looked at. */
const PLACES = 500;
/** Parts of code: .text, .init, .fini, .text.unlikely and such. */
const MAX_PARTS = 32;

/** What linkers add to every file has less code, and often no rules; stacks hardly pass through it. */
const MIN_CODE_BYTES = 1024;

interface Code {
	readonly parts: readonly CodePart[];
	readonly hasDebugFrame: boolean;
}

interface CodePart {
	readonly offset: number;
	readonly size_bytes: number;
}

/** The share of code that has rules, from 0 to 1; 1 also where there is little code. Never throws. */
export function coveredShare(bytes: Bytes): number {
	const { parts, hasDebugFrame } = codeOf(bytes);
	const size_bytes = parts.reduce((sum, part) => sum + part.size_bytes, 0);
	if (size_bytes < MIN_CODE_BYTES) return size_bytes > 0 ? 1 : 0;
	const rules = hasDebugFrame ? wholeTable(bytes) : ruleLookup(bytes);
	let covered = 0;
	for (let i = 0; i < PLACES; i++) {
		const place = placeIn(parts, Math.floor(((i + 0.5) * size_bytes) / PLACES));
		if (rules.ruleAt(place).cfa !== CFA.gap) covered++;
	}
	return covered / PLACES;
}

/** With .debug_frame, which a lookup leaves out when there is .eh_frame. */
function wholeTable(bytes: Bytes): { ruleAt(fileOffset: number): UnwindRule } {
	const table = unwindTable(bytes);
	return { ruleAt: (fileOffset) => ruleAt(table, fileOffset) };
}

/** Where in the file the code is. Without sections: what is mapped as code. */
function codeOf(bytes: Bytes): Code {
	try {
		const elf = new Elf(bytes);
		const hasDebugFrame = elf.section('.debug_frame') !== undefined;
		// Linkers differ in what they say of the procedure linkage table.
		const sections = elf.sections.filter(
			({ flags, name }) => (flags & SHF_EXECINSTR) !== 0 && !name.startsWith('.plt'),
		);
		const segments = elf.segments.filter(
			({ type, flags }) => type === SEGMENT_TYPE.load && (flags & PF_X) !== 0,
		);
		const parts = sections.length > 0 ? sections : segments;
		return { parts: parts.slice(0, MAX_PARTS), hasDebugFrame };
	} catch (error) {
		if (error instanceof SymbolError) return { parts: [], hasDebugFrame: false };
		throw error;
	}
}

/** Where in the file the byte of that number of all code is. */
function placeIn(parts: readonly CodePart[], number: number): number {
	let left = number;
	for (const { offset, size_bytes } of parts) {
		if (left < size_bytes) return offset + left;
		left -= size_bytes;
	}
	return 0;
}
