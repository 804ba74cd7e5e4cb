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
	 * sampled, positive of the rest. Those of all parts of a whole come to 0.
	 */
	readonly against?: ReadonlyMap<string, number> | undefined;
}

/** `alone`: what of the variance is not against others. */
export function uncertainty(alone: number, against: ReadonlyMap<string, number>): Uncertain {
	return against.size === 0 ? { variance: alone } : { variance: alone + sizeOf(against), against };
}

/** Of a sum of estimates. */
export function uncertaintyOfSum(all: Iterable<Uncertain>): Uncertain {
	const sum = new Map<string, number>();
	let alone = 0;
	for (const { variance, against } of all) {
		alone += against ? Math.max(0, variance - sizeOf(against)) : variance;
		for (const [whole, part] of against ?? []) sum.set(whole, (sum.get(whole) ?? 0) + part);
	}
	return uncertainty(alone, sum);
}

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
