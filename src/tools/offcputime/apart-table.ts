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

const HEADINGS: Readonly<Record<string, string>> = {
	kind: 'KIND',
	object: 'OBJECT',
	waker: 'WOKEN BY',
};

interface ApartTable {
	/** How many rows to show; 0 for all. */
	readonly top: number;
	readonly style: Style;
	/** "kind,waker": what the rows are apart by. */
	readonly apart: string;
}

/** A line for each, the largest first; `kind` in the keys of the rows says what. */
export function renderApart(findings: StackFindings, { top, style, apart }: ApartTable): string {
	if (findings.stacks.length === 0) return '';
	const total = totalOf(findings);
	const kinds = kindsOf(findings);
	const shown = top > 0 ? kinds.slice(0, top) : kinds;
	const table = renderTable(columnsOf(total, apart.split(',')), shown, style);
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

/** Longer ones are cut: a function of the kernel behind "other:". */
const KIND_WIDTH = 24;
/** What fits into 80 columns; less beside a kind. */
const OBJECT_WIDTH = 28;
const BESIDE_ONE = 18;
const BESIDE_TWO = 14;

function columnsOf(total: StackRow, by: readonly string[]): Column<KindRow>[] {
	const [first = '', ...more] = by;
	const isObject = first === 'object';
	const alone = by.length === 1;
	const width = by.length > 2 ? BESIDE_TWO : BESIDE_ONE;
	// A waker's column leaves no room for the share of the largest, and little for whose that is.
	const isNarrow = more.includes('waker');
	const firstText = ({ kind }: KindRow) => {
		if (!isObject) return shortened(kind, more.length > 1 ? width : KIND_WIDTH);
		return shortObject(kind, alone ? OBJECT_WIDTH : width);
	};
	const moreText: Readonly<Record<string, (row: KindRow) => string>> = {
		object: ({ object }) => shortObject(object, width),
		waker: ({ waker }) => shortObject(waker, width),
	};
	return [
		numbers('TIME', ({ sum }) => valueText(sum.value, 'ns')),
		numbers('SHARE', ({ sum }) => percent(sum, total, 1)),
		{ ...numbers('WAITS', waitsText), spare: 1 },
		{ heading: HEADINGS[first] ?? '', align: 'left', cell: firstText },
		...more.map((name): Column<KindRow> => {
			return { heading: HEADINGS[name] ?? '', align: 'left', cell: moreText[name] ?? (() => '') };
		}),
		...(isNarrow
			? []
			: [numbers('LARGEST', ({ largest, sum }: KindRow) => percent(largest, sum, 0))]),
		{
			heading: 'WHO',
			align: 'left',
			shrinks: isObject || isNarrow,
			cell: ({ largest }) => largest.owner,
		},
		...(isObject || !alone
			? []
			: [{ heading: 'IN', align: 'left', shrinks: true, cell: inText } as const]),
	];
}

const inText = ({ largest }: KindRow) => largest.name;

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
