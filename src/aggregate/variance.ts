/**
 * How uncertain sums of estimates are. Pure values: no I/O, no kernel.
 *
 * Parts of a wait whose length is known exactly err against each other: what was sampled of one part too much, the
 * rest has too little. So the error of two such parts together is less than that of either, and all parts together
 * are exact again.
 */

export interface Uncertain {
	/** The square of the standard error; 0: it is exact. */
	readonly variance: number;
	/**
	 * How much of the variance comes from errors against others, by the name of a whole: negative of what was
	 * sampled, positive of the rest. Those of all parts of a whole come to 0, as long as all are multiplied by the
	 * same factor, if by any.
	 */
	readonly against?: ReadonlyMap<string, number> | undefined;
}

/** `alone`: what of the variance is not against others. */
export function uncertainty(alone: number, against: ReadonlyMap<string, number> = NONE): Uncertain {
	return against.size === 0 ? { variance: alone } : { variance: alone + sizeOf(against), against };
}

/** Of a sum of estimates. */
export function uncertaintyOfSum(all: Iterable<Uncertain>): Uncertain {
	const sums = new Map<string, { signed: number; size: number }>();
	let [alone, size] = [0, 0];
	for (const { variance, against = NONE } of all) {
		alone += variance - sizeOf(against);
		size += variance;
		for (const [whole, part] of against) {
			const sum = sums.get(whole) ?? { signed: 0, size: 0 };
			sum.signed += part;
			sum.size += Math.abs(part);
			sums.set(whole, sum);
		}
	}
	const left = new Map<string, number>();
	for (const [whole, sum] of sums) {
		if (!isNothing(sum.signed, sum.size)) left.set(whole, sum.signed);
	}
	return uncertainty(isNothing(alone, size) ? 0 : alone, left);
}

const NONE: ReadonlyMap<string, number> = new Map();

/** What is left of a difference of numbers of that size by rounding. */
const isNothing = (difference: number, size: number) => Math.abs(difference) <= 1e-9 * size;

/** Of an estimate that is multiplied by `factor`. */
export function scaledUncertainty({ variance, against }: Uncertain, factor: number): Uncertain {
	const square = factor * factor;
	if (!against) return { variance: variance * square };
	const scaled = Array.from(against, ([whole, part]) => [whole, part * square] as const);
	return { variance: variance * square, against: new Map(scaled) };
}

function sizeOf(against: ReadonlyMap<string, number>): number {
	let size = 0;
	for (const part of against.values()) size += Math.abs(part);
	return size;
}
