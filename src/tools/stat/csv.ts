/** Counts as comma-separated values, a line for each event. Format: RFC 4180. Pure. */
import type { CountRow, StatFindings } from './findings.js';

const COLUMNS: ReadonlyArray<
	readonly [name: string, cell: (row: CountRow, about: StatFindings['about']) => unknown]
> = [
	['until_s', (_, { until_s }) => fixed(until_s)],
	['elapsed_s', (_, { elapsed_s }) => fixed(elapsed_s)],
	['event', ({ event }) => event],
	['value', ({ value }) => value],
	['unit', ({ unit }) => unit],
	['status', ({ status }) => status],
	['per_s', ({ per_s }) => fixed(per_s)],
	['metric', ({ metric }) => metric?.name],
	['metric_value', ({ metric }) => fixed(metric?.value ?? null)],
	['counted_share', ({ counted_share }) => fixed(counted_share)],
	['deviation', ({ runs }) => fixed(runs?.deviation ?? null)],
	['runs', (_, { runs }) => runs],
];

/** With six digits behind the point, as JSON has times. */
const fixed = (value: number | null): number | null =>
	value === null ? null : Number(value.toFixed(6));

/** The line that names the columns. */
export const CSV_HEADER = `${COLUMNS.map(([name]) => name).join(',')}\n`;

export function csvLines({ rows, about }: StatFindings): string {
	return rows
		.map((row) => `${COLUMNS.map(([, cell]) => quoted(cell(row, about))).join(',')}\n`)
		.join('');
}

/** Empty where there is nothing. */
function quoted(value: unknown): string {
	const text = `${value ?? ''}`;
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
