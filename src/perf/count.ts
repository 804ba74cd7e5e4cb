/** What an event counted. Pure. Source: struct read_format in man 2 perf_event_open. */

/** Of one event, or added up over several. */
export interface Count {
	readonly value: bigint;
	/** How long it was to count: of a thread, while that ran. */
	readonly enabled_ns: bigint;
	/** How long of that it counted; less where events took turns on the hardware's counters. */
	readonly running_ns: bigint;
}

export const NOTHING: Count = { value: 0n, enabled_ns: 0n, running_ns: 0n };

export function plus(a: Count, b: Count): Count {
	return {
		value: a.value + b.value,
		enabled_ns: a.enabled_ns + b.enabled_ns,
		running_ns: a.running_ns + b.running_ns,
	};
}

/** What has come since an earlier reading of the same event. */
export function countSince(now: Count, before: Count): Count {
	return {
		value: now.value - before.value,
		enabled_ns: now.enabled_ns - before.enabled_ns,
		running_ns: now.running_ns - before.running_ns,
	};
}

/** For how much of the time it counted, from 0 to 1; 1 where there was no time to count. */
export function countedShare({ enabled_ns, running_ns }: Count): number {
	return enabled_ns === 0n ? 1 : Math.min(1, Number(running_ns) / Number(enabled_ns));
}

/**
 * The count over all of the time, from what was counted in a part of it; undefined where it counted at no time,
 * though there was something to count.
 */
export function scaled(count: Count): number | undefined {
	const share = countedShare(count);
	if (share === 0) return undefined;
	return share === 1 ? Number(count.value) : Math.round(Number(count.value) / share);
}
