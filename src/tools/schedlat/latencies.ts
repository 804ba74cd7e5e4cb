/** Run queue latencies of threads, added up. Pure values. */
import { Histogram } from '../../aggregate/histogram.js';

/** Run queue latency of one thread, or of several. */
export class Latencies {
	readonly histogram = new Histogram();
	wakeups = 0;
	/** How long CPU quotas were used up; the latencies are without it. */
	throttled_ns = 0;
	/** When the longest one ended, by CLOCK_MONOTONIC; 0: there was none. */
	longestEnd_ns = 0;

	addBucket(bucket: number, count: number): void {
		this.histogram.addBucket(bucket, count);
	}

	/** Adds sums that belong to buckets added. */
	addTotals(totals: LatencyTotals): void {
		this.#longest(totals.max_ns, totals.end_ns);
		this.histogram.addTotals(totals);
		this.wakeups += totals.wakeups;
		this.throttled_ns += totals.throttled_ns;
	}

	add(other: Latencies): void {
		this.#longest(other.histogram.max_ns, other.longestEnd_ns);
		for (const { bucket, count } of other.histogram.buckets())
			this.histogram.addBucket(bucket, count);
		this.histogram.addTotals(other.histogram);
		this.wakeups += other.wakeups;
		this.throttled_ns += other.throttled_ns;
	}

	#longest(max_ns: number, end_ns: number): void {
		if (max_ns > this.histogram.max_ns || this.longestEnd_ns === 0) this.longestEnd_ns = end_ns;
	}
}

export interface LatencyTotals {
	readonly wakeups: number;
	readonly sum_ns: number;
	readonly throttled_ns: number;
	readonly min_ns: number;
	readonly max_ns: number;
	/** When the longest one ended. */
	readonly end_ns: number;
}
