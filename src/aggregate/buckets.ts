/**
 * The log-linear buckets of bpf/lib/histogram.h: 64 linear steps in every power of two, from 0 to
 * 2^40 ns. A test counts the same values in the kernel and here, and compares.
 */

const STEP_BITS = 6;
const STEPS = 1 << STEP_BITS;
const MAX_BITS = 40;

/** How many buckets a histogram has. */
export const BUCKETS = (MAX_BITS - STEP_BITS + 1) * STEPS;

/** The bucket a value in ns belongs in; values of 2^40 and more share the last one. */
export function bucketOf(value_ns: number): number {
	if (value_ns < STEPS) return value_ns;
	if (value_ns >= 2 ** MAX_BITS) return BUCKETS - 1;
	// Exact: a double of up to 2^53 has the power of two as its exponent.
	const exponent = Math.floor(Math.log2(value_ns));
	const exact = 2 ** exponent > value_ns ? exponent - 1 : exponent;
	const step = Math.floor(value_ns / 2 ** (exact - STEP_BITS)) - STEPS;
	return (exact - STEP_BITS + 1) * STEPS + step;
}

/** The smallest value in ns of a bucket; that of the next bucket is where it ends. */
export function lowOf(bucket: number): number {
	if (bucket < STEPS) return bucket;
	const exponent = Math.floor(bucket / STEPS) - 1;
	return (STEPS + (bucket % STEPS)) * 2 ** exponent;
}

/** The value in ns that stands for a bucket's values: at most 1/128 away from any of them. */
export function middleOf(bucket: number): number {
	return Math.floor((lowOf(bucket) + lowOf(bucket + 1) - 1) / 2);
}
