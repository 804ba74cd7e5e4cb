/** Sampling of allocations by bytes: user space's side of bpf/lib/byte_sampling.h. Pure values. */

/** Of bpf/lib/byte_sampling.h: points of the table for each mean distance, and how many. */
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

/** What an allocation of `size` bytes counts as if it is kept, and how likely that is. */
interface ByteSample {
	/** p */
	readonly chance: number;
	/** size / p */
	readonly weight_bytes: number;
	/** 1 / p */
	readonly count: number;
	/** Of the sum: size² · (1 - p) / p², its share of the estimated variance. */
	readonly variance_bytes2: number;
}

/** The kernel's arithmetic, with the table's straight lines, for sizes in bytes. */
export function byteSample(size: number, sample_bytes: number, table: Uint32Array): ByteSample {
	const place = (Math.max(1, size) * CHANCE_STEPS) / sample_bytes;
	const cell = Math.floor(place);
	const low = table[cell];
	const high = table[cell + 1];
	if (sample_bytes === 0 || low === undefined || high === undefined) {
		return { chance: 1, weight_bytes: size, count: 1, variance_bytes2: 0 };
	}
	const chance = Math.floor(low + (high - low) * (place - cell)) / WHOLE;
	const variance_bytes2 = (size * size * (1 - chance)) / (chance * chance);
	return { chance, weight_bytes: size / chance, count: 1 / chance, variance_bytes2 };
}
