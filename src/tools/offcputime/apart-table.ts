/** The tables of --by kind, object and waker: the waits of all threads, added up. */
import { apartOf, type Key, withoutApart } from '../../aggregate/row-key.js';
import { type StackFindings, type StackRow, totalOf } from '../../aggregate/stack-rows.js';
import { waitFrames } from '../../aggregate/summary-frames.js';
import { valueText } from '../../render/left-out.js';
import { grouped } from '../../render/numbers.js';
import { largestSummary } from '../../render/stack-summaries.js';
import { totalLines } from '../../render/stacks.js';
import { type Column, moreLine, numbers, renderTable } from '../../render/table.js';
import { printable, type Style, shortened } from '../../render/terminal.js';

interface ApartRow {
	/** What its waits have in common: `kind`, `object`, `waker`, as far as was asked for. */
	readonly key: Key;
	readonly sum: StackRow;
	/** The largest part of it: whose, and in which function of the program. */
	readonly largest: ReturnType<typeof largestSummary>;
}

/** What rows can be apart by: values of --by. */
export const APART = [
	...['kind', 'object', 'kind,object'],
	...['waker', 'kind,waker', 'object,waker', 'kind,object,waker'],
] as const;
export type Apart = (typeof APART)[number];

interface ApartTable {
	/** How many rows to show; 0 for all. */
	readonly top: number;
	readonly style: Style;
	readonly apart: Apart;
}

/** A line for each, the largest first. */
export function renderApart(findings: StackFindings, { top, style, apart }: ApartTable): string {
	if (findings.stacks.length === 0) return '';
	const total = totalOf(findings);
	const apartRows = rowsOf(findings);
	const shown = top > 0 ? apartRows.slice(0, top) : apartRows;
	const table = renderTable(columnsOf(total, apart), shown, style);
	const more = moreLine(apartRows.length - shown.length);
	// A wait that was of several kinds counts in each.
	const below = totalLines(total, findings, { verb: 'waited', style, uncounted: true });
	return `\n${table}${more}${below}`;
}

function rowsOf(findings: StackFindings): ApartRow[] {
	const groups = new Map<string, [StackRow, ...StackRow[]]>();
	for (const row of findings.stacks) {
		const identity = JSON.stringify(apartOf(row.key));
		const group = groups.get(identity);
		if (group) group.push(row);
		else groups.set(identity, [row]);
	}
	return [...groups.values()]
		.map((rows) => {
			// What they have in common has columns of its own.
			const stacks = rows.map((row) => ({ ...row, key: withoutApart(row.key) }));
			const of = { ...findings, stacks };
			const largest = largestSummary(of, { telling: ({ frames }) => waitFrames(frames) });
			return { key: rows[0].key, sum: totalOf(of), largest };
		})
		.sort((a, b) => b.sum.value - a.sum.value);
}

const LARGEST: Column<ApartRow> = numbers('LARGEST', ({ largest, sum }) =>
	percent(largest, sum, 0),
);
const WHO: Column<ApartRow> = {
	heading: 'WHO',
	align: 'left',
	cell: ({ largest }) => largest.owner,
};
const IN: Column<ApartRow> = {
	heading: 'IN',
	align: 'left',
	shrinks: true,
	cell: ({ largest }) => largest.name,
};
const SHRINKING_WHO: Column<ApartRow> = { ...WHO, shrinks: true };

/**
 * What is in front of the largest, and what is told of that, for each value of --by. The numbers are widths: what fits
 * into 80 columns. Longer ones are cut: of kinds, a function of the kernel behind "other:". A waker beside something
 * else leaves no room for the share of the largest.
 */
const COLUMNS: Readonly<Record<Apart, readonly Column<ApartRow>[]>> = {
	kind: [kind(24), LARGEST, WHO, IN],
	object: [object(28), LARGEST, SHRINKING_WHO],
	'kind,object': [kind(24), object(18), LARGEST, WHO],
	// With its number: it is who to look at next.
	waker: [waker(24, shortened), LARGEST, WHO, IN],
	'kind,waker': [kind(24), waker(18), SHRINKING_WHO],
	'object,waker': [object(18), waker(18), SHRINKING_WHO],
	'kind,object,waker': [kind(14), object(14), waker(14), SHRINKING_WHO],
};

function columnsOf(total: StackRow, apart: Apart): Column<ApartRow>[] {
	return [
		numbers('TIME', ({ sum }) => valueText(sum.value, 'ns')),
		numbers('SHARE', ({ sum }) => percent(sum, total, 1)),
		{ ...numbers('WAITS', waitsText), spare: 1 },
		...COLUMNS[apart],
	];
}

function kind(width: number): Column<ApartRow> {
	return { heading: 'KIND', align: 'left', cell: ({ key }) => shortened(`${key.kind}`, width) };
}

function object(width: number): Column<ApartRow> {
	return {
		heading: 'OBJECT',
		align: 'left',
		cell: ({ key }) => shortObject(`${key.object}`, width),
	};
}

function waker(width: number, short = shortObject): Column<ApartRow> {
	return { heading: 'WOKEN BY', align: 'left', cell: ({ key }) => short(`${key.waker}`, width) };
}

const percent = (part: Pick<StackRow, 'value'>, whole: StackRow, digits: number) =>
	`${((100 * part.value) / whole.value).toFixed(digits)} %`;

const waitsText = ({ sum: { count, variance } }: ApartRow) =>
	`${variance > 0 ? '~' : ''}${grouped(Math.max(1, count))}`;

/** Of what is too long, the number of a process goes first, then the beginning of a path. */
function shortObject(object: string, width: number): string {
	const text = printable(object);
	const short = text.length <= width ? text : text.replace(/ \(\d+\)(?= \+\d+$|$)/, '');
	const characters = [...short];
	if (characters.length <= width) return short;
	return short.includes('/')
		? `…${characters.slice(1 - width).join('')}`
		: `${characters.slice(0, width - 1).join('')}…`;
}
