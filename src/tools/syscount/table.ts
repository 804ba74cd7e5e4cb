/** System calls as a table. */
import { bucketOf } from '../../aggregate/buckets.js';
import { Histogram } from '../../aggregate/histogram.js';
import { renderGroups } from '../../render/histogram.js';
import { grouped } from '../../render/numbers.js';
import { type Column, moreLine, numbers, renderTable } from '../../render/table.js';
import { printable, type Style, wrapped } from '../../render/terminal.js';
import { humanBytes, humanTime, inUnit, type TimeUnit } from '../../render/units.js';
import { normalErrors } from './normal-errors.js';

/** What of a row is shown. A type and not an interface, so that rows are records as well. */
export type ShownCall = {
	readonly syscall?: string;
	readonly pid?: number;
	readonly comm?: string;
	readonly error?: string;
	readonly calls: number;
	readonly errors: number;
	readonly total_ns?: number;
	readonly mean_ns?: number;
	readonly p50_ns?: number;
	readonly p99_ns?: number;
	readonly min_ns?: number;
	readonly max_ns?: number;
	readonly read_bytes?: number;
	readonly written_bytes?: number;
	readonly in_progress?: number;
	readonly longest_in_progress_ns?: number;
	/** The longest began before tracing did: it takes that long at least. */
	readonly longest_since_before?: boolean;
	/** [low, high, count]: low <= value < high. */
	readonly buckets?: ReadonlyArray<readonly [number, number, number]>;
};

export interface CallsView {
	readonly byProcess: boolean;
	readonly byErrno: boolean;
	/** Then all calls are errors. */
	readonly onlyFailed: boolean;
	readonly timed: boolean;
	/** How much they move is shown. */
	readonly bytes: boolean;
	/** Of the histogram, and of all times with -m; else each has the unit that suits it. */
	readonly unit: TimeUnit;
	readonly milliseconds: boolean;
	readonly style: Style;
	/** 0: all. */
	readonly top: number;
}

/**
 * The rows as they are sorted, a line that adds them up, and histograms before them. Times leave a line
 * no room for what is in progress: that comes below.
 */
export async function renderCalls(rows: readonly ShownCall[], view: CallsView): Promise<string> {
	if (rows.length === 0) return '';
	const { top, timed, style } = view;
	const listed = timed ? rows.filter(({ calls }) => calls > 0) : rows;
	const shown = top > 0 ? listed.slice(0, top) : listed;
	let text = '';
	for (const row of rows) {
		if (row.buckets) text += await histogramOf(row, view);
	}
	text += '\n';
	if (shown.length > 0) text += renderTable(columnsOf(shown, view), shown, style);
	const rest = listed.slice(shown.length);
	text += moreLine(rest.length, ` with ${summary(rest, view)}`);
	return `${text}${timed ? openLines(rows, view) : ''}${summary(rows, view)} in all\n${normalErrors(shown)}`;
}

/** "in progress: read 2 (>1.5 s), wait4 1 (31 ms)", the longest first. */
function openLines(rows: readonly ShownCall[], { top, byProcess, style }: CallsView): string {
	const since = ({ longest_in_progress_ns }: ShownCall) => longest_in_progress_ns ?? 0;
	const open = rows
		.filter(({ in_progress }) => in_progress)
		.sort((a, b) => since(b) - since(a) || (b.in_progress ?? 0) - (a.in_progress ?? 0));
	if (open.length === 0) return '';
	const words = open.slice(0, top || open.length).map((row) => {
		const { syscall, pid, comm, in_progress, longest_since_before } = row;
		const name = byProcess ? `${comm}[${pid}]` : `${syscall}`;
		const age = `${longest_since_before ? '>' : ''}${humanTime(since(row))}`;
		// Lines break between those, not within them.
		return printable(`${name} ${grouped(in_progress ?? 0)} (${age})`).replaceAll(' ', HARD_SPACE);
	});
	const more = moreLine(open.length - words.length).trimEnd();
	if (more) words.push(more.replaceAll(' ', HARD_SPACE));
	const text = `in${HARD_SPACE}progress: ${words.join(', ')}`;
	return `${wrapped(text, '  ', style.width).replaceAll(HARD_SPACE, ' ')}\n`;
}

