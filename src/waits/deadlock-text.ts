/** Threads that wait for each other in a circle, as a note. */
import type { WaitingForMutex } from '../aggregate/deadlocks.js';

/** Of a larger circle only the first ones are named. */
const MOST_NAMED = 6;

/**
 * "deadlock: a (1) waits for a mutex that b (2) has, which waits for one that a (1) has": names as strangers gave them,
 * so to be escaped. Of one thread at least.
 */
export function deadlockText(circle: readonly WaitingForMutex[]): string {
	const names = circle.map(({ comm, tid }) => `${comm} (${tid})`);
	const [first = '', ...others] = names;
	if (others.length === 0) return `deadlock: ${first} waits for a mutex that it has itself`;
	const shown = others.slice(0, MOST_NAMED - 1);
	const left = others.length - shown.length;
	const waits = shown.map((name) => `${name} has, which waits for one that `).join('');
	const last = left > 0 ? `… has (${left} more threads, back to ${first})` : `${first} has`;
	return `deadlock: ${first} waits for a mutex that ${waits}${last}`;
}
