/** The machine code of functions, out of the files that they are in. */
import { type Elf, SECTION_TYPE, type Section, SHF_EXECINSTR } from '../symbolize/elf.js';
import type { Surroundings } from './placement.js';

/** libc has 2 MB, a large program 20 MB; going through all of that takes 0.1 s a function. */
const MAX_CODE_BYTES = 32 * 2 ** 20;
/** jemalloc's largest function has 10 kB. */
const MAX_FUNCTION_BYTES = 2 ** 18;

/**
 * All sections of instructions as one piece, from the first to the last; undefined when there are
 * none, too many bytes of them, or gaps in the file other than in memory. Throws SymbolError.
 */
export function readText(elf: Elf): { bytes: Buffer; address: number } | undefined {
	const isCode = ({ flags, type }: Section) =>
		(flags & SHF_EXECINSTR) !== 0 && type !== SECTION_TYPE.nobits;
	const sections = elf.sections.filter(isCode).sort((a, b) => a.address - b.address);
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
): { code: Uint8Array; surroundings: Surroundings } | undefined {
	const start = address - text.address;
	if (size_bytes > MAX_FUNCTION_BYTES) return undefined;
	if (start < 0 || size_bytes <= 0 || start + size_bytes > text.bytes.length) return undefined;
	const code = text.bytes.subarray(start, start + size_bytes);
	return { code, surroundings: { text: text.bytes, start } };
}
