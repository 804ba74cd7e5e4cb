/** Latency histograms: counts in log-linear buckets, with exact sum, minimum and maximum. */
import { lowOf } from './buckets.js';

/** All latencies are in nanoseconds. */
export class Histogram {
	count = 0;
	sum_ns = 0;
	min_ns = Number.POSITIVE_INFINITY;
	max_ns = 0;
	readonly #counts = new Map<number, number>();

	/** Adds what was counted in one bucket. */
	addBucket(bucket: number, count: number): void {
		this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
		this.count += count;
	}

	/** Adds the totals that belong to buckets added. */
	addTotals(totals: { sum_ns: number; min_ns: number; max_ns: number }): void {
		this.sum_ns += totals.sum_ns;
		this.min_ns = Math.min(this.min_ns, totals.min_ns);
		this.max_ns = Math.max(this.max_ns, totals.max_ns);
	}

	/** Adds what another one holds. */
	add(other: Histogram): void {
		for (const [bucket, count] of other.#counts) this.addBucket(bucket, count);
		this.addTotals(other);
	}

	/** The buckets that hold anything, smallest values first. */
	buckets(): Array<{ bucket: number; count: number }> {
		return [...this.#counts]
			.map(([bucket, count]) => ({ bucket, count }))
			.sort((a, b) => a.bucket - b.bucket);
	}

	/** The same as [low, high, count]: low <= value < high. */
	ranges(): Array<[low_ns: number, high_ns: number, count: number]> {
		return this.buckets().map(({ bucket, count }) => [lowOf(bucket), lowOf(bucket + 1), count]);
	}
}