const HARD_SPACE = '\u00a0';

async function histogramOf(row: ShownCall, view: CallsView): Promise<string> {
	const histogram = new Histogram();
	for (const [low, , count] of row.buckets ?? []) histogram.addBucket(bucketOf(low), count);
	histogram.addTotals({
		sum_ns: row.total_ns ?? 0,
		min_ns: row.min_ns ?? 0,
		max_ns: row.max_ns ?? 0,
	});
	const groups = [{ key: { syscall: row.syscall ?? '' }, histogram }];
	return renderGroups(groups, { ...view, noun: 'call', top: 0 });
}

function columnsOf(rows: readonly ShownCall[], view: CallsView): Column<ShownCall>[] {
	const number = (heading: string, value: (row: ShownCall) => number) =>
		numbers<ShownCall>(heading, (row) => grouped(value(row)));
	const name = (
		heading: string,
		value: (row: ShownCall) => string | undefined,
	): Column<ShownCall> => ({
		heading,
		align: 'left',
		cell: (row) => value(row) ?? '',
		shrinks: heading !== 'ERROR',
	});
	const subject = view.byProcess
		? [pidColumn, name('COMM', ({ comm }) => comm)]
		: [name('SYSCALL', ({ syscall }) => syscall)];
	if (view.byErrno)
		return [
			...subject,
			name('ERROR', ({ error }) => error),
			number('ERRORS', ({ errors }) => errors),
		];
	if (view.onlyFailed && !view.timed) return [...subject, number('ERRORS', ({ errors }) => errors)];
	return [
		...subject,
		number('CALLS', ({ calls }) => calls),
		number('ERRORS', ({ errors }) => errors),
		...(view.bytes ? [moved('READ', 'read_bytes'), moved('WRITTEN', 'written_bytes')] : []),
		...(view.timed
			? timesOf(view)
			: rows.some(({ in_progress }) => in_progress)
				? [inProgress]
				: []),
	];
}

// A call that moves nothing has no number there.
const moved = (heading: string, field: 'read_bytes' | 'written_bytes') =>
	numbers<ShownCall>(heading, (row) => (row[field] ? humanBytes(row[field]) : ''));

const pidColumn = numbers<ShownCall>('PID', ({ pid }) => `${pid}`);

function timesOf({ unit, milliseconds }: CallsView): Column<ShownCall>[] {
	const time = milliseconds ? (time_ns: number) => inUnit(time_ns, unit) : humanTime;
	const column = (heading: string, value: (row: ShownCall) => number | undefined) =>
		numbers<ShownCall>(heading, (row) => time(value(row) ?? 0));
	return [
		column(milliseconds ? 'TOTAL(ms)' : 'TOTAL', ({ total_ns }) => total_ns),
		column('MEAN', ({ mean_ns }) => mean_ns),
		column('P50', ({ p50_ns }) => p50_ns),
		column('P99', ({ p99_ns }) => p99_ns),
		column('MAX', ({ max_ns }) => max_ns),
	];
}

const inProgress = numbers<ShownCall>('IN PROGRESS', ({ in_progress }) =>
	in_progress ? grouped(in_progress) : '',
);

function summary(rows: readonly ShownCall[], { byErrno, onlyFailed, bytes }: CallsView): string {
	const sum = (value: (row: ShownCall) => number | undefined) =>
		rows.reduce((all, row) => all + (value(row) ?? 0), 0);
	const failed = `${grouped(sum(({ errors }) => errors))} failed`;
	if (byErrno || onlyFailed) return failed;
	const open = sum(({ in_progress }) => in_progress);
	const calls = sum(({ calls }) => calls);
	const read = humanBytes(sum(({ read_bytes }) => read_bytes));
	const written = humanBytes(sum(({ written_bytes }) => written_bytes));
	const moved = bytes ? `, ${read} read, ${written} written` : '';
	const counted = `${grouped(calls)} call${calls === 1 ? '' : 's'}, ${failed}${moved}`;
	return open > 0 ? `${counted}, ${grouped(open)} in progress` : counted;
}
