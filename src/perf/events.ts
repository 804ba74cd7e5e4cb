/** Events by the names that `perf list` gives them. */

import { TstraceError } from '../errors.js';
import { perf_sw_ids, perf_type_id } from '../generated/uapi.js';
import { didYouMean } from '../nearest.js';
import type { PerfEventAttributes } from './attributes.js';
import { EVENTS, type EventType, parseRaw } from './names.js';
import { openPerfEvent } from './open.js';

export type { EventType } from './names.js';

/** The names parseEvent knows, except raw events. */
export const EVENT_NAMES: readonly string[] = [...EVENTS.values()].map((event) => event.name);

/** Counts nothing; it is there for what is reported besides. */
export const DUMMY = {
	type: perf_type_id.PERF_TYPE_SOFTWARE,
	config: BigInt(perf_sw_ids.PERF_COUNT_SW_DUMMY),
} as const;

/**
 * An event by its name, in upper or lower case, or as "r1a8", a raw event of the processor in
 * hexadecimal. Throws TstraceError, which names the nearest one, if there is none.
 */
export function parseEvent(text: string): EventType {
	const event = EVENTS.get(text.toLowerCase()) ?? parseRaw(text);
	if (event) return event;
	throw new TstraceError(
		`there is no event "${text}"${didYouMean(text, EVENT_NAMES) || ';'} \`perf list\` ` +
			'names hardware, software and cache events; r1a8 is a raw one',
	);
}

let readsLost: boolean | undefined;

/**
 * Whether events count what they lose (6.0). Without it that is known only once there is room
 * again and another record comes.
 */
export function canReadLost(): boolean {
	readsLost ??= canOpen({ ...DUMMY, countLost: true });
	return readsLost;
}

/**
 * Whether the processor's counters can be used: whether hardware cycles can be opened on this
 * very thread. Virtual machines often have none; then cpu-clock is what samples by time.
 */
export function hasPmu(): boolean {
	return canOpen(parseEvent('cycles'));
}

/** On the thread that calls, in user space only, which any user may. */
function canOpen(attributes: PerfEventAttributes): boolean {
	try {
		const flags = ['disabled', 'exclude_kernel', 'exclude_hv'] as const;
		openPerfEvent({ ...attributes, flags }, { pid: 0, cpu: -1 }).close();
		return true;
	} catch {
		return false;
	}
}
