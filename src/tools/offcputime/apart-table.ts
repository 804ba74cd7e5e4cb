/** The table of --by kind, and of --by waker: the waits of all threads, added up. */
import { type StackFindings, type StackRow, totalOf } from '../../aggregate/stack-rows.js';
import { waitFrames } from '../../aggregate/summary-frames.js';
import { valueText } from '../../render/left-out.js';
import { grouped } from '../../render/numbers.js';
import { largestSummary } from '../../render/stack-summaries.js';
import { totalLines } from '../../render/stacks.js';
import { type Column, moreLine, numbers, renderTable } from '../../render/table.js';
import { type Style, shortened } from '../../render/terminal.js';

interface KindRow {
	readonly kind: string;
	readonly sum: StackRow;
	/** The largest part of it: whose, and in which function of the program. */
	readonly largest: ReturnType<typeof largestSummary>;
}

/** Of the column that says by what. */
export const HEADINGS = { kind: 'KIND', waker: 'WOKEN BY' } as const;

interface ApartTable {
	/** How many rows to show; 0 for all. */
	readonly top: number;
	readonly style: Style;
	readonly heading: string;
}

/** A line for each, the largest first; `kind` in the keys of the rows says what. */
export function renderApart(findings: StackFindings, { top, style, heading }: ApartTable): string {
	if (findings.stacks.length === 0) return '';
	const total = totalOf(findings);
	const kinds = kindsOf(findings);
	const shown = top > 0 ? kinds.slice(0, top) : kinds;
	const table = renderTable(columnsOf(total, heading), shown, style);
	const more = moreLine(kinds.length - shown.length);
	// A wait that was of several kinds counts in each.
	const below = totalLines(total, findings, { verb: 'waited', style, uncounted: true });
	return `\n${table}${more}${below}`;
}

function kindsOf(findings: StackFindings): KindRow[] {
	const groups = new Map<string, StackRow[]>();
	for (const row of findings.stacks) {
		const kind = `${row.key.kind}`;
		const group = groups.get(kind);
		if (group) group.push(row);
		else groups.set(kind, [row]);
	}
	return [...groups]
		.map(([kind, rows]) => {
			// Here the kind has a column of its own.
			const stacks = rows.map(({ key: { kind: _, ...key }, ...row }) => ({ ...row, key }));
			const of = { ...findings, stacks };
			const largest = largestSummary(of, { telling: ({ frames }) => waitFrames(frames) });
			return { kind, sum: totalOf(of), largest };
		})
		.sort((a, b) => b.sum.value - a.sum.value);
}

/** Longer ones are cut: a function of the kernel behind "other:". */
const KIND_WIDTH = 24;

function columnsOf(total: StackRow, heading: string): Column<KindRow>[] {
	return [
		numbers('TIME', ({ sum }) => valueText(sum.value, 'ns')),
		numbers('SHARE', ({ sum }) => percent(sum, total, 1)),
		{ ...numbers('WAITS', waitsText), spare: 1 },
		{ heading, align: 'left', cell: ({ kind }) => shortened(kind, KIND_WIDTH) },
		numbers('LARGEST', ({ largest, sum }) => percent(largest, sum, 0)),
		{ heading: 'WHO', align: 'left', cell: ({ largest }) => largest.owner },
		{ heading: 'IN', align: 'left', shrinks: true, cell: ({ largest }) => largest.name },
	];
}

const percent = (part: Pick<StackRow, 'value'>, whole: StackRow, digits: number) =>
	`${((100 * part.value) / whole.value).toFixed(digits)} %`;

const waitsText = ({ sum: { count, variance } }: KindRow) =>
	`${variance > 0 ? '~' : ''}${grouped(Math.max(1, count))}`;
