/** The tables of --by kind, object and waker: the waits of all threads, added up. */
import { type StackFindings, type StackRow, totalOf } from '../../aggregate/stack-rows.js';
import { waitFrames } from '../../aggregate/summary-frames.js';
import { valueText } from '../../render/left-out.js';
import { grouped } from '../../render/numbers.js';
import { largestSummary } from '../../render/stack-summaries.js';
import { totalLines } from '../../render/stacks.js';
import { type Column, moreLine, numbers, renderTable } from '../../render/table.js';
import { printable, type Style, shortened } from '../../render/terminal.js';

interface KindRow {
	readonly kind: string;
	/** '': the rows are not apart by it; so is `waker`. */
	readonly object: string;
	readonly waker: string;
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

/** A line for each, the largest first; `kind` in the keys of the rows says what. */
export function renderApart(findings: StackFindings, { top, style, apart }: ApartTable): string {
	if (findings.stacks.length === 0) return '';
	const total = totalOf(findings);
	const kinds = kindsOf(findings);
	const shown = top > 0 ? kinds.slice(0, top) : kinds;
	const table = renderTable(columnsOf(total, apart), shown, style);
	const more = moreLine(kinds.length - shown.length);
	// A wait that was of several kinds counts in each.
	const below = totalLines(total, findings, { verb: 'waited', style, uncounted: true });
	return `\n${table}${more}${below}`;
}

function kindsOf(findings: StackFindings): KindRow[] {
	const groups = new Map<string, StackRow[]>();
	for (const row of findings.stacks) {
		const { kind: first, object = '', waker = '' } = row.key;
		const kind = JSON.stringify([first, object, waker]);
		const group = groups.get(kind);
		if (group) group.push(row);
		else groups.set(kind, [row]);
	}
	return [...groups]
		.map(([name, rows]) => {
			const [kind, object, waker] = JSON.parse(name) as [string, string, string];
			// Here the kind has a column of its own.
			const stacks = rows.map(({ key: { kind: _, object: __, waker: ___, ...key }, ...row }) => ({
				...row,
				key,
			}));
			const of = { ...findings, stacks };
			const largest = largestSummary(of, { telling: ({ frames }) => waitFrames(frames) });
			return { kind, object, waker, sum: totalOf(of), largest };
		})
		.sort((a, b) => b.sum.value - a.sum.value);
}

const LARGEST: Column<KindRow> = numbers('LARGEST', ({ largest, sum }) => percent(largest, sum, 0));
const WHO: Column<KindRow> = {
	heading: 'WHO',
	align: 'left',
	cell: ({ largest }) => largest.owner,
};
const IN: Column<KindRow> = {
	heading: 'IN',
	align: 'left',
	shrinks: true,
	cell: ({ largest }) => largest.name,
};
const SHRINKING_WHO: Column<KindRow> = { ...WHO, shrinks: true };

/**
 * What is in front of the largest, and what is told of that, for each value of --by. The numbers are widths: what fits
 * into 80 columns. Longer ones are cut: of kinds, a function of the kernel behind "other:". A waker beside something
 * else leaves no room for the share of the largest.
 */
const COLUMNS: Readonly<Record<Apart, readonly Column<KindRow>[]>> = {
	kind: [first('KIND', 24), LARGEST, WHO, IN],
	object: [firstObject(28), LARGEST, SHRINKING_WHO],
	'kind,object': [first('KIND', 24), object(18), LARGEST, WHO],
	waker: [first('WOKEN BY', 24), LARGEST, WHO, IN],
	'kind,waker': [first('KIND', 24), waker(18), SHRINKING_WHO],
	'object,waker': [firstObject(18), waker(18), SHRINKING_WHO],
	'kind,object,waker': [first('KIND', 14), object(14), waker(14), SHRINKING_WHO],
};

function columnsOf(total: StackRow, apart: Apart): Column<KindRow>[] {
	return [
		numbers('TIME', ({ sum }) => valueText(sum.value, 'ns')),
		numbers('SHARE', ({ sum }) => percent(sum, total, 1)),
		{ ...numbers('WAITS', waitsText), spare: 1 },
		...COLUMNS[apart],
	];
}

/** The first that is asked for is the row's `kind`, whatever it is. */
function first(heading: string, width: number): Column<KindRow> {
	return { heading, align: 'left', cell: ({ kind }) => shortened(kind, width) };
}

function firstObject(width: number): Column<KindRow> {
	return { heading: 'OBJECT', align: 'left', cell: ({ kind }) => shortObject(kind, width) };
}

function object(width: number): Column<KindRow> {
	return { heading: 'OBJECT', align: 'left', cell: (row) => shortObject(row.object, width) };
}

function waker(width: number): Column<KindRow> {
	return { heading: 'WOKEN BY', align: 'left', cell: (row) => shortObject(row.waker, width) };
}

const percent = (part: Pick<StackRow, 'value'>, whole: StackRow, digits: number) =>
	`${((100 * part.value) / whole.value).toFixed(digits)} %`;

const waitsText = ({ sum: { count, variance } }: KindRow) =>
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
