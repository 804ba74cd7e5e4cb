/** Latency histograms out of the kernel: user space's side of bpf/lib/histogram.h. */
import { BUCKETS } from '../aggregate/buckets.js';
import { Histogram } from '../aggregate/histogram.js';
import { readU64, type StructWith } from '../loader/layout.js';
import { type BpfMap, possibleCpus, u32Key } from '../loader/map.js';

/** `struct hist` of bpf/lib/histogram.h. */
export type HistLayout = StructWith<'sum' | 'min_complement' | 'max' | 'buckets'>;

/** Largest u64, to undo the complement that minima are kept as. */
const U64_MAX = 2n ** 64n - 1n;

/** The per-CPU `struct hist` at an index of an array, put together; then zeroes it. */
export function takeHistogram(map: BpfMap, index: number, layout: HistLayout): Histogram {
	const histogram = new Histogram();
	const values = map.lookupPerCpu(u32Key(index));
	if (!values) return histogram;
	const { sum, min_complement, max, buckets } = layout.fields;
	for (let cpu = 0; cpu < possibleCpus(); cpu++) {
		const at = cpu * map.perCpuStride;
		const complement = values.getBigUint64(at + min_complement.offset, true);
		if (complement === 0n) continue; // nothing was counted on this CPU
		histogram.addTotals({
			sum_ns: readU64(values, at + sum.offset),
			min_ns: Number(U64_MAX - complement),
			max_ns: readU64(values, at + max.offset),
		});
		for (let bucket = 0; bucket < BUCKETS; bucket++) {
			const count = readU64(values, at + buckets.offset + bucket * 8);
			if (count > 0) histogram.addBucket(bucket, count);
		}
	}
	if (histogram.count > 0) map.clearPerCpu(u32Key(index));
	return histogram;
}
