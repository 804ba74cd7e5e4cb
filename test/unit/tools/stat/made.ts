/** Rows as stat has them, with what a test is about. */
import { type CountedEvent, parseEventList } from '../../../../src/perf/event-list.js';
import { canonicalName } from '../../../../src/perf/names.js';
import type { CountRow, StatFindings } from '../../../../src/tools/stat/findings.js';
import { withMetrics } from '../../../../src/tools/stat/rows.js';

/** Of a list of one; any tracepoint is there. */
export function counted(text: string): CountedEvent {
	const names = () => [text.split(':').slice(0, 2).join(':')];
	return parseEventList(text, { id: () => 1, names })[0] as CountedEvent;
}

export function row(event: string, value: number | null, more: Partial<CountRow> = {}): CountRow {
	const { name, spaces } = counted(event);
	return {
		event,
		name: canonicalName(name),
		spaces,
		value,
		unit: event.endsWith('-clock') ? 'ns' : 'events',
		status: value === null ? 'not_counted' : 'counted',
		per_s: null,
		metric: null,
		counted_share: 1,
		enabled_ns: 2e9,
		running_ns: 2e9,
		...more,
	};
}

/** Values by event, with what they say together. */
export function rowsOfValues(
	values: Readonly<Record<string, number>>,
	elapsed_s: number,
): CountRow[] {
	const rows = Object.entries(values).map(([event, value]) => row(event, value));
	return withMetrics(rows, elapsed_s);
}

export function findings(
	rows: readonly CountRow[],
	about: Partial<StatFindings['about']> = {},
): StatFindings {
	return { kind: 'table', about: { elapsed_s: 2, until_s: 2, remarks: [], ...about }, rows };
}
