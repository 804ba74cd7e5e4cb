/** Latency histograms: counts in log-linear buckets, with exact sum, minimum and maximum. */
import { lowOf } from './buckets.js';

/** All latencies are in nanoseconds. */
export class Histogram {
	count = 0;
	sum_ns = 0;
	min_ns = Number.POSITIVE_INFINITY;
	max_ns = 0;
	/** Undefined: none but the first one. There may be one of a single wait for each of 100,000 threads. */
	#counts: Map<number, number> | undefined;
	#first = 0;

	/** Adds what was counted in one bucket. */
	addBucket(bucket: number, count: number): void {
		if (this.count === 0) this.#first = bucket;
		else if (this.#counts || bucket !== this.#first) {
			this.#counts ??= new Map([[this.#first, this.count]]);
			this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
		}
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
		for (const [bucket, count] of other.#all()) this.addBucket(bucket, count);
		this.addTotals(other);
	}

	/** The buckets that hold anything, smallest values first. */
	buckets(): Array<{ bucket: number; count: number }> {
		return [...this.#all()]
			.map(([bucket, count]) => ({ bucket, count }))
			.sort((a, b) => a.bucket - b.bucket);
	}

	#all(): Iterable<readonly [bucket: number, count: number]> {
		if (this.#counts) return this.#counts;
		return this.count > 0 ? [[this.#first, this.count]] : [];
	}

	/** The same as [low, high, count]: low <= value < high. */
	ranges(): Array<[low_ns: number, high_ns: number, count: number]> {
		return this.buckets().map(({ bucket, count }) => [lowOf(bucket), lowOf(bucket + 1), count]);
	}
}
