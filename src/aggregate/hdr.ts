/** Percentiles, and HdrHistogram logs, by way of hdr-histogram-js. */
import type { Histogram as HdrHistogram, HistogramLogWriter } from 'hdr-histogram-js';
import { bucketOf, middleOf } from './buckets.js';
import type { Histogram } from './histogram.js';

/** Evaluated at the first result, not at start-up, which it would delay by 10 ms. */
const library = () => import('hdr-histogram-js');

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
async function toHdr(histogram: Histogram): Promise<HdrHistogram> {
	const { build } = await library();
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

/** One interval of an HdrHistogram log. */
interface HdrInterval {
	readonly start: Date;
	readonly duration_ns: number;
	/** Tells groups apart; without spaces and commas. */
	readonly tag: string;
	readonly histogram: Histogram;
}

/**
 * An HdrHistogram log (format 1.3), in nanoseconds: HistogramLogReader of HdrHistogram for Java, C
 * and JavaScript read it, as do its plotters.
 */
export class HdrLog {
	#writer: HistogramLogWriter | undefined;
	#text = '';

	/** The lines that the interval adds to the log; for the first one, its head too. */
	async add(interval: HdrInterval): Promise<string> {
		this.#text = '';
		const start_ms = interval.start.getTime();
		this.#writer ??= await this.#begin(start_ms);
		const hdr = await toHdr(interval.histogram);
		hdr.startTimeStampMsec = start_ms;
		hdr.endTimeStampMsec = start_ms + interval.duration_ns / 1e6;
		if (interval.tag) hdr.tag = interval.tag;
		this.#writer.outputIntervalHistogram(hdr, undefined, undefined, 1e6);
		return this.#text;
	}

	async #begin(start_ms: number): Promise<HistogramLogWriter> {
		const { HistogramLogWriter } = await library();
		const writer = new HistogramLogWriter((text) => {
			this.#text += text;
		});
		writer.outputLogFormatVersion();
		writer.outputComment('[Values are nanoseconds, written by tstrace]');
		writer.outputStartTime(start_ms);
		writer.outputLegend();
		return writer;
	}
}
