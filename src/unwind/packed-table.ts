/** A table as it goes from the thread that reads it to the one that gives it to the kernel. */

import { pagesOf } from './pages.js';
import { RULE_BYTES, type RuleSet } from './rule.js';
import type { UnwindTable } from './table.js';

export interface PackedTable {
	/** Numbers of its pages, ascending: 64 KiB of the file each. */
	readonly pages: Uint32Array;
	/** How many rows each has. */
	readonly counts: Uint32Array;
	/** All rows, one page after the other, as the kernel has them. */
	readonly rows: Uint32Array;
	/** Rules that the kernel does not have yet, as it will have them; and the number of the first. */
	readonly rules: Uint8Array;
	readonly firstRule: number;
}

/** `rules`: those of all tables so far; the table's are added. From `firstRule` on, the kernel does not have them. */
export function packed(table: UnwindTable, rules: RuleSet, firstRule: number): PackedTable {
	const pages = [...pagesOf(table.rows, rules.addAll(table.rules))];
	const all = new Uint32Array(pages.reduce((sum, { rows }) => sum + rows.length, 0));
	let at = 0;
	for (const { rows } of pages) {
		all.set(rows, at);
		at += rows.length;
	}
	const { buffer } = rules.words;
	return {
		pages: Uint32Array.from(pages, ({ page }) => page),
		counts: Uint32Array.from(pages, ({ rows }) => rows.length),
		rows: all,
		rules: new Uint8Array(buffer.slice(firstRule * RULE_BYTES, rules.count * RULE_BYTES)),
		firstRule,
	};
}
