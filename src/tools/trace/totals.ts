/** What calls come to, by name: the summary of `tstrace trace`. */
import type { Key } from '../../aggregate/row-key.js';
import { grouped } from '../../render/numbers.js';
import { type Column, countColumn, renderTable, timeColumn } from '../../render/table.js';
import type { Style } from '../../render/terminal.js';
import { humanTime } from '../../render/units.js';

/** What comes first: the most time, calls or errors, or the first name. */
export const TOTALS_ORDERS = ['time', 'calls', 'errors', 'name'] as const;
export type TotalsOrder = (typeof TOTALS_ORDERS)[number];

type Named = readonly [name: string, total: CallTotal];

class CallTotal {
	calls = 0;
	errors = 0;
	timed = 0;
	total_ns = 0;
	max_ns = 0;
}

export class CallTotals {
	readonly #totals = new Map<string, CallTotal>();

	/** One call; its duration undefined where it is not known. */
	add(name: string, failed: boolean, duration_ns: number | undefined): void {
		let total = this.#totals.get(name);
		if (!total) {
			total = new CallTotal();
			this.#totals.set(name, total);
		}
		total.calls++;
		if (failed) total.errors++;
		if (duration_ns === undefined) return;
		total.timed++;
		total.total_ns += duration_ns;
		if (duration_ns > total.max_ns) total.max_ns = duration_ns;
	}

	rows(order: TotalsOrder): Key[] {
		return [...this.#totals]
			.sort(ORDERS[order])
			.map(([syscall, { calls, errors, timed, total_ns, max_ns }]) => ({
				syscall,
				calls,
				errors,
				total_ns,
				mean_ns: timed > 0 ? total_ns / timed : 0,
				max_ns,
			}));
	}
}

const byCalls = ([, a]: Named, [, b]: Named) => b.calls - a.calls;
const byName = ([a]: Named, [b]: Named) => (a < b ? -1 : 1);

const ORDERS: Readonly<Record<TotalsOrder, (a: Named, b: Named) => number>> = {
	time: (a, b) => b[1].total_ns - a[1].total_ns || byCalls(a, b),
	calls: (a, b) => byCalls(a, b) || byName(a, b),
	errors: (a, b) => b[1].errors - a[1].errors || byCalls(a, b),
	name: byName,
};

const COLUMNS: readonly Column<Key>[] = [
	{ heading: 'SYSCALL', align: 'left', cell: (row) => `${row.syscall}`, shrinks: true },
	countColumn('CALLS', 'calls'),
	countColumn('ERRORS', 'errors'),
	timeColumn('TOTAL', 'total_ns'),
	timeColumn('MEAN', 'mean_ns'),
	timeColumn('MAX', 'max_ns'),
];

/** Rows of CallTotals, and a line of what they come to. */
export function renderCallTotals(rows: readonly Key[], style: Style): string {
	if (rows.length === 0) return '';
	const sum = (name: string) => rows.reduce((all, row) => all + Number(row[name]), 0);
	const calls = sum('calls');
	const counted = `${grouped(calls)} call${calls === 1 ? '' : 's'}, ${grouped(sum('errors'))} failed`;
	return `\n${renderTable(COLUMNS, rows, style)}${counted}, ${humanTime(sum('total_ns'))} in all\n`;
}
