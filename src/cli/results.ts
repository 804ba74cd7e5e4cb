/** What a run prints: results in the chosen format, and on stderr what they cost and lack. */
import { HdrLog } from '../aggregate/hdr.js';
import type { Key, LatencyGroup, Report } from '../aggregate/report.js';
import { explainLost } from '../kit/losses.js';
import type { TextView } from '../kit/tool.js';
import type { Cost } from '../loader/cost.js';
import { renderJson } from '../render/json.js';
import { grouped, paint, type Style, styleFor } from '../render/terminal.js';
import { clockTime, humanTime } from '../render/units.js';
import type { CommonSettings } from './options.js';
import { Output, say } from './output.js';

export class Results {
	readonly #common: CommonSettings;
	readonly #text: TextView;
	readonly #output: Output;
	readonly #hdrOutput: Output | undefined;
	readonly #hdr: HdrLog | undefined;
	readonly #style: Style;
	#headerPrinted = false;

	/** Opens the files; throws TstraceError when one cannot be written. */
	constructor(common: CommonSettings, text: TextView) {
		this.#common = common;
		this.#text = text;
		this.#output = common.output === undefined ? Output.stdout() : Output.file(common.output);
		this.#style = styleFor(this.#output.isStdout ? process.stdout : {});
		if (common.hdr !== undefined) {
			const output = Output.file(common.hdr);
			this.#hdrOutput = output;
			this.#hdr = new HdrLog((text) => output.write(text));
		}
	}

	/** Whether rows are to be handed over as they come. */
	get streams(): boolean {
		return this.#common.format === 'text';
	}

	/** Rows as they come. */
	rows(rows: readonly Key[]): void {
		if (!this.#headerPrinted && this.#text.header) {
			this.#output.write(paint(this.#style, 'bold', this.#text.header));
		}
		this.#headerPrinted = true;
		const lines = rows.map((row) => this.#text.row?.(row, this.#style) ?? '');
		if (lines.length > 0) this.#output.write(lines.join(''));
	}

	/** One interval. */
	async report(report: Report): Promise<void> {
		const { findings } = report;
		if (findings.kind === 'latency') await this.#logHdr(report, findings.groups);
		if (this.#common.format === 'json') {
			this.#output.write(await renderJson(report));
		} else if (findings.kind === 'rows') {
			this.rows(findings.rows);
		} else {
			const time = this.#common.timestamps ? `\n${clockTime(new Date())}` : '';
			this.#output.write(time + (await this.#text.report(findings, this.#style)));
		}
		for (const line of explainLost(report.lost)) say(`lost: ${line}`);
	}

	/** After the last interval. */
	total(cost: Cost | undefined): void {
		if (this.#common.quiet || !cost) return;
		const each_ns = cost.bpf_runs === 0 ? 0 : cost.bpf_ns / cost.bpf_runs;
		say(
			`cost: about ${grouped(cost.bpf_runs)} program runs of ${humanTime(each_ns)}, ` +
				`${cost.cpu_pct.toFixed(2)} % of one CPU`,
		);
	}

	close(): void {
		this.#output.close();
		this.#hdrOutput?.close();
	}

	async #logHdr(report: Report, groups: readonly LatencyGroup[]): Promise<void> {
		for (const { key, histogram } of groups) {
			const { start, duration_ns } = report;
			await this.#hdr?.add({ start, duration_ns, tag: hdrTag(key), histogram });
		}
	}
}

/** A group's name in an HdrHistogram log, where commas and spaces separate fields. */
function hdrTag(key: Key): string {
	const parts = Object.entries(key).map(([name, value]) => `${name}=${value}`);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: so that no line is broken
	return parts.join(';').replace(/[\s,\u0000-\u001f\u007f-\u009f]/g, '_');
}
