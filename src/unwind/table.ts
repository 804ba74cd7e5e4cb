/**
 * The table of a file: for each address in it the rule that leads from a frame to its caller's.
 * All input comes from strangers: it is read once, bounded, and damage costs only what is damaged.
 */
import { firstAtLeast } from '../ascending.js';
import { type Bytes, SymbolError } from '../elf/bytes.js';
import { Elf, PF_X, SEGMENT_TYPE, type Segment } from '../elf/elf.js';
import { findGoTable } from '../elf/go-place.js';
import { GoTable } from '../elf/go-table.js';
import { CfiMachine, type CommonEntry, type RowSink } from './cfi.js';
import { EntryReader } from './entries.js';
import { type FrameSection, frameSections } from './frame-sections.js';
import { type FrameRegisters, registersOf } from './frame-state.js';
import { FunctionList } from './function-list.js';
import { GoRules } from './go-rules.js';
import { RowList, type Rows } from './rows.js';
import { CFA, GAP_RULE, RA, RuleSet, type UnwindRule } from './rule.js';
import { vdsoLeaves } from './vdso-leaves.js';

/** Of one file; node 26 has 656. The kernel has room for 16,384 of all files. */
const MAX_RULES = 4096;
/** Segments with code; linkers write one. */
const MAX_SEGMENTS = 16;
const MAX_PROBLEMS = 8;
/** Of places in files, as rows have them. */
const MAX_OFFSET = 0xffff_ffff;
/** Instead of the number of a CIE: a function of Go's. */
const OF_GO = 0xffff_ffff;
/** And: one of the vdso that keeps the registers of its caller. */
const LEAF = 0xffff_fffe;

export interface UnwindTable {
	readonly rows: Rows;
	/** What the numbers in `rows` mean. */
	readonly rules: RuleSet;
	/** What is damaged, or not known, each once. Frames there are gaps, or their rule is unknown. */
	readonly problems: readonly string[];
}

/** Memory to make tables in. What a table in it refers to is there until the next one is made. */
export class TableWorkspace {
	readonly rows = new RowList();
	readonly functions = new FunctionList();

	clear(): void {
		this.rows.clear();
		this.functions.clear();
	}
}

/**
 * Reads the table of an ELF file, or of an image of one such as the vdso. Who reads many tables has
 * a workspace for them: node gives memory back late, and 200 libraries need 100 MB in all.
 * Never throws.
 */
export function unwindTable(bytes: Bytes, workspace = new TableWorkspace()): UnwindTable {
	const builder = new TableBuilder(workspace);
	try {
		builder.build(new Elf(bytes));
	} catch (error) {
		if (!(error instanceof SymbolError)) throw error;
		builder.problem(error.message);
	}
	return builder.table();
}

/** The rule at a place in the file. */
export function ruleAt({ rows, rules }: UnwindTable, fileOffset: number): UnwindRule {
	const { addresses } = rows;
	const behind = firstAtLeast(addresses, fileOffset + 1);
	return rules.get(behind === 0 ? GAP_RULE : (rows.rules[behind - 1] as number));
}

class TableBuilder {
	readonly #rules = new RuleSet(MAX_RULES);
	readonly #rows: RowList;
	readonly #problems = new Set<string>();
	readonly #functions: FunctionList;
	readonly #commons = new Map<CommonEntry, number>();
	/** Of the function whose rows are made: from the file to memory, and its end in the file. */
	#distance = 0;
	#end = 0;

	constructor(workspace: TableWorkspace) {
		workspace.clear();
		this.#rows = workspace.rows;
		this.#functions = workspace.functions;
	}

	/** Takes a row of that function. */
	readonly #sink: RowSink = (address, rule) => {
		const offset = address - this.#distance;
		if (offset < this.#end) this.#rows.add(offset, rule);
	};

