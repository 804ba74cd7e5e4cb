/** Which of several sums keep growing, interval by interval. Pure values. */

interface Growth {
	/** Since the end of the interval before; all of it in the first. */
	readonly growth: number;
	/** Whether it grew in each of the last intervals, as many as were asked for. */
	readonly suspect: boolean;
}

/** By how much a sum changed in an interval; those in which it stayed are left out. */
interface Change {
	readonly interval: number;
	readonly by: number;
}

interface FollowedSum {
	readonly value: number;
	/** In the last intervals, the latest last. */
	readonly changes: readonly Change[];
}

/**
 * Follows sums by what they are sums of, never by what that is called: several that are shown as one may
 * be so in one interval and not in the next.
 */
export class GrowthHistory<Id> {
	#sums = new Map<Id, FollowedSum>();
	#interval = 0;

	/** `intervals`: after how many of growth sums are suspect. The first one counts as growth. */
	constructor(private readonly intervals: number) {}

	/** An interval ends. What is not among the sums is forgotten. */
	next(values: ReadonlyMap<Id, number>): void {
		const interval = ++this.#interval;
		const sums = new Map<Id, FollowedSum>();
		for (const [id, value] of values) {
			const before = this.#sums.get(id) ?? { value: 0, changes: [] };
			const by = value - before.value;
			const recent = before.changes.filter((each) => interval - each.interval < this.intervals);
			sums.set(id, { value, changes: by === 0 ? recent : [...recent, { interval, by }] });
		}
		this.#sums = sums;
	}

	/** How the sums grew that are taken together. */
	of(ids: readonly Id[]): Growth {
		const byInterval = new Map<number, number>();
		for (const id of ids) {
			for (const { interval, by } of this.#sums.get(id)?.changes ?? []) {
				byInterval.set(interval, (byInterval.get(interval) ?? 0) + by);
			}
		}
		const grew = [...byInterval.values()].filter((by) => by > 0).length;
		return {
			growth: byInterval.get(this.#interval) ?? 0,
			suspect: grew >= this.intervals,
		};
	}
}
