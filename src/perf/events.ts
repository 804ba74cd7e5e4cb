/** What perf events can do here: found out by opening one; and one that counts nothing. */
import { perf_sw_ids, perf_type_id } from '../generated/uapi.js';
import type { PerfEventAttributes } from './attributes.js';
import { eventOf } from './names.js';
import { openPerfEvent } from './open.js';

/** Counts nothing; it is there for what is reported besides. */
export const DUMMY = {
	type: perf_type_id.PERF_TYPE_SOFTWARE,
	config: BigInt(perf_sw_ids.PERF_COUNT_SW_DUMMY),
} as const;

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
	return canOpen(eventOf('cycles'));
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
