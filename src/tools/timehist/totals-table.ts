/** What threads did, all in all, as perf sched timehist's summary has it. */
import type { Key } from '../../aggregate/row-key.js';
import { grouped } from '../../render/numbers.js';
import { type Column, numbers, renderTable } from '../../render/table.js';
import type { Style } from '../../render/terminal.js';
import { humanTime } from '../../render/units.js';

const number = (row: Key, name: string) => Number(row[name]);
const count = (heading: string, name: string) =>
	numbers<Key>(heading, (row) => grouped(number(row, name)));
const time = (heading: string, name: string) =>
	numbers<Key>(heading, (row) => humanTime(number(row, name)));

const COLUMNS: readonly Column<Key>[] = [
	{ heading: 'THREAD', align: 'left', cell: (row) => `${row.thread}`, shrinks: true },
	count('SWITCH', 'switches'),
	time('RUN', 'run'),
	{ ...time('MIN', 'min_run'), spare: 3 },
	time('AVG', 'avg_run'),
	time('MAX', 'max_run'),
	{ ...numbers('STDDEV', (row) => `${number(row, 'stddev_pct').toFixed(2)} %`), spare: 1 },
	time('WAIT', 'wait'),
	time('DELAY', 'delay'),
	{ ...count('MIGR', 'migrations'), spare: 2 },
];

/** Rows of ThreadTotals, and a line of what they come to. */
export function renderThreadTotals(rows: readonly Key[], style: Style): string {
	if (rows.length === 0) return '';
	const sum = (name: string) => rows.reduce((total, row) => total + number(row, name), 0);
	const threads = rows.length === 1 ? '1 thread' : `${grouped(rows.length)} threads`;
	const switches = sum('switches') === 1 ? '1 switch' : `${grouped(sum('switches'))} switches`;
	const throttled = sum('throttled') > 0 ? [time('THROTTLED', 'throttled')] : [];
	const at = COLUMNS.length - 1;
	const columns = [...COLUMNS.slice(0, at), ...throttled, ...COLUMNS.slice(at)];
	const table = renderTable(columns, rows, style);
	return `\n${table}${threads}, ${switches}, ${humanTime(sum('run'))} run\n`;
}
