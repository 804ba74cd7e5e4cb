/** The largest of many. Pure values: no I/O. */

/**
 * Math.max of any number of values, where a call has room for about 120,000 arguments. `least` is what
 * it is at least, also of none.
 */
export function largest(values: Iterable<number>, least = Number.NEGATIVE_INFINITY): number {
	let most = least;
	for (const value of values) if (value > most) most = value;
	return most;
}