	table(): UnwindTable {
		if (this.#rules.isExceeded) this.problem('more rules than tstrace keeps');
		if (this.#rows.isExceeded) this.problem('more rows than tstrace keeps');
		return { rows: this.#rows.rows(), rules: this.#rules, problems: [...this.#problems] };
	}

	problem(text: string): void {
		if (this.#problems.size < MAX_PROBLEMS) this.#problems.add(text);
	}

	build(elf: Elf): void {
		const registers = registersOf(elf.machine);
		if (!registers) throw new SymbolError('code for another processor');
		const code = new CodeSegments(elf.segments);
		if (code.isIncomplete) this.problem('more segments of code than tstrace keeps');
		const go = this.#addGo(elf, code);
		const machine = new CfiMachine(registers, this.#rules, this.#sink);
		let isSilent = true;
		for (const section of frameSections(elf, (text) => this.problem(text))) {
			isSilent = false;
			this.#addSection(section, registers, machine, code, go);
		}
		if (isSilent) this.#addLeaves(elf, code);
		const commons = [...this.#commons.keys()];
		this.#functions.visit((start, end, from, to, number) => {
			this.#distance = code.addressOf(start) - start;
			this.#end = end;
			if (number === OF_GO) this.#addGoRows(go, from);
			else if (number === LEAF) this.#rows.add(start, this.#leafRule());
			else this.#addRows(machine, commons[number] as CommonEntry, start, from, to);
			this.#rows.add(end, GAP_RULE);
		});
	}

	#addSection(
		section: FrameSection,
		registers: FrameRegisters,
		machine: CfiMachine,
		code: CodeSegments,
		go: Go | undefined,
	): void {
		const damage = (what: string) => this.problem(`${section.name}: ${what}`);
		const commons = this.#commons;
		new EntryReader(section, registers, machine, damage).read((common, start, size, from, to) => {
			const offset = code.offsetOf(start);
			// Functions that the linker has left out are at 0.
			if (offset === undefined || !(size > 0)) return;
			// Go's own table says more than its .debug_frame, and code of C is elsewhere.
			if (go && go.table.numberAt(start) >= 0) return;
			const end = Math.min(offset + size, code.endOf(start));
			const number = commons.get(common) ?? commons.set(common, commons.size).size - 1;
			if (!this.#functions.add(offset, end, from, to, number)) damage('too many functions');
		});
	}

	#addRows(machine: CfiMachine, common: CommonEntry, start: number, from: number, to: number) {
		common.cursor.at = from;
		common.cursor.end = to;
		if (!machine.rows(common, start + this.#distance))
			this.problem('the instructions of a function are damaged');
	}

	#addLeaves(elf: Elf, code: CodeSegments): void {
		try {
			for (const { start, size_bytes } of vdsoLeaves(elf)) {
				const offset = code.offsetOf(start);
				if (offset === undefined) continue;
				const end = Math.min(offset + size_bytes, code.endOf(start));
				this.#functions.add(offset, end, 0, 0, LEAF);
			}
		} catch (error) {
			// Other functions keep what is known of them.
			if (!(error instanceof SymbolError)) throw error;
			this.problem(error.message);
		}
	}

	/** It has nothing on the stack, and the way back is in the link register. */
	#leafRule(): number {
		return this.#rules.add(0, 0, CFA.sp | (RA.register << 16));
	}

	/** Adds the functions of a Go program; undefined: it is none. */
	#addGo(elf: Elf, code: CodeSegments): Go | undefined {
		try {
			const place = findGoTable(elf);
			if (!place) return undefined;
			const table = new GoTable(elf, place, true);
			const rules = new GoRules(elf, table, this.#rules);
			for (let i = 0; i < table.count; i++) {
				const fn = table.functionAt(i);
				const begin = rules.beginOf(fn);
				const offset = code.offsetOf(begin);
				if (offset === undefined || fn.end <= fn.start) continue;
				const end = Math.min(offset + fn.end - begin, code.endOf(begin));
				this.#functions.add(offset, end, i, 0, OF_GO);
			}
			return { table, rules };
		} catch (error) {
			this.#goProblem(error);
			return undefined;
		}
	}

	#addGoRows(go: Go | undefined, number: number): void {
		try {
			go?.rules.rowsOf(go.table.functionAt(number), this.#sink);
		} catch (error) {
			this.#goProblem(error);
		}
		if (go?.rules.isExceeded) this.problem('.gopclntab: more steps than tstrace follows');
	}

	#goProblem(error: unknown): void {
		if (!(error instanceof SymbolError)) throw error;
		this.problem(`.gopclntab: ${error.message}`);
	}
}

/** Of a Go program. */
interface Go {
	readonly table: GoTable;
	readonly rules: GoRules;
}

/** Where code is in the file, and in memory as it is linked. */
class CodeSegments {
	/** There are more than are looked at. */
	readonly isIncomplete: boolean;
	readonly #segments: readonly Segment[];
	/** The one that was found last: the next function is in it, too. */
	#last: Segment | undefined;

	constructor(segments: readonly Segment[]) {
		const isCode = ({ type, flags }: Segment) => type === SEGMENT_TYPE.load && (flags & PF_X) !== 0;
		const all = segments.filter(isCode);
		this.#segments = all.slice(0, MAX_SEGMENTS);
		this.isIncomplete = all.length > MAX_SEGMENTS;
	}

	/** Undefined when no code is at the address, or so far behind that no row can say where. */
	offsetOf(address: number): number | undefined {
		const segment = this.#find((each) => address - each.address);
		const offset = segment ? address - segment.address + segment.offset : -1;
		return offset >= 0 && offset <= MAX_OFFSET ? offset : undefined;
	}

	/** Where in the file the code around an address ends. */
	endOf(address: number): number {
		const segment = this.#find((each) => address - each.address);
		return segment ? Math.min(segment.offset + segment.size_bytes, MAX_OFFSET) : 0;
	}

	addressOf(offset: number): number {
		const segment = this.#find((each) => offset - each.offset);
		return segment ? offset - segment.offset + segment.address : offset;
	}

	#find(distanceIn: (segment: Segment) => number): Segment | undefined {
		const isInside = (segment: Segment) => {
			const distance = distanceIn(segment);
			return distance >= 0 && distance < segment.size_bytes;
		};
		if (!this.#last || !isInside(this.#last)) this.#last = this.#segments.find(isInside);
		return this.#last;
	}
}
