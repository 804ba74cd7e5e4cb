/**
 * Names of the procedure linkage table's entries, "puts@plt": stubs that jump to where a slot of
 * the global offset table says; the slot's relocation knows the name. Entries are told by their
 * instructions, so that every linker's variant (.plt, .plt.sec, .plt.got; IBT, BTI) is the same.
 * Source: the ABI supplements of x86-64 and AArch64; the processors' manuals.
 */

import { firstAtLeast } from '../../ascending.js';
import { boundedName, MAX_NAME_LENGTH } from '../../bounded-names.js';
import { readUint64, SymbolError } from '../../elf/bytes.js';
import { type Elf, MACHINE, SECTION_TYPE, type Section, stringAt } from '../../elf/elf.js';

const RELOCATION_BYTES = 24;
const SYMBOL_BYTES = 24;
const MAX_PLT_BYTES = 4 * 2 ** 20;
const MAX_RELOCATIONS_BYTES = 32 * 2 ** 20;
/** .plt, .plt.sec, .plt.got; .rela.plt, .rela.dyn: a file that says it has more would keep us busy. */
const MAX_SECTIONS = 4;
/** R_X86_64_GLOB_DAT and _JUMP_SLOT; R_AARCH64_GLOB_DAT and _JUMP_SLOT. */
const SLOT_RELOCATIONS: readonly number[] = [6, 7, 1025, 1026];

interface Entry {
	readonly start: number;
	/** The slot's address. */
	readonly slot: number;
}

/** The names of those `addresses` that lie in a PLT entry, by address. Throws SymbolError. */
export function pltNames(elf: Elf, addresses: readonly number[]): Map<number, string> {
	const slots = new Map<number, number>();
	for (const section of elf.sections.filter(isPlt).slice(0, MAX_SECTIONS)) {
		const end = section.address + section.size_bytes;
		const inside = addresses.filter((address) => address >= section.address && address < end);
		for (const [address, slot] of slotsOf(elf, section, inside)) slots.set(address, slot);
	}
	if (slots.size === 0) return new Map();
	const symbols = slotSymbols(elf, new Set(slots.values()));
	const names = new Map<number, string>();
	for (const [address, slot] of slots) {
		const name = symbols.get(slot);
		if (name) names.set(address, `${name}@plt`);
	}
	return names;
}

function isPlt({ name, type, size_bytes }: Section): boolean {
	return name.startsWith('.plt') && type !== SECTION_TYPE.nobits && size_bytes <= MAX_PLT_BYTES;
}

/** The slot that each address's entry jumps through. */
function slotsOf(elf: Elf, section: Section, addresses: readonly number[]): [number, number][] {
	if (addresses.length === 0) return [];
	const entries = readEntries(elf, section);
	const starts = Float64Array.from(entries, ({ start }) => start);
	return addresses.flatMap((address) => {
		const entry = entries[firstAtLeast(starts, address + 1) - 1];
		return entry ? [[address, entry.slot] as [number, number]] : [];
	});
}

/** In their order; what is in front of the first, the lazy resolver's stub, is none. */
function readEntries(elf: Elf, section: Section): Entry[] {
	const code = elf.contents(section);
	if (elf.machine === MACHINE.x64) return entriesX64(code, section);
	if (elf.machine === MACHINE.arm64) return entriesArm64(code, section.address);
	return [];
}

function entriesX64(code: Buffer, section: Section): Entry[] {
	// .plt.got without IBT has entries of 8 bytes, all others of 16.
	const step = section.name === '.plt.got' && code[0] === 0xff ? 8 : 16;
	const entries: Entry[] = [];
	for (let at = 0; at < code.length; at += step) {
		const start = section.address + at;
		// jmp *disp(%rip), after endbr64 or with a bnd prefix.
		const jump = code.subarray(at, at + step).indexOf(Buffer.from([0xff, 0x25]));
		const isStub = at === 0 && code[at] === 0xff && code[at + 1] === 0x35; // pushq GOT+8
		if (jump < 0 || at + jump + 6 > code.length || isStub) continue;
		const next = start + jump + 6;
		entries.push({ start, slot: next + code.readInt32LE(at + jump + 2) });
	}
	return entries;
}

function entriesArm64(code: Buffer, address: number): Entry[] {
	const entries: Entry[] = [];
	for (let at = 0; at + 8 <= code.length; at += 4) {
		const adrp = code.readUInt32LE(at);
		const ldr = code.readUInt32LE(at + 4);
		// adrp x16, page; ldr x17, [x16, #offset]
		const isEntry =
			((adrp & 0x9f00001f) | 0) === (0x90000010 | 0) && (ldr & 0xffc003ff) >>> 0 === 0xf9400211;
		if (!isEntry) continue;
		const pages = ((((adrp >>> 5) & 0x7ffff) << 13) >> 11) | ((adrp >>> 29) & 3);
		const page = Math.floor((address + at) / 4096) + pages;
		const bti = at >= 4 && code.readUInt32LE(at - 4) === 0xd503245f;
		const slot = page * 4096 + ((ldr >>> 10) & 0xfff) * 8;
		// The stub in front begins with "stp x16, x30", and is no entry.
		const isStub = at >= 4 && code.readUInt32LE(at - 4) === 0xa9bf7bf0;
		if (!isStub) entries.push({ start: address + at - (bti ? 4 : 0), slot });
	}
	return entries;
}

/** The names that the relocations of these slots ask for. */
function slotSymbols(elf: Elf, slots: ReadonlySet<number>): Map<number, string> {
	const names = new Map<number, string>();
	for (const section of elf.sections.filter(isOfSlots).slice(0, MAX_SECTIONS)) {
		const table = elf.contents(section);
		for (let at = 0; at + RELOCATION_BYTES <= table.length; at += RELOCATION_BYTES) {
			const slot = readUint64(table, at);
			// Of two the first, so that none is looked up again and again.
			if (!slots.has(slot) || names.has(slot)) continue;
			if (!SLOT_RELOCATIONS.includes(table.readUInt32LE(at + 8))) continue;
			const name = symbolName(elf, section.link, table.readUInt32LE(at + 12));
			names.set(slot, name);
		}
	}
	return names;
}

function isOfSlots({ name, type, size_bytes }: Section): boolean {
	const named = name === '.rela.plt' || name === '.rela.dyn';
	return named && type === SECTION_TYPE.rela && size_bytes <= MAX_RELOCATIONS_BYTES;
}

function symbolName(elf: Elf, tableIndex: number, symbol: number): string {
	const table = elf.sections[tableIndex];
	const strings = table && elf.sections[table.link];
	if (!strings || (symbol + 1) * SYMBOL_BYTES > table.size_bytes) {
		throw new SymbolError('a relocation without its symbol');
	}
	const nameOffset = elf.bytes.read(table.offset + symbol * SYMBOL_BYTES, 4).readUInt32LE(0);
	return boundedName(stringAt(elf, strings, nameOffset, MAX_NAME_LENGTH));
}
