/** Counts as text. */
import { grouped } from '../../render/numbers.js';
import { numbers, renderTable } from '../../render/table.js';
import { printable, type Style, wrapped } from '../../render/terminal.js';
import { inUnit, MILLISECONDS } from '../../render/units.js';
import type { CountRow, MetricName, StatFindings } from './findings.js';

/** The count itself: "812.34 ms", "3,411", "<not counted>". */
export function countText({ value, unit, status }: CountRow): string {
	if (value === null) return `<${status.replace('_', ' ')}>`;
	return unit === 'ns' ? `${grouped2(value / MILLISECONDS.ns)} ms` : grouped(value);
}

/** With two digits behind the point. */
function grouped2(value: number): string {
	const [whole = '0', rest = '00'] = value.toFixed(2).split('.');
	return `${grouped(Number(whole))}.${rest}`;
}

const METRICS: Readonly<Record<MetricName, (value: number, event: string) => string>> = {
	cpus_utilised: (value) => `${value.toFixed(value < 0.1 ? 3 : 2)} CPUs utilised`,
	ghz: (value) => `${value.toFixed(2)} GHz`,
	instructions_per_cycle: (value) => `${value.toFixed(2)} per cycle`,
	stalled_share: (value) => `${percent(value)} of all cycles`,
	miss_share: (value, event) => `${percent(value)} of all ${wholeOf(event)}`,
};

export const percent = (share: number): string => {
	const value = 100 * share;
	return `${value.toFixed(value < 10 ? 2 : 1)} %`;
};

/** "branches" of "branch-misses", "LLC-loads" of "LLC-load-misses". */
function wholeOf(event: string): string {
	return event
		.replace(/:.*$/, '')
		.replace(/^branch-misses$/, 'branches')
		.replace(/^cache-misses$/, 'references')
		.replace(/-load-misses$/, ' loads');
}

/** What stands beside a count: the metric, else how often a second. */
export function besideText({ event, metric, per_s }: CountRow): string {
	if (metric) return METRICS[metric.name](metric.value, event);
	return per_s === null ? '' : rateText(per_s);
}

/** "1,703/s", "0.4/s". */
function rateText(per_s: number): string {
	if (per_s >= 100 || per_s === 0) return `${grouped(per_s)}/s`;
	return `${per_s.toFixed(per_s < 1 ? 2 : 1)}/s`;
}

const isCounted = ({ status }: CountRow) => status === 'counted';

export function renderCounts(findings: StatFindings, style: Style): string {
	const { rows, about } = findings;
	const counted = rows.filter(isCounted);
	const scaled = counted.some(({ counted_share }) => counted_share < 1);
	const table = renderTable<CountRow>(
		[
			numbers('COUNT', countText),
			{ heading: 'EVENT', align: 'left', cell: ({ event }) => event },
			{ heading: '', align: 'left', cell: besideText },
			...(scaled
				? [numbers<CountRow>('COUNTED', ({ counted_share }) => percent(counted_share))]
				: []),
		],
		counted,
		style,
	);
	const elapsed = `${inUnit(about.elapsed_s * 1e9, { name: 's', ns: 1e9 })} s elapsed`;
	return `\n${table}\n${elapsed}\n${uncountedText(rows)}${remarksText(findings)}`;
}

/** Those without a count, together by their reason. */
function uncountedText(rows: readonly CountRow[]): string {
	const reasons = new Map<string, CountRow[]>();
	for (const row of rows.filter((each) => !isCounted(each))) {
		const reason = `${countText(row)} ${row.why ?? ''}`;
		reasons.set(reason, [...(reasons.get(reason) ?? []), row]);
	}
	return [...reasons.values()]
		.map((those) => {
			const [first] = those as [CountRow];
			const names = those.map(({ event }) => event).join(', ');
			const why = first.why === undefined ? '' : `: ${first.why}`;
			return `${wrapped(printable(`${countText(first)}  ${names}${why}`), '  ')}\n`;
		})
		.join('');
}

function remarksText({ about }: StatFindings): string {
	if (about.remarks.length === 0) return '';
	return `\n${about.remarks.map(({ text }) => `${wrapped(text, '  ')}\n`).join('')}`;
}
