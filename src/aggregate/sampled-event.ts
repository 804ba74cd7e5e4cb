/** What was sampled, and how often, in words. Pure values: no I/O. */
import type { Origin } from './stack-profile.js';

/** perf's, after the event's name: man perf-list, "EVENT MODIFIERS". */
const MODIFIERS = /:[ukhIGHpPSDWeb]+$/;

/** How often it was looked at; undefined: nobody knows. */
export function samplingText({ frequency_hz, period }: Origin): string | undefined {
	if (period !== undefined) return `every ${period} events`;
	return frequency_hz === undefined ? undefined : `${frequency_hz} times a second`;
}

/** Whether two names are of the same event, restricted (":u") or made precise (":pp") or not. */
export function sameEvent(a: string, b: string): boolean {
	return withoutModifiers(a) === withoutModifiers(b);
}

export function withoutModifiers(event: string): string {
	return event.replace(MODIFIERS, '');
}
