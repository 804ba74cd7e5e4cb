/** Rules of single addresses of a Go program, without the table of the whole file. */
import { SymbolError } from '../elf/bytes.js';
import type { Elf } from '../elf/elf.js';
import { findGoTable } from '../elf/go-place.js';
import { GoTable } from '../elf/go-table.js';
import { GoRules } from './go-rules.js';
import type { RuleSource } from './lookup.js';
import { GAP_RULE, type RuleSet } from './rule.js';

/** Undefined: it is no Go program, or its table cannot be read. */
export function goSource(elf: Elf, rules: RuleSet): RuleSource | undefined {
	try {
		const place = findGoTable(elf);
		return place && new GoSource(elf, new GoTable(elf, place, false), rules);
	} catch (error) {
		if (error instanceof SymbolError) return undefined;
		throw error;
	}
}

class GoSource implements RuleSource {
	readonly #rules: GoRules;

	constructor(
		elf: Elf,
		private readonly table: GoTable,
		rules: RuleSet,
	) {
		this.#rules = new GoRules(elf, table, rules);
	}

	get bytesKept(): number {
		return this.table.bytesKept;
	}

	/** The number of the rule at an address, as it is linked. */
	ruleAt(address: number): number {
		try {
			return this.#ruleAt(address);
		} catch (error) {
			if (error instanceof SymbolError) return GAP_RULE;
			throw error;
		}
	}

	#ruleAt(address: number): number {
		// The next function, if its rows begin in front of it; else the one around.
		for (const at of [address + 1, address]) {
			const number = this.table.numberAt(at);
			if (number < 0 || number === this.table.count) continue;
			const fn = this.table.functionAt(number);
			if (this.#rules.beginOf(fn) > address) continue;
			let found = GAP_RULE;
			this.#rules.rowsOf(fn, (from, rule) => {
				if (from <= address) found = rule;
			});
			return found;
		}
		return GAP_RULE;
	}
}
