/** Rows under headings, as wide as what is in them, within the terminal's width. */
import { paint, printable, type Style, shortened } from './terminal.js';

export interface Column<Row> {
	readonly heading: string;
	/** Numbers are at the right, names at the left. */
	readonly align: 'left' | 'right';
	/** May have control characters: they become visible. */
	cell(row: Row): string;
	/** Cut in the middle where the line would get too long; one column at the most. */
	readonly shrinks?: boolean;
}

const GAP = '  ';
/** Narrower ones say nothing; then lines get longer than the terminal. */
const LEAST_WIDTH = 8;

/** A line of headings and one for each row. */
export function renderTable<Row>(
	columns: readonly Column<Row>[],
	rows: readonly Row[],
	style: Style,
): string {
	const cells = rows.map((row) => columns.map((column) => printable(column.cell(row))));
	const widths = columns.map(({ heading }, index) =>
		Math.max(heading.length, ...cells.map((line) => (line[index] as string).length)),
	);
	const total = widths.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1));
	const shrinking = columns.findIndex(({ shrinks }) => shrinks === true);
	if (shrinking >= 0 && total > style.width) {
		const width = (widths[shrinking] as number) - (total - style.width);
		widths[shrinking] = Math.max(LEAST_WIDTH, width);
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
	return [paint(style, 'bold', heading), ...cells.map(line)].map((text) => `${text}\n`).join('');
}
