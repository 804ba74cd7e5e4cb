/** Counts as text. */
import { largest } from '../../aggregate/largest.js';
import { grouped } from '../../render/numbers.js';
import { type Column, numbers, renderTable } from '../../render/table.js';
import { paint, printable, type Style, wrapped } from '../../render/terminal.js';
import { MILLISECONDS } from '../../render/units.js';
import type { CountRow, MetricName, StatFindings } from './findings.js';

/** The count itself: "812.34 ms", "3,411", "<not counted>". */
export function countText({ value, unit, status }: CountRow): string {
	if (value === null) return `<${status.replace('_', ' ')}>`;
	if (unit === 'ns') return `${grouped2(value / MILLISECONDS.ns)} ms`;
	return unit === 'events' ? grouped(value) : `${grouped2(value)} ${unit}`;
}

/** With two digits behind the point. */
function grouped2(value: number): string {
	const [whole = '0', rest = '00'] = value.toFixed(2).split('.');
	return `${grouped(Number(whole))}.${rest}`;
}

const METRICS: Readonly<Record<MetricName, (value: number, name: string) => string>> = {
	cpus_utilised: (value) => `${value.toFixed(value < 0.1 ? 3 : 2)} CPUs utilised`,
	ghz: (value) => `${value.toFixed(2)} GHz`,
	instructions_per_cycle: (value) => `${value.toFixed(2)} per cycle`,
	stalled_share: (value) => `${percent(value)} of all cycles`,
	miss_share: (value, name) => `${percent(value)} of all ${wholeOf(name)}`,
};

export const percent = (share: number): string => {
	const value = 100 * share;
	return `${value.toFixed(value < 10 ? 2 : 1)} %`;
};

/** "branches" of "branch-misses", "LLC loads" of "LLC-load-misses". */
function wholeOf(name: string): string {
	return name
		.replace(/^branch-misses$/, 'branches')
		.replace(/^cache-misses$/, 'references')
		.replace(/-load-misses$/, ' loads');
}

/** What stands beside a count: the metric, else how often a second. */
export function besideText({ name, metric, per_s }: CountRow): string {
	if (metric) return METRICS[metric.name](metric.value, name);
	return per_s === null ? '' : rateText(per_s);
}

/** "1,703/s", "0.4/s". */
function rateText(per_s: number): string {
	if (per_s >= 100 || per_s === 0) return `${grouped(per_s)}/s`;
	return `${per_s.toFixed(per_s < 1 ? 2 : 1)}/s`;
}

const isCounted = ({ status }: CountRow) => status === 'counted';
const isScaled = (rows: readonly CountRow[]) =>
	rows.some(({ value, counted_share }) => value !== null && counted_share < 1);

/** "± 0.5 %" of the mean. */
function spreadText({ value, runs }: CountRow): string {
	return runs && value ? `± ${percent(runs.deviation / value)}` : '';
}

const COUNT = numbers<CountRow>('COUNT', countText);
const EVENT: Column<CountRow> = {
	heading: 'EVENT',
	align: 'left',
	cell: ({ event }) => event,
	shrinks: true,
};
const BESIDE: Column<CountRow> = { heading: '', align: 'left', cell: besideText };
const COUNTED = numbers<CountRow>('COUNTED', ({ counted_share }) => percent(counted_share));
const SPREAD = numbers<CountRow>('', spreadText);

/** One result: counts, what has none and why, what the counts say. */
export function renderCounts({ rows, about }: StatFindings, style: Style): string {
	const counted = rows.filter(isCounted);
	const columns = [
		COUNT,
		EVENT,
		BESIDE,
		...(isScaled(counted) ? [COUNTED] : []),
		...(about.runs === undefined ? [] : [SPREAD]),
	];
	const table = counted.length > 0 ? `${renderTable(columns, counted, style)}\n` : '';
	const remarks = about.remarks.map(({ text }) => `${wrapped(printable(text), '  ')}\n`).join('');
	return `\n${table}${elapsedText(about)}${uncountedText(rows)}${remarks && `\n${remarks}`}`;
}

function elapsedText(about: StatFindings['about']): string {
	const { elapsed_s, user_s, system_s, runs, elapsed_runs } = about;
	const time = `${elapsed_s.toFixed(3)} s elapsed`;
	const cpu =
		user_s === undefined || system_s === undefined
			? ''
			: `CPU time: ${user_s.toFixed(3)} s in user space, ${system_s.toFixed(3)} s in the kernel\n`;
	if (runs === undefined || !elapsed_runs) return `${time}\n${cpu}`;
	const spread = percent(elapsed_runs.deviation / elapsed_s);
	const { min, max } = elapsed_runs;
	const range = `${min.toFixed(3)} to ${max.toFixed(3)} s`;
	return `${time}, ± ${spread} (${grouped(runs)} runs, ${range})\n${cpu}`;
}

/** The heading of `renderInterval`'s rows. */
const INTERVAL_HEADING = `${'TIME'.padStart(10)}  ${'COUNT'.padStart(18)}  EVENT\n`;

/** Rows of one interval: when it ended, in seconds since tracing began. */
export function renderInterval(
	{ rows, about }: StatFindings,
	style: Style,
	isFirst: boolean,
): string {
	const heading = isFirst ? `\n${paint(style, 'bold', INTERVAL_HEADING.trimEnd())}\n` : '';
	const time = about.until_s.toFixed(3).padStart(10);
	const width = largest(
		rows.filter(isCounted).map(({ event }) => event.length),
		0,
	);
	const lines = rows.filter(isCounted).map((row) => {
		const share = row.counted_share < 1 ? `counted ${percent(row.counted_share)}` : '';
		const beside = [besideText(row), share].filter((each) => each !== '').join(', ');
		const line = `${time}  ${countText(row).padStart(18)}  ${row.event.padEnd(width)}  ${beside}`;
		return `${printable(line.trimEnd())}\n`;
	});
	return heading + lines.join('') + (isFirst ? uncountedText(rows) : '');
}

/** Those without a count, together by their reason. */
function uncountedText(rows: readonly CountRow[]): string {
	const reasons = new Map<string, CountRow[]>();
	for (const row of rows.filter((each) => !isCounted(each))) {
		const reason = `${row.status} ${row.why ?? ''}`;
		reasons.set(reason, [...(reasons.get(reason) ?? []), row]);
	}
	return [...reasons.values()].map(uncountedLines).join('');
}

function uncountedLines(rows: readonly CountRow[]): string {
	const [first] = rows as readonly [CountRow];
	const names = rows.map(({ event }) => event).join(', ');
	const why = first.why ?? NOT_COUNTED;
	return `${wrapped(printable(`${countText(first)} ${names}: ${why}`), '  ')}\n`;
}

const NOT_COUNTED =
	'the processor had no free counter for them; count fewer events at once (-e), or for longer';
