/** What threads did, all in all, as perf sched timehist's summary has it. */
import type { Key } from '../../aggregate/row-key.js';
import { grouped } from '../../render/numbers.js';
import { type Column, countColumn, numbers, renderTable, timeColumn } from '../../render/table.js';
import type { Style } from '../../render/terminal.js';
import { humanTime } from '../../render/units.js';

const COLUMNS: readonly Column<Key>[] = [
	{ heading: 'THREAD', align: 'left', cell: (row) => `${row.thread}`, shrinks: true },
	countColumn('SWITCH', 'switches'),
	timeColumn('RUN', 'run'),
	{ ...timeColumn('MIN', 'min_run'), spare: 3 },
	timeColumn('AVG', 'avg_run'),
	timeColumn('MAX', 'max_run'),
	{ ...numbers('STDDEV', (row) => `${Number(row.stddev_pct).toFixed(2)} %`), spare: 1 },
	timeColumn('WAIT', 'wait'),
	timeColumn('DELAY', 'delay'),
	{ ...countColumn('MIGR', 'migrations'), spare: 2 },
];

/** Rows of ThreadTotals, and a line of what they come to. */
export function renderThreadTotals(rows: readonly Key[], style: Style): string {
	if (rows.length === 0) return '';
	const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name]), 0);
	const threads = rows.length === 1 ? '1 thread' : `${grouped(rows.length)} threads`;
	const switches = sum('switches') === 1 ? '1 switch' : `${grouped(sum('switches'))} switches`;
	const throttled = sum('throttled') > 0 ? [timeColumn('THROTTLED', 'throttled')] : [];
	const at = COLUMNS.length - 1;
	const columns = [...COLUMNS.slice(0, at), ...throttled, ...COLUMNS.slice(at)];
	const table = renderTable(columns, rows, style);
	return `\n${table}${threads}, ${switches}, ${humanTime(sum('run'))} run\n`;
}
