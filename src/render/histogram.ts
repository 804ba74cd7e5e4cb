/** Histograms as text: the power-of-two rows everyone knows, and a line of percentiles. */

import { middleOf } from '../aggregate/buckets.js';
import { percentiles } from '../aggregate/hdr.js';
import type { Histogram } from '../aggregate/histogram.js';
import { largest } from '../aggregate/largest.js';
import type { LatencyGroup } from '../aggregate/report.js';
import type { Key } from '../aggregate/row-key.js';
import { grouped } from './numbers.js';
import { moreLine } from './table.js';
import { paint, printable, type Style } from './terminal.js';
import { humanTime, inUnit, type TimeUnit } from './units.js';

interface HistogramOptions {
	readonly unit: TimeUnit;
	readonly style: Style;
	/** What was counted, one of them: "wait". */
	readonly noun: string;
	/** How many groups to show; 0 for all. */
	readonly top: number;
}

/** "         0 -> 1          : " and " |" … "|" around the bar. */
const FIXED_COLUMNS = 40;
const BAR_COLUMNS = 40;

/**
 * The groups with the largest total first; then, where there are several, a table with a line for
 * each, which is what the terminal shows last; and a line that says what is not shown.
 */
export async function renderGroups(
	groups: readonly LatencyGroup[],
	options: HistogramOptions,
): Promise<string> {
	const { noun, top } = options;
	const sorted = [...groups].sort((a, b) => b.histogram.sum_ns - a.histogram.sum_ns);
	const shown = top > 0 ? sorted.slice(0, top) : sorted;
	if (groups.every(({ histogram }) => histogram.count === 0)) return `\nno ${noun}s were seen\n`;
	let text = '';
	for (const { key, histogram } of shown) {
		const name = renderKey(key);
		text += `\n${name && `${name}\n`}${await renderHistogram(histogram, options)}`;
	}
	if (shown.length > 1) text += await renderTable(shown, options);
	const rest = sorted.slice(shown.length);
	const count = rest.reduce((sum, { histogram }) => sum + histogram.count, 0);
	const sum_ns = rest.reduce((sum, { histogram }) => sum + histogram.sum_ns, 0);
	return text + moreLine(rest.length, ` with ${counted(count, noun)}, ${humanTime(sum_ns)} in all`);
}

function renderKey(key: Key): string {
	const parts = Object.entries(key).map(([name, value]) => `${name} = ${printable(`${value}`)}`);
	return parts.join('  ');
}

function counted(count: number, noun: string): string {
	return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A line for each group: how many, how long in all, percentiles, its name. */
async function renderTable(
	groups: readonly LatencyGroup[],
	options: HistogramOptions,
): Promise<string> {
	const { style, noun } = options;
	const right = (cells: readonly string[]) => cells.map((cell) => cell.padStart(8)).join(' ');
	const head = right([`${noun}s`, 'in all', 'p50', 'p99', 'max']);
	let text = `\n${paint(style, 'bold', head)}\n`;
	for (const { key, histogram } of groups) {
		const { p50, p99 } = await percentiles(histogram);
		const times = [histogram.sum_ns, p50, p99, histogram.max_ns].map(humanTime);
		const line = `${right([grouped(histogram.count), ...times])}  ${renderKey(key)}`;
		text += `${line.length > style.width ? `${line.slice(0, style.width - 1)}…` : line}\n`;
	}
	return text;
}

async function renderHistogram(histogram: Histogram, options: HistogramOptions): Promise<string> {
	const { unit, style, noun } = options;
	const rows = powerOfTwoRows(histogram, unit);
	const most = largest(rows);
	const barColumns = Math.min(BAR_COLUMNS, style.width - FIXED_COLUMNS + 2);
	let text = paint(style, 'bold', `     ${unit.name.padEnd(20)}: count    distribution`);
	for (const [row, count] of rows.entries()) {
		const low = row === 0 ? 0 : 2 ** row;
		const high = 2 ** (row + 1) - 1;
		const bar = '*'.repeat(Math.floor((count * barColumns) / most)).padEnd(barColumns);
		text += `\n${String(low).padStart(10)} -> ${String(high).padEnd(10)} : `;
		text += `${String(count).padEnd(8)} |${paint(style, 'cyan', bar)}|`;
	}
	const p = await percentiles(histogram);
	const values = Object.entries({
		p50: p.p50,
		p90: p.p90,
		p99: p.p99,
		'p99.9': p.p999,
		max: histogram.max_ns,
	});
	// Of a million units on, five of them would not fit a line.
	const large = histogram.max_ns >= 1e6 * unit.ns;
	const show = (ns: number) => (large ? humanTime(ns) : inUnit(ns, unit));
	const line = values.map(([name, ns]) => `${name} ${show(ns)}`).join('  ');
	const count = `${counted(histogram.count, noun)}, ${humanTime(histogram.sum_ns)} in all`;
	return `${text}\n${paint(style, 'bold', line)}${large ? '' : ` ${unit.name}`}\n${count}\n`;
}

/** Counts by row: row n holds 2^n to 2^(n+1) - 1 units; row 0 also 0. */
function powerOfTwoRows(histogram: Histogram, unit: TimeUnit): number[] {
	const rows: number[] = [];
	for (const { bucket, count } of histogram.buckets()) {
		// In microseconds a bucket lies in one row whole, see bpf/lib/histogram.h; in milliseconds
		// one that straddles an edge goes where its middle is.
		const units = Math.floor(middleOf(bucket) / unit.ns);
		const row = units < 2 ? 0 : Math.floor(Math.log2(units));
		while (rows.length <= row) rows.push(0);
		rows[row] = (rows[row] ?? 0) + count;
	}
	return rows.length === 0 ? [0] : rows;
}
