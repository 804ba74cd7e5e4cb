/** Finds places in what is in ascending order, by bisection. */

/** The index of the first of the ascending `values` that is not below `value`; their number when all are. */
export function firstAtLeast(values: ArrayLike<number>, value: number): number {
	return firstIndex(values.length, (i) => (values[i] as number) >= value);
}

/**
 * The first index below `count` that passes the test; `count` when none does. All behind one that
 * passes must pass, too.
 */
export function firstIndex(count: number, passes: (index: number) => boolean): number {
	let low = 0;
	let high = count;
	while (low < high) {
		const middle = Math.floor((low + high) / 2);
		if (passes(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}
