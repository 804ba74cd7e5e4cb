/** The table of how threads were scheduled. */
import type { TableFindings } from '../../aggregate/report.js';
import { grouped } from '../../render/numbers.js';
import { type Column, moreLine, numbers, renderTable } from '../../render/table.js';
import type { Style } from '../../render/terminal.js';
import { clockTime, humanTime } from '../../render/units.js';

interface SchedulingTable {
	/** How many rows to show; 0 for all. */
	readonly top: number;
	readonly style: Style;
}

type Row = TableFindings['rows'][number];

const number = (row: Row, name: string) => Number(row[name] ?? 0);
const keyOf = (row: Row) => row.key as Readonly<Record<string, string | number>>;

/** Rows, a line for those not shown, and totals. */
export function renderScheduling(
	{ rows, about }: TableFindings,
	{ top, style }: SchedulingTable,
): string {
	if (rows.length === 0) return '\nno thread ran or waited\n';
	const shown = top > 0 ? rows.slice(0, top) : rows;
	const totals = about.totals as Readonly<Record<string, number>>;
	const totalRow: Row = {
		...totals,
		avg: totals.delays ? (totals.delay ?? 0) / totals.delays : 0,
		p50: null,
		p99: null,
		max_at: null,
		key: { comm: '(total)' },
	};
	const throttled = (totals.throttled ?? 0) > 0;
	const text = renderTable(columnsOf(rows[0] as Row, throttled), [...shown, totalRow], style);
	const still = stillLine(rows, 'waiting', 'wait') + stillLine(rows, 'throttled_now', 'throttled');
	return `\n${text}${moreLine(rows.length - shown.length)}${still}`;
}

function stillLine(rows: readonly Row[], name: string, word: string): string {
	const those = rows.filter((row) => number(row, name) > 0);
	if (those.length === 0) return '';
	const longest = those.reduce((max, row) => Math.max(max, number(row, name)), 0);
	return `${grouped(those.length)} still ${word}, for up to ${humanTime(longest)}\n`;
}

/** `throttled`: somebody had no CPU quota. */
function columnsOf(first: Row, throttled: boolean): Column<Row>[] {
	const time = (heading: string, name: string) =>
		numbers<Row>(heading, (row) => (row[name] === null ? '' : humanTime(number(row, name))));
	const count = (heading: string, name: string) =>
		numbers<Row>(heading, (row) => grouped(number(row, name)));
	const identity = ['tid', 'pid']
		.filter((name) => name in keyOf(first))
		.map(
			(name): Column<Row> => ({
				...numbers(name.toUpperCase(), (row) => `${keyOf(row)[name] ?? ''}`),
				// A thread is known by its own number.
				...('tid' in keyOf(first) && name === 'pid' && { spare: 3 }),
			}),
		);
	return [
		{ heading: 'COMM', align: 'left', cell: (row) => `${keyOf(row).comm}`, shrinks: true },
		...identity,
		time('RUN', 'runtime'),
		count('SWITCH', 'switches'),
		{ ...count('WAKE', 'wakeups'), spare: 5 },
		count('PREEMPT', 'preempted'),
		{ ...count('MIGR', 'migrations'), spare: 2 },
		...(throttled ? [time('THROTTLED', 'throttled')] : []),
		time('AVG', 'avg'),
		{ ...time('P50', 'p50'), spare: 4 },
		time('P99', 'p99'),
		time('MAX', 'max'),
		{
			heading: 'MAX AT',
			align: 'left',
			spare: 1,
			cell: (row) =>
				row.max_at && number(row, 'max') > 0 ? clockTime(new Date(`${row.max_at}`), true) : '',
		},
	];
}
