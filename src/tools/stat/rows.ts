/** Counts to rows: scaled, and with what they say beside each other. Pure. */
import { type Count, countedShare, scaled } from '../../perf/count.js';
import type { CountedEvent } from '../../perf/event-list.js';
import { canonicalName } from '../../perf/names.js';
import type { CountRow, Uncounted } from './findings.js';
import { isClock, metricOf } from './metrics.js';

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
	const value = refusal ? undefined : scaled(count);
	const clock = isClock(canonicalName(event.name));
	// A clock runs in the kernel, too, whatever its event leaves out.
	const suffix = userOnly && !clock ? ':u' : '';
	return {
		event: event.name + suffix,
		value: value ?? null,
		unit: clock ? 'ns' : 'events',
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
	const keys = rows.map(({ event }) => nameAndModifier(event));
	const values = new Map(
		rows.flatMap(({ value }, i) => (value === null ? [] : [[keys[i]?.join('') ?? '', value]])),
	);
	return rows.map((row, i) => {
		const [name = '', modifier = ''] = keys[i] ?? [];
		const hasRate = row.value !== null && row.unit !== 'ns' && elapsed_s > 0;
		return {
			...row,
			per_s: hasRate ? (row.value ?? 0) / elapsed_s : null,
			metric: metricOf(name, modifier, values, elapsed_s),
		};
	});
}

/** "cycles" and ":u" of "cpu-cycles:u"; a tracepoint's first colon is part of its name. */
export function nameAndModifier(event: string): readonly [name: string, modifier: string] {
	const [name = '', modifier = ''] = event.split(/(?=:[ukh]+$)/);
	return [canonicalName(name), modifier];
}

function statusOf(value: number | undefined, refusal: Counting['refusal']): 'counted' | Uncounted {
	if (refusal) return NOT_PERMITTED.includes(refusal.errno) ? 'not_permitted' : 'not_supported';
	return value === undefined ? 'not_counted' : 'counted';
}
