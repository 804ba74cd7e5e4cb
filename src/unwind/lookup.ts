/**
 * Rules of single addresses, without the table of the whole file: .eh_frame_hdr says where the entry of each
 * function is. Source: the Linux Standard Base Core, 10.6.2.
 */
import { type Bytes, SymbolError } from '../elf/bytes.js';
import { Elf } from '../elf/elf.js';
import { CfiMachine } from './cfi.js';
import { EntryReader } from './entries.js';
import { type FrameSection, frameSections } from './frame-sections.js';
import { type FrameRegisters, registersOf } from './frame-state.js';
import { RuleSet, type UnwindRule } from './rule.js';
import { ruleAt, type UnwindTable, unwindTable } from './table.js';

/** Version 1; the table's numbers are 32 bits, signed, relative to the section: all that linkers write. */
const HEADER = Buffer.from([1, 0x1b, 0x03, 0x3b]);
const HEADER_BYTES = 12;
const ENTRY_BYTES = 8;
/** Rules of single addresses: a stack has 127. */
const MAX_RULES = 4096;

/** Gives the rule at a place in the file. */
export interface RuleLookup {
	ruleAt(fileOffset: number): UnwindRule;
}

/** For a file that few addresses are asked of; without .eh_frame_hdr by its whole table. Never throws. */
export function ruleLookup(bytes: Bytes): RuleLookup {
	try {
		const elf = new Elf(bytes);
		const registers = registersOf(elf.machine);
		const index = elf.section('.eh_frame_hdr');
		const [section] = frameSections(elf, () => undefined);
		if (registers && index && section?.isEh) {
			const header = elf.contents(index);
			if (header.length >= HEADER_BYTES && header.subarray(0, 4).equals(HEADER))
				return new HeaderLookup(elf, registers, section, { header, address: index.address });
		}
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
	}
	return new TableLookup(unwindTable(bytes));
}

class TableLookup implements RuleLookup {
	constructor(private readonly table: UnwindTable) {}

	ruleAt(fileOffset: number): UnwindRule {
		return ruleAt(this.table, fileOffset);
	}
}

class HeaderLookup implements RuleLookup {
	readonly #elf: Elf;
	readonly #header: Buffer;
	readonly #headerAddress: number;
	readonly #sectionAddress: number;
	readonly #count: number;
	readonly #rules = new RuleSet(MAX_RULES);
	readonly #machine: CfiMachine;
	readonly #entries: EntryReader;
	#wanted = 0;
	#found = 0;

	constructor(
		elf: Elf,
		registers: FrameRegisters,
		section: FrameSection,
		{ header, address }: { header: Buffer; address: number },
	) {
		this.#elf = elf;
		this.#header = header;
		this.#headerAddress = address;
		this.#sectionAddress = section.origins.section;
		const room = Math.floor((header.length - HEADER_BYTES) / ENTRY_BYTES);
		this.#count = Math.min(header.readUInt32LE(8), room);
		this.#machine = new CfiMachine(registers, this.#rules, (from, rule) => {
			if (from <= this.#wanted) this.#found = rule;
		});
		this.#entries = new EntryReader(section, registers, this.#machine, () => undefined);
	}

	ruleAt(fileOffset: number): UnwindRule {
		const address = this.#elf.addressOf(fileOffset);
		const index = address === undefined ? -1 : this.#lastFrom(address);
		this.#wanted = address ?? 0;
		this.#found = 0;
		if (index >= 0) {
			const place = this.#word(index, 4) - this.#sectionAddress;
			this.#entries.readAt(place, (common, start, size_bytes, from, to) => {
				if (this.#wanted < start || this.#wanted >= start + size_bytes) return;
				common.cursor.at = from;
				common.cursor.end = to;
				this.#machine.rows(common, start);
			});
		}
		return this.#rules.get(this.#found);
	}

	/** The last function that begins at the address or before; -1: none does. */
	#lastFrom(address: number): number {
		let low = 0;
		let high = this.#count;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#word(middle, 0) <= address) low = middle + 1;
			else high = middle;
		}
		return low - 1;
	}

	/** An address in the table. */
	#word(index: number, offset: number): number {
		return (
			this.#headerAddress + this.#header.readInt32LE(HEADER_BYTES + index * ENTRY_BYTES + offset)
		);
	}
}
