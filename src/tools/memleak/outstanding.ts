/** What is outstanding at each site, added up out of single allocations. */
import { bucketOf, middleOf } from '../../aggregate/buckets.js';
import { Histogram } from '../../aggregate/histogram.js';
import type { Allocation } from './allocations.js';

export class Outstanding {
	bytes = 0;
	count = 0;
	/** Of the bytes, where they are estimated: see bpf/lib/memleak/byte_sampling.h. */
	variance_bytes2 = 0;
	/** In us: in ns the buckets end at 18 minutes. */
	readonly #ages_us = new Histogram();

	add({ size_bytes, weight_bytes, weight_count }: Allocation, age_ns: number): void {
		const age_us = Math.max(0, Math.floor(age_ns / 1000));
		this.bytes += weight_bytes;
		this.count += weight_count;
		this.variance_bytes2 += weight_bytes * (weight_bytes - size_bytes);
		this.#ages_us.addBucket(bucketOf(age_us), weight_count);
		this.#ages_us.addTotals({ sum_ns: age_us, min_ns: age_us, max_ns: age_us });
	}

	/** Takes in what another one has. */
	addAll(other: Outstanding): void {
		this.bytes += other.bytes;
		this.count += other.count;
		this.variance_bytes2 += other.variance_bytes2;
		this.#ages_us.add(other.#ages_us);
	}

	/** So many per cent of the allocations are younger, those that a sampled one stands for too; within 1.6 %. */
	age_s(percent: number): number {
		let left = (this.#ages_us.count * percent) / 100;
		for (const { bucket, count } of this.#ages_us.buckets()) {
			left -= count;
			if (left <= 0) return Math.min(middleOf(bucket), this.#ages_us.max_ns) / 1e6;
		}
		return 0;
	}

	oldestAge_s(): number {
		return this.#ages_us.max_ns / 1e6;
	}
}
