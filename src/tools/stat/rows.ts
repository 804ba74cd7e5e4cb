/** Counts to rows: scaled, and with what they say beside each other. Pure. */
import { type Count, countedShare, scaled } from '../../perf/count.js';
import type { CountedEvent } from '../../perf/event-list.js';
import { canonicalName, isClock } from '../../perf/names.js';
import { type CountRow, isClockRow, type Uncounted } from './findings.js';
import { metricOf } from './metrics.js';

/** One event, as it was read. */
export interface Counting {
	readonly event: CountedEvent;
	readonly count: Count;
	/** Undefined: it is counted. */
	readonly refusal: { readonly errno: string; readonly why: string } | undefined;
	/** In user space only, as this user may not count in the kernel. */
	readonly userOnly: boolean;
}

/** Not allowed; everything else is that there is no such event. */
const NOT_PERMITTED = ['EACCES', 'EPERM'];

/** `elapsed_s`: wall-clock time. */
export function rowsOf(counted: readonly Counting[], elapsed_s: number): CountRow[] {
	return withMetrics(counted.map(rowOf), elapsed_s);
}

function rowOf({ event, count, refusal, userOnly }: Counting): CountRow {
	const events = refusal ? undefined : scaled(count);
	const value = events === undefined ? undefined : events * (event.scale?.factor ?? 1);
	const clock = isClock(event);
	const inUserSpace = userOnly && !clock;
	// A clock runs in the kernel, too, whatever its event leaves out.
	const spaces = clock ? [] : event.spaces;
	return {
		event: event.text + (inUserSpace ? ':u' : ''),
		name: canonicalName(event.name),
		spaces: inUserSpace ? ['user'] : spaces,
		value: value ?? null,
		unit: clock ? 'ns' : (event.scale?.unit ?? 'events'),
		status: statusOf(value, refusal),
		...(refusal ? { why: refusal.why } : {}),
		per_s: null,
		metric: null,
		counted_share: countedShare(count),
		enabled_ns: Number(count.enabled_ns),
		running_ns: Number(count.running_ns),
		...(event.group === undefined ? {} : { group: event.group }),
	};
}

/** The same values with rates and metrics, which follow from them and from the wall-clock time. */
export function withMetrics(rows: readonly CountRow[], elapsed_s: number): CountRow[] {
	return rows.map((row) => {
		const hasRate = row.value !== null && !isClockRow(row) && elapsed_s > 0;
		return {
			...row,
			per_s: hasRate ? (row.value ?? 0) / elapsed_s : null,
			metric: metricOf(row, rows, elapsed_s),
		};
	});
}

function statusOf(value: number | undefined, refusal: Counting['refusal']): 'counted' | Uncounted {
	if (refusal) return NOT_PERMITTED.includes(refusal.errno) ? 'not_permitted' : 'not_supported';
	return value === undefined ? 'not_counted' : 'counted';
}
