/** Whether something that is measured again and again stays as it is. Pure values. */

interface Flatness {
	/** Medians of the second and of the last quarter; the first is for warming up. */
	readonly early: number;
	readonly late: number;
	readonly flat: boolean;
}

function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** `slack`: by how much it may be more at the end, as such or as a share of what it was. */
export function judge(values: readonly number[], slack: { add: number; share: number }): Flatness {
	const quarter = Math.floor(values.length / 4);
	const early = median(values.slice(quarter, 2 * quarter));
	const late = median(values.slice(3 * quarter));
	return { early, late, flat: quarter > 0 && late <= early * (1 + slack.share) + slack.add };
}
