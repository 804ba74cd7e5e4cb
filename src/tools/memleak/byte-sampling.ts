/** Sampling of allocations by bytes: user space's side of bpf/lib/memleak/byte_sampling.h. Pure values. */

/** Of bpf/lib/memleak/byte_sampling.h: points of the table for each mean distance, and how many. */
const CHANCE_STEPS = 16;
const CHANCE_POINTS = 257;
const WHOLE = 2 ** 32;

/**
 * The chance of being kept, times 2^32, of allocations of 0, 1/16, 2/16, … times the mean distance of
 * samples: 1 - exp(-x), the chance that a Poisson process has a point in there.
 */
export function chanceTable(): Uint32Array {
	return Uint32Array.from({ length: CHANCE_POINTS }, (_, i) =>
		Math.min(WHOLE - 1, Math.round(-Math.expm1(-i / CHANCE_STEPS) * WHOLE)),
	);
}
