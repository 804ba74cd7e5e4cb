/** Counts to rows: scaled, with what they say beside each other. Pure. */
import { type Count, countedShare, scaled } from '../../perf/count.js';
import type { Refusal } from '../../perf/counters.js';
import type { CountedEvent } from '../../perf/event-list.js';
import { eventName } from '../../perf/names.js';
import type { CountRow, Uncounted } from './findings.js';
import { isClock, metricOf, nameAndModifier } from './metrics.js';

/** One event, as it was read. */
export interface Counting {
	readonly event: CountedEvent;
	readonly count: Count;
	readonly refusal: Refusal | undefined;
	/** In user space only, as this user may not count in the kernel. */
	readonly userOnly: boolean;
}

interface Measured {
	readonly counted: readonly Counting[];
	/** Wall-clock time. */
	readonly elapsed_s: number;
}

/** Not allowed; everything else is that there is no such event. */
const NOT_PERMITTED = ['EACCES', 'EPERM'];

export function rowsOf({ counted, elapsed_s }: Measured): CountRow[] {
	const names = counted.map(nameOf);
	const values = new Map(
		counted.flatMap(({ count, refusal }, i) => {
			const value = refusal ? undefined : scaled(count);
			return value === undefined ? [] : [[(names[i] as Named).key, value] as const];
		}),
	);
	return counted.map((each, i): CountRow => {
		const { event, count, refusal } = each;
		const { shown, name, modifier, key } = names[i] as Named;
		const value = values.get(key);
		const status = statusOf(value, refusal);
		return {
			event: shown,
			value: value ?? null,
			unit: isClock(name) ? 'ns' : 'events',
			status,
			...(refusal ? { why: refusal.message } : {}),
			per_s: value === undefined || elapsed_s <= 0 || isClock(name) ? null : value / elapsed_s,
			metric: metricOf(name, modifier, values, elapsed_s),
			counted_share: countedShare(count),
			enabled_ns: Number(count.enabled_ns),
			running_ns: Number(count.running_ns),
			...(event.group === undefined ? {} : { group: event.group }),
		};
	});
}

interface Named {
	readonly shown: string;
	/** The first of the event's names. */
	readonly name: string;
	readonly modifier: string;
	readonly key: string;
}

function nameOf({ event, userOnly }: Counting): Named {
	const [typed, given] = nameAndModifier(event.name);
	const known = eventName(event);
	// What has no name of its own is known by what was typed.
	const name = known.includes(':') ? typed : known;
	// A clock runs in the kernel, too, whatever its event leaves out.
	const modifier = given || (userOnly && !isClock(name) ? ':u' : '');
	return { shown: typed + modifier, name, modifier, key: name + modifier };
}

function statusOf(value: number | undefined, refusal: Refusal | undefined): 'counted' | Uncounted {
	if (refusal) return NOT_PERMITTED.includes(refusal.errno) ? 'not_permitted' : 'not_supported';
	return value === undefined ? 'not_counted' : 'counted';
}
