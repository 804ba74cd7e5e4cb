/** Which of several sums keep growing, interval by interval. Pure values. */

export interface Growth {
	/** Since the end of the interval before; all of it in the first. */
	readonly growth: number;
	/** Whether it grew in each of the last intervals, as many as were asked for. */
	readonly suspect: boolean;
}

export class GrowthHistory {
	/** Of each sum: its last value, and in how many intervals on end it grew. */
	#before = new Map<string, { readonly value: number; readonly grew: number }>();

	/** `intervals`: after how many of growth a sum is suspect. The first one counts as growth. */
	constructor(private readonly intervals: number) {}

	/** An interval ends: each sum by its name. What is not among them is forgotten. */
	next(sums: ReadonlyMap<string, number>): Map<string, Growth> {
		const now = new Map<string, { value: number; grew: number }>();
		const result = new Map<string, Growth>();
		for (const [name, value] of sums) {
			const before = this.#before.get(name) ?? { value: 0, grew: 0 };
			const growth = value - before.value;
			const grew = growth > 0 ? before.grew + 1 : 0;
			now.set(name, { value, grew });
			result.set(name, { growth, suspect: grew >= this.intervals });
		}
		this.#before = now;
		return result;
	}
}
