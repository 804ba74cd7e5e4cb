/** How often to sample; and more seldom, so that samples taken before and after can be added up. */
import { type EventType, isClock } from '../../perf/names.js';

/** One of the two last ones. */
export interface SamplingRate {
	readonly event: EventType;
	readonly frequency_hz: number | undefined;
	/** Events from one sample to the next; ns for the clocks. */
	readonly period: number | undefined;
}

/** By how much more seldom, at the least, where that costs too much. */
const SLOW_DOWN_FACTOR = 4;
const SECOND_NS = 1e9;

/** What perf_event_open is to be told so that it samples `slower` times less often: exactly that. */
export function rateOf(
	{ event, frequency_hz, period }: SamplingRate,
	slower = 1,
): { frequency_hz: number } | { period: number } {
	if (period !== undefined) return { period: period * slower };
	const hz = frequency_hz as number;
	if (slower === 1) return { frequency_hz: hz };
	// A clock's frequency becomes a period in the kernel, too: kernel/events/core.c, perf_swevent_init_hrtimer.
	return isClock(event)
		? { period: Math.floor(SECOND_NS / hz) * slower }
		: { frequency_hz: hz / slower };
}

/**
 * How many times less often to sample next; undefined: not possible. A sample counts as so many, so the
 * frequency must be lowered by exactly that: of events other than clocks the kernel takes whole numbers.
 */
export function nextSlower(rate: SamplingRate, slower: number): number | undefined {
	const { event, frequency_hz } = rate;
	const least = slower * SLOW_DOWN_FACTOR;
	if (frequency_hz === undefined) return least;
	if (least > frequency_hz) return undefined;
	if (isClock(event)) return least;
	let next = least;
	while (frequency_hz % next !== 0) next++;
	return next;
}
