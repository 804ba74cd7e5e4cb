/** Rows under headings, as wide as what is in them, within the terminal's width. */
import { largest } from '../aggregate/largest.js';
import type { Key } from '../aggregate/row-key.js';
import { grouped } from './numbers.js';
import { paint, printable, type Style, shortened, wrapped } from './terminal.js';
import { humanTime } from './units.js';

export interface Column<Row> {
	readonly heading: string;
	/** Numbers are at the right, names at the left. */
	readonly align: 'left' | 'right';
	/** May have control characters: they become visible. */
	cell(row: Row): string;
	/** Cut in the middle where the line would get too long; at most one column. */
	readonly shrinks?: boolean;
	/** Left out on a terminal that is too narrow for all: the lowest first. */
	readonly spare?: number;
}

/** A column of numbers. */
export function numbers<Row>(heading: string, cell: (row: Row) => string): Column<Row> {
	return { heading, align: 'right', cell };
}

/** A column of counts, by the field of rows that has them. */
export const countColumn = (heading: string, field: string): Column<Key> =>
	numbers(heading, (row) => grouped(Number(row[field])));

/** A column of durations, by the field of rows that has them in ns. */
export const timeColumn = (heading: string, field: string): Column<Key> =>
	numbers(heading, (row) => humanTime(Number(row[field])));

/** "12 more with 3 waits; --top 0 shows them", a line; nothing where all are shown. */
export function moreLine(count: number, what = ''): string {
	return count === 0 ? '' : `${grouped(count)} more${what}; --top 0 shows them\n`;
}

const GAP = '  ';
/** Narrower ones say nothing; then they stay whole, and lines get longer than the terminal. */
const LEAST_WIDTH = 8;

/** A line of headings and one for each row; and one that names what a narrow terminal has no room for. */
export function renderTable<Row>(
	all: readonly Column<Row>[],
	rows: readonly Row[],
	style: Style,
): string {
	const { columns, cells, widths, total } = fit(
		all,
		rows,
		style.columns ?? Number.POSITIVE_INFINITY,
	);
	const shrinking = columns.findIndex(({ shrinks }) => shrinks === true);
	if (shrinking >= 0 && total > style.width) {
		const width = (widths[shrinking] as number) - (total - style.width);
		if (width >= LEAST_WIDTH) widths[shrinking] = width;
	}
	const line = (texts: readonly string[]): string =>
		texts
			.map((text, index) => {
				const width = widths[index] as number;
				const fitting = shortened(text, width);
				return columns[index]?.align === 'right' ? fitting.padStart(width) : fitting.padEnd(width);
			})
			.join(GAP)
			.trimEnd();
	const heading = line(columns.map((column) => column.heading));
	const lines = [paint(style, 'bold', heading), ...cells.map(line)];
	const lacking = all.filter((column) => !columns.includes(column));
	if (lacking.length > 0) {
		const headings = lacking.map((column) => column.heading).join(', ');
		lines.push(wrapped(`a wider terminal or a pipe also shows ${headings}`, '  ', style.width));
	}
	return lines.map((text) => `${text}\n`).join('');
}

interface Fitted<Row> {
	readonly columns: readonly Column<Row>[];
	readonly cells: readonly (readonly string[])[];
	readonly widths: number[];
	/** With gaps. */
	readonly total: number;
}

/** As many of the columns as fit; more only where all that are left are needed. */
function fit<Row>(
	columns: readonly Column<Row>[],
	rows: readonly Row[],
	room: number,
): Fitted<Row> {
	const cells = rows.map((row) => columns.map((column) => printable(column.cell(row))));
	const widths = columns.map(({ heading }, index) =>
		largest(
			cells.map((line) => (line[index] as string).length),
			heading.length,
		),
	);
	const total = widths.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1));
	const [first] = columns.flatMap(({ spare }) => spare ?? []).sort((a, b) => a - b);
	if (total <= room || first === undefined) return { columns, cells, widths, total };
	return fit(
		columns.filter(({ spare }) => spare !== first),
		rows,
		room,
	);
}
