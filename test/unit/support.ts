import { bucketOf } from '../../src/aggregate/buckets.js';
import { Histogram } from '../../src/aggregate/histogram.js';

/** A histogram of these values in ns. */
export function histogramOf(values_ns: readonly number[]): Histogram {
	const histogram = new Histogram();
	for (const value of values_ns) {
		histogram.addBucket(bucketOf(value), 1);
		histogram.addTotals({ sum_ns: value, min_ns: value, max_ns: value });
	}
	return histogram;
}

/** Text with anything in it that a terminal, a shell or a format could trip over. */
export const HOSTILE = [
	'\u001b[31mred\u001b[0m',
	'\u001b]0;title\u0007',
	'\u009b2J',
	'a\nb\r\nc\tb\b',
	'\u202egnp.exe',
	'\u0000\u007f',
	'<script>alert(1)</script>',
	'"; rm -rf /; "',
	'💥 ünï',
];
