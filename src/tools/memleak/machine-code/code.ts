/** The machine code of functions, out of the files that they are in. */
import { type Elf, SECTION_TYPE, type Section, SHF_EXECINSTR } from '../../../elf/elf.js';
import type { FileCode } from './placement.js';

/** libc has 2 MB, a large program 20 MB; going through all of that takes 0.1 s a function. */
const MAX_CODE_BYTES = 32 * 2 ** 20;
/** jemalloc's largest function has 10 kB. */
const MAX_FUNCTION_BYTES = 2 ** 18;

/** Addresses as they are linked; `end` is behind the last one. */
export interface CodeRange {
	readonly start: number;
	readonly end: number;
}

/** From the first section of instructions to the last one; undefined where there is none. */
export function codeRange(elf: Elf): CodeRange | undefined {
	const sections = codeSections(elf);
	const [first, last] = [sections[0], sections.at(-1)];
	return first && last && { start: first.address, end: last.address + last.size_bytes };
}

function codeSections(elf: Elf): Section[] {
	return elf.sections
		.filter(({ flags, type }) => (flags & SHF_EXECINSTR) !== 0 && type !== SECTION_TYPE.nobits)
		.sort((a, b) => a.address - b.address);
}

/**
 * All sections of instructions as one piece, from the first to the last; undefined when there are
 * none, too many bytes of them, or gaps in the file other than in memory. Throws SymbolError.
 */
export function readText(elf: Elf): { bytes: Buffer; address: number } | undefined {
	const sections = codeSections(elf);
	const [first, last] = [sections[0], sections.at(-1)];
	if (!first || !last) return undefined;
	const shift = first.address - first.offset;
	const size_bytes = last.address + last.size_bytes - first.address;
	const agree = sections.every(({ address, offset }) => address - offset === shift);
	if (!agree || size_bytes > MAX_CODE_BYTES) return undefined;
	return { bytes: elf.bytes.read(first.offset, size_bytes), address: first.address };
}

/** One function out of that, as placeProbe() takes it; undefined when it is too long, or not all there. */
export function functionCode(
	text: { readonly bytes: Uint8Array; readonly address: number },
	address: number,
	size_bytes: number,
): { code: Uint8Array; surroundings: FileCode } | undefined {
	const start = address - text.address;
	if (size_bytes > MAX_FUNCTION_BYTES) return undefined;
	if (start < 0 || size_bytes <= 0 || start + size_bytes > text.bytes.length) return undefined;
	const code = text.bytes.subarray(start, start + size_bytes);
	return { code, surroundings: { text: text.bytes, start } };
}
