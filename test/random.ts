/** Random numbers that are the same in every run. */

/** Marsaglia, "Xorshift RNGs" (2003): 32 bits, the same for a seed on every machine. */
export function randomFrom(seed: number): () => number {
	let x = (seed * 2_654_435_761 + 1) >>> 0 || 1;
	return () => {
		x ^= x << 13;
		x ^= x >>> 17;
		x ^= x << 5;
		x >>>= 0;
		return x;
	};
}
