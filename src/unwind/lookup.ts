/**
 * Rules of single addresses, without the table of the whole file: .eh_frame_hdr says where the entry of each
 * function is. Source: the Linux Standard Base Core, 10.6.2.
 */
import { firstIndex } from '../ascending.js';
import { type Bytes, SymbolError } from '../elf/bytes.js';
import { Elf } from '../elf/elf.js';
import { CfiMachine } from './cfi.js';
import { EntryReader } from './entries.js';
import { type FrameSection, frameSections } from './frame-sections.js';
import { type FrameRegisters, registersOf } from './frame-state.js';
import { goSource } from './go-source.js';
import { GAP_RULE, RuleSet, type RuleSource, type UnwindRule } from './rule.js';
import { ruleAt, type UnwindTable, unwindTable } from './table.js';

/** Version 1; the table's numbers are 32 bits, signed, relative to the section: all that linkers write. */
const HEADER = Buffer.from([1, 0x1b, 0x03, 0x3b]);
const HEADER_BYTES = 12;
const ENTRY_BYTES = 8;
/** Of the addresses that are asked for. Node has 320 in all. */
const MAX_RULES = 4096;
/** Addresses whose rules are remembered; a stack has 127 at most. */
const MAX_REMEMBERED = 16_384;
/** What a section and a segment of an ELF file take in memory, about. */
const SECTION_BYTES = 256;

/** Gives the rule at a place in the file. */
export interface RuleLookup {
	/** What it keeps of the file, about. */
	readonly bytesKept: number;
	ruleAt(fileOffset: number): UnwindRule;
}

/**
 * For a file that few addresses are asked of; without .eh_frame_hdr, and if it is no Go program, by its whole table.
 * Never throws.
 */
export function ruleLookup(bytes: Bytes): RuleLookup {
	try {
		const elf = new Elf(bytes);
		const rules = new RuleSet(MAX_RULES);
		const header = headerSource(elf, rules);
		// What C code a Go program has is in .eh_frame.
		const sources = [header, goSource(elf, rules)].filter((source) => source !== undefined);
		if (sources.length > 0) return new SourcesLookup(elf, rules, sources);
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
	}
	return new TableLookup(unwindTable(bytes));
}

function headerSource(elf: Elf, rules: RuleSet): RuleSource | undefined {
	const registers = registersOf(elf.machine);
	const index = elf.section('.eh_frame_hdr');
	const [section] = frameSections(elf, () => undefined);
	if (!registers || !index || !section?.isEh) return undefined;
	const header = elf.contents(index);
	const isKnown = header.length >= HEADER_BYTES && header.subarray(0, 4).equals(HEADER);
	const found = { header, address: index.address };
	return isKnown ? new HeaderSource(registers, section, found, rules) : undefined;
}

class TableLookup implements RuleLookup {
	constructor(private readonly table: UnwindTable) {}

	get bytesKept(): number {
		const { rows, rules } = this.table;
		return rows.addresses.byteLength + rows.rules.byteLength + rules.bytesKept;
	}

	ruleAt(fileOffset: number): UnwindRule {
		return ruleAt(this.table, fileOffset);
	}
}

class SourcesLookup implements RuleLookup {
	readonly bytesKept: number;
	/** Numbers of rules, by the place in the file. */
	readonly #remembered = new Map<number, number>();

	/** Of several sources the first that says something counts. */
	constructor(
		private readonly elf: Elf,
		private readonly rules: RuleSet,
		private readonly sources: readonly RuleSource[],
	) {
		const parts = (elf.sections.length + elf.segments.length) * SECTION_BYTES;
		const kept = sources.reduce((sum, source) => sum + source.bytesKept, 0);
		this.bytesKept = kept + parts + rules.bytesKept;
	}

	ruleAt(fileOffset: number): UnwindRule {
		let rule = this.#remembered.get(fileOffset);
		if (rule === undefined) {
			rule = this.#search(fileOffset);
			if (this.#remembered.size === MAX_REMEMBERED) this.#remembered.clear();
			this.#remembered.set(fileOffset, rule);
		}
		return this.rules.get(rule);
	}

	#search(fileOffset: number): number {
		const address = this.elf.addressOf(fileOffset);
		if (address === undefined) return GAP_RULE;
		for (const source of this.sources) {
			const rule = source.ruleAt(address);
			if (rule !== GAP_RULE) return rule;
		}
		return GAP_RULE;
	}
}

/** .eh_frame, by .eh_frame_hdr. */
class HeaderSource implements RuleSource {
	readonly bytesKept: number;
	readonly #header: Buffer;
	readonly #headerAddress: number;
	readonly #sectionAddress: number;
	readonly #count: number;
	readonly #machine: CfiMachine;
	readonly #entries: EntryReader;
	#wanted = 0;
	#found = GAP_RULE;

	constructor(
		registers: FrameRegisters,
		section: FrameSection,
		{ header, address }: { header: Buffer; address: number },
		rules: RuleSet,
	) {
		this.#header = header;
		this.#headerAddress = address;
		this.#sectionAddress = section.origins.section;
		const room = Math.floor((header.length - HEADER_BYTES) / ENTRY_BYTES);
		this.#count = Math.min(header.readUInt32LE(8), room);
		this.#machine = new CfiMachine(registers, rules, (from, rule) => {
			if (from <= this.#wanted) this.#found = rule;
		});
		this.#entries = new EntryReader(section, registers, this.#machine, () => undefined);
		this.bytesKept = header.length + section.bytes.length;
	}

	ruleAt(address: number): number {
		// The last function that begins there or before.
		const index = firstIndex(this.#count, (i) => this.#word(i, 0) > address) - 1;
		if (index < 0) return GAP_RULE;
		this.#wanted = address;
		this.#found = GAP_RULE;
		const place = this.#word(index, 4) - this.#sectionAddress;
		this.#entries.readAt(place, (common, start, size_bytes, from, to) => {
			if (address < start || address >= start + size_bytes) return;
			common.cursor.at = from;
			common.cursor.end = to;
			this.#machine.rows(common, start);
		});
		return this.#found;
	}

	/** An address in the table. */
	#word(index: number, offset: number): number {
		return (
			this.#headerAddress + this.#header.readInt32LE(HEADER_BYTES + index * ENTRY_BYTES + offset)
		);
	}
}
