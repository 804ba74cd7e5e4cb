/** Percentiles, by way of hdr-histogram-js. */
import type { Histogram as HdrHistogram } from 'hdr-histogram-js';
import { bucketOf, middleOf } from './buckets.js';
import type { Histogram } from './histogram.js';

/** Evaluated at the first result, not at start-up, which it would delay by 10 ms. */
export const hdrLibrary = () => import('hdr-histogram-js');

/** Three digits, so that HdrHistogram's own steps (0.1 %) are finer than our buckets (1.6 %). */
const DIGITS = 3;
const HIGHEST_NS = 2 ** 40;

interface Percentiles {
	readonly p50: number;
	readonly p90: number;
	readonly p99: number;
	readonly p999: number;
}

/** One for all: it takes 250 kB, and there may be 20,000 histograms. */
let shared: HdrHistogram | undefined;

/**
 * The same values in an HdrHistogram, which is valid until the next call: each bucket by its
 * middle, but the smallest and the largest value as they were.
 */
export async function toHdr(histogram: Histogram): Promise<HdrHistogram> {
	const { build } = await hdrLibrary();
	shared ??= build({
		bitBucketSize: 64,
		highestTrackableValue: HIGHEST_NS,
		numberOfSignificantValueDigits: DIGITS,
	});
	const hdr = shared;
	hdr.reset();
	const buckets = histogram.buckets();
	const [first, last] = [bucketOf(histogram.min_ns), bucketOf(histogram.max_ns)];
	for (const { bucket, count } of buckets) {
		let rest = count;
		if (bucket === first) {
			hdr.recordValue(Math.min(histogram.min_ns, HIGHEST_NS));
			rest--;
		}
		if (bucket === last && rest > 0) {
			hdr.recordValue(Math.min(histogram.max_ns, HIGHEST_NS));
			rest--;
		}
		// The middle of the first or the last bucket can be beyond what was measured.
		const middle = Math.max(histogram.min_ns, Math.min(histogram.max_ns, middleOf(bucket)));
		if (rest > 0) hdr.recordValueWithCount(Math.min(middle, HIGHEST_NS), rest);
	}
	return hdr;
}

/** The percentiles in ns; all 0 where nothing was counted. */
export async function percentiles(histogram: Histogram): Promise<Percentiles> {
	if (histogram.count === 0) return { p50: 0, p90: 0, p99: 0, p999: 0 };
	const hdr = await toHdr(histogram);
	// A percentile is reported as the top of its step, which may lie past the largest value.
	const at = (percentile: number) =>
		Math.max(histogram.min_ns, Math.min(histogram.max_ns, hdr.getValueAtPercentile(percentile)));
	return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9) };
}
