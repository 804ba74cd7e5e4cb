/** Medians and spreads. Pure. */

/** Of several runs. */
export interface Spread {
	readonly median: number;
	readonly min: number;
	readonly max: number;
}

export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;
	const high = sorted[middle] ?? Number.NaN;
	return sorted.length % 2 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2;
}

export function spreadOf(values: readonly number[]): Spread {
	return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Round by round, since what else the machine does changes between rounds. */
export function ratiosOf(of: readonly number[], to: readonly number[]): number[] {
	const rounds = Math.min(of.length, to.length);
	return Array.from({ length: rounds }, (_, i) => (of[i] as number) / (to[i] as number)).filter(
		Number.isFinite,
	);
}

/** "median (least – most)"; of one run, just the figure. */
export function formatSpread({ median, min, max }: Spread, digits: number): string {
	const [low, middle, high] = [min, median, max].map((value) => value.toFixed(digits));
	return low === high ? `${middle}` : `${middle} (${low} – ${high})`;
}
