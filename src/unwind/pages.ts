/** The rows of a table as the kernel searches them: by page of the file, four bytes each. */

import type { Rows } from './rows.js';
import { GAP_RULE } from './rule.js';

const PAGE_BITS = 16;
const PAGE_BYTES = 2 ** PAGE_BITS;

interface RowPage {
	/** Its number: its place in the file divided by 64 KiB. */
	readonly page: number;
	/**
	 * Its rows, ascending, the first one at its beginning. Each is `struct unwind_row`: the offset
	 * in the page in the low 16 bits, the rule's number in the high ones.
	 */
	readonly rows: Uint32Array;
}

/**
 * The pages that have a rule for anything, ascending; all others are gaps. `numbers` has, for
 * each number of a rule in the rows, the number that the kernel knows it by.
 */
export function* pagesOf({ addresses, rules }: Rows, numbers: Uint16Array): Generator<RowPage> {
	const word = (offset: number, rule: number) =>
		((((numbers[rule] as number) << 16) | offset) >>> 0) as number;
	let rule = GAP_RULE;
	let page = 0;
	for (let from = 0; from < addresses.length; ) {
		const next = (addresses[from] as number) >>> PAGE_BITS;
		// Pages in the middle of a function or of a gap.
		for (; rule !== GAP_RULE && page < next; page++)
			yield { page, rows: Uint32Array.of(word(0, rule)) };
		page = next;
		let to = from;
		while (to < addresses.length && (addresses[to] as number) >>> PAGE_BITS === page) to++;
		const isFirstAtStart = (addresses[from] as number) % PAGE_BYTES === 0;
		const before = isFirstAtStart ? 0 : 1;
		const rows = new Uint32Array(to - from + before);
		if (before) rows[0] = word(0, rule);
		for (let i = from; i < to; i++) {
			rows[before + i - from] = word((addresses[i] as number) % PAGE_BYTES, rules[i] as number);
		}
		yield { page: page++, rows };
		rule = rules[to - 1] as number;
		from = to;
	}
}
