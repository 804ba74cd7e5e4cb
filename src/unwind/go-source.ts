/** Rules of single addresses of a Go program, without the table of the whole file: that would take as long as threads wait. */
import { SymbolError } from '../elf/bytes.js';
import type { Elf } from '../elf/elf.js';
import { findGoTable } from '../elf/go-place.js';
import { GoTable } from '../elf/go-table.js';
import { GoRules } from './go-rules.js';
import { GAP_RULE, type RuleSet, type RuleSource } from './rule.js';

/** Functions whose code is looked at: caddy has 269. Others have no rules. */
const MAX_READ = 8192;

/** Keeps nothing open. Undefined: it is no Go program, or its table cannot be read. */
export function goSource(elf: Elf, rules: RuleSet): RuleSource | undefined {
	try {
		const place = findGoTable(elf);
		return place && new GoSource(elf, new GoTable(elf, place, true), rules, place.size_bytes);
	} catch (error) {
		if (error instanceof SymbolError) return undefined;
		throw error;
	}
}

interface Row {
	readonly from: number;
	readonly rule: number;
}

class GoSource implements RuleSource {
	readonly #rules: GoRules;
	/** Of functions whose code had to be read, by their numbers. */
	readonly #read = new Map<number, readonly Row[]>();

	constructor(
		elf: Elf,
		private readonly table: GoTable,
		rules: RuleSet,
		readonly bytesKept: number,
	) {
		this.#rules = new GoRules(elf, table, rules);
		for (let i = 0; i < table.count && this.#read.size < MAX_READ; i++) {
			if (table.hasFlags && table.flagsOf(i) === 0) continue;
			if (this.#rules.readsCode(table.functionAt(i))) this.#read.set(i, this.#rowsOf(i));
		}
	}

	/** The number of the rule at an address, as it is linked. */
	ruleAt(address: number): number {
		// The next function, if its rows begin in front of it; else the one around.
		for (const at of [address + 1, address]) {
			const number = this.table.numberAt(at);
			if (number < 0) continue;
			const rows = this.#read.get(number) ?? this.#unread(number);
			const found = rows.findLast(({ from }) => from <= address);
			if (found || at === address) return found?.rule ?? GAP_RULE;
		}
		return GAP_RULE;
	}

	#unread(number: number): readonly Row[] {
		return this.#rules.readsCode(this.table.functionAt(number)) ? [] : this.#rowsOf(number);
	}

	#rowsOf(number: number): Row[] {
		const rows: Row[] = [];
		try {
			this.#rules.rowsOf(this.table.functionAt(number), (from, rule) => rows.push({ from, rule }));
		} catch (error) {
			if (!(error instanceof SymbolError)) throw error;
		}
		return rows;
	}
}
