/**
 * Functions of the vdso that need no table. That of arm64 has none: Linux compiles it without (-fno-unwind-tables in
 * arch/arm64/Makefile). But its functions are short, and most keep all in registers.
 */
import { type Elf, MACHINE, SECTION_TYPE } from '../elf/elf.js';
import {
	eachSymbol,
	STT,
	symbolAddress,
	symbolCode,
	symbolSize,
	symbolType,
} from '../elf/symbol-table.js';
import { isLeaf, MAX_CODE_BYTES } from './arm64-leaf.js';

/** What the vdso calls itself. */
const NAME = 'linux-vdso.so.1\0';
/** Of its names; there are 119. */
const MAX_NAMES_BYTES = 2 ** 16;
/** Whose code is looked at; the vdso of Linux 6.1 has three. */
const MAX_FUNCTIONS = 64;

interface LeafFunction {
	/** As it is linked. */
	readonly start: number;
	readonly size_bytes: number;
}

/**
 * Those of the vdso of arm64 that leave the stack pointer, the frame pointer and the link register as they are; none of
 * any other file. Throws SymbolError.
 */
export function vdsoLeaves(elf: Elf): LeafFunction[] {
	const leaves: LeafFunction[] = [];
	const symbols = elf.sections.find(({ type }) => type === SECTION_TYPE.dynsym);
	if (elf.machine !== MACHINE.arm64 || !symbols || !isVdso(elf)) return leaves;
	let seen = 0;
	eachSymbol(elf, symbols, (part, at) => {
		const section = symbolCode(elf, part, at);
		const [start, size_bytes] = [symbolAddress(part, at), symbolSize(part, at)];
		if (!section || symbolType(part, at) !== STT.func) return false;
		const offset = start - section.address;
		const isInside = offset >= 0 && offset + size_bytes <= section.size_bytes;
		if (isInside && start % 4 === 0 && size_bytes <= MAX_CODE_BYTES) {
			const code = elf.bytes.read(section.offset + offset, size_bytes);
			if (isLeaf(code)) leaves.push({ start, size_bytes });
		}
		return ++seen === MAX_FUNCTIONS;
	});
	return leaves;
}

function isVdso(elf: Elf): boolean {
	const names = elf.section('.dynstr');
	if (!names || names.size_bytes > MAX_NAMES_BYTES) return false;
	return elf.contents(names).includes(NAME);
}
