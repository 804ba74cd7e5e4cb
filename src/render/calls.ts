/** System calls as a table. */
import { bucketOf } from '../aggregate/buckets.js';
import { Histogram } from '../aggregate/histogram.js';
import { renderGroups } from './histogram.js';
import { grouped } from './numbers.js';
import { type Column, renderTable } from './table.js';
import type { Style } from './terminal.js';
import { humanTime, inUnit, type TimeUnit } from './units.js';

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
	readonly unit: TimeUnit;
	readonly style: Style;
	/** 0: all. */
	readonly top: number;
}

/** The rows as they are sorted, a line that adds them up, and histograms before them. */
export async function renderCalls(rows: readonly ShownCall[], view: CallsView): Promise<string> {
	if (rows.length === 0) return '';
	const { top, style } = view;
	const shown = top > 0 ? rows.slice(0, top) : rows;
	let text = '';
	for (const row of rows) {
		if (row.buckets) text += await histogramOf(row, view);
	}
	text += `\n${renderTable(columnsOf(shown, view), shown, style)}`;
	if (shown.length < rows.length) {
		const rest = rows.slice(shown.length);
		text += `${grouped(rest.length)} more with ${summary(rest, view)}; -T 0 shows them\n`;
	}
	return `${text}${summary(rows, view)} in all\n`;
}

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
	const number = (heading: string, value: (row: ShownCall) => number): Column<ShownCall> => ({
		heading,
		align: 'right',
		cell: (row) => grouped(value(row)),
	});
	const name = (
		heading: string,
		value: (row: ShownCall) => string | undefined,
	): Column<ShownCall> => ({
		heading,
		align: 'left',
		cell: (row) => value(row) ?? '',
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
		...(view.timed ? timesOf(view.unit) : []),
		...(rows.some(({ in_progress }) => in_progress) ? [inProgress] : []),
	];
}

const pidColumn: Column<ShownCall> = {
	heading: 'PID',
	align: 'right',
	cell: ({ pid }) => `${pid}`,
};

function timesOf(unit: TimeUnit): Column<ShownCall>[] {
	const column = (heading: string, value: (row: ShownCall) => number | undefined) => ({
		heading,
		align: 'right' as const,
		cell: (row: ShownCall) => (row.calls === 0 ? '' : inUnit(value(row) ?? 0, unit)),
	});
	return [
		column(`TOTAL(${unit.ns === 1e6 ? 'ms' : 'us'})`, ({ total_ns }) => total_ns),
		column('MEAN', ({ mean_ns }) => mean_ns),
		column('P50', ({ p50_ns }) => p50_ns),
		column('P99', ({ p99_ns }) => p99_ns),
		column('MAX', ({ max_ns }) => max_ns),
	];
}

/** How many have not returned; and since when, if that is known. */
const inProgress: Column<ShownCall> = {
	heading: 'IN PROGRESS',
	align: 'right',
	cell: ({ in_progress, longest_in_progress_ns, longest_since_before }) => {
		if (!in_progress) return '';
		if (longest_in_progress_ns === undefined) return grouped(in_progress);
		const age = `${longest_since_before ? '>' : ''}${humanTime(longest_in_progress_ns)}`;
		return `${grouped(in_progress)} (${age})`;
	},
};

function summary(rows: readonly ShownCall[], { byErrno, onlyFailed }: CallsView): string {
	const sum = (value: (row: ShownCall) => number | undefined) =>
		rows.reduce((all, row) => all + (value(row) ?? 0), 0);
	const failed = `${grouped(sum(({ errors }) => errors))} failed`;
	if (byErrno || onlyFailed) return failed;
	const open = sum(({ in_progress }) => in_progress);
	const calls = sum(({ calls }) => calls);
	const counted = `${grouped(calls)} call${calls === 1 ? '' : 's'}, ${failed}`;
	return open > 0 ? `${counted}, ${grouped(open)} in progress` : counted;
}
