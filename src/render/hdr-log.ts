/** Histograms as an HdrHistogram log, by way of hdr-histogram-js. */
import type { HistogramLogWriter } from 'hdr-histogram-js';
import { hdrLibrary, toHdr } from '../aggregate/hdr.js';
import type { Histogram } from '../aggregate/histogram.js';
import type { Key } from '../aggregate/row-key.js';
import { printable } from './terminal.js';

/** One interval of an HdrHistogram log. */
interface HdrInterval {
	readonly start: Date;
	readonly duration_ns: number;
	/** Tells groups apart. */
	readonly key: Key;
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
		const tag = tagOf(interval.key);
		if (tag) hdr.tag = tag;
		this.#writer.outputIntervalHistogram(hdr, undefined, undefined, 1e6);
		return this.#text;
	}

	async #begin(start_ms: number): Promise<HistogramLogWriter> {
		const { HistogramLogWriter } = await hdrLibrary();
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

/** A group's name in the log, where commas and spaces separate fields. */
function tagOf(key: Key): string {
	const parts = Object.entries(key).map(([name, value]) => `${name}=${value}`);
	// So that no line is broken; and what reorders text is in none of them, as nowhere else.
	return printable(parts.join(';').replace(/[\s,\p{Cc}\p{Cf}]/gu, '_'));
}
