/** What a run prints: results in the chosen format, and on stderr what they cost and lack. */

import type { PageReport } from '../aggregate/page-report.js';
import type {
	EventRow,
	Findings,
	LatencyGroup,
	Lost,
	Report,
	RowFindings,
} from '../aggregate/report.js';
import { type Origin, profileOf } from '../aggregate/stack-profile.js';
import type { StackFindings } from '../aggregate/stack-rows.js';
import type { StackTool } from '../aggregate/stack-tool.js';
import { explainLost } from '../bpf/loss.js';
import { closeAll } from '../loader/close-all.js';
import type { Cost } from '../loader/cost.js';
import { notForTerminal, unnamedFormat } from '../options/choose-format.js';
import { ALL_MARKS, NO_MARKS } from '../render/folded.js';
import { HdrLog } from '../render/hdr-log.js';
import { renderJson } from '../render/json.js';
import { leftOutText } from '../render/left-out.js';
import { grouped } from '../render/numbers.js';
import { suitableLook } from '../render/picture-look.js';
import { isForPrograms, renderStackFormat, type StackFormat } from '../render/stack-formats.js';
import { paint, printable, type Style, styleFor, wrapped } from '../render/terminal.js';
import { clockTime, humanTime } from '../render/units.js';
import type { TextView } from '../tool.js';
import { type CommonSettings, type Format, refuseOfText } from './common-options.js';
import { LostSoFar } from './lost-so-far.js';
import { Output, say } from './output.js';

export class Results<F extends Findings> {
	readonly #common: CommonSettings;
	readonly #text: TextView<F>;
	readonly #stackTool: StackTool | undefined;
	readonly #output: Output;
	readonly #hdrOutput: Output | undefined;
	readonly #hdr: HdrLog | undefined;
	readonly #style: Style;
	readonly #lost = new LostSoFar(performance.now());
	#headerPrinted = false;

	/**
	 * Opens the files; throws TstraceError when one cannot be written, UsageError for what no terminal
	 * can show, and for options that the format has nothing for.
	 */
	constructor(common: CommonSettings, text: TextView<F>, stackTool: StackTool | undefined) {
		this.#common = common;
		this.#text = text;
		this.#stackTool = stackTool;
		const { output } = common;
		this.#output = output === undefined || output === '-' ? Output.stdout() : Output.file(output);
		if (this.#output.isTerminal && isForPrograms(this.#format)) {
			throw notForTerminal(this.#format, ' with -o FILE');
		}
		refuseOfText(common.ofText, this.#format, common.format === undefined);
		// Asking process.stdout of a pipe would make it non-blocking, for COMMAND too.
		this.#style = styleFor(this.#output.isTerminal ? process.stdout : {});
		if (common.hdr !== undefined) {
			const output = Output.file(common.hdr);
			this.#hdrOutput = output;
			this.#hdr = new HdrLog();
		}
	}

	/** Whether rows are to be handed over as they come. */
	get streams(): boolean {
		return this.#format === 'text';
	}

	get #format(): Format {
		const { format } = this.#common;
		return format ?? unnamedFormat(this.#stackTool?.use ?? 'report', this.#output.isTerminal);
	}

	/** Tracing has begun: there is going to be a result. */
	begin(): void {
		this.#output.truncate();
		this.#hdrOutput?.truncate();
	}

	/** Rows as they come. */
	async rows(rows: readonly EventRow[] | Uint8Array): Promise<void> {
		let text = '';
		if (!this.#headerPrinted && this.#text.header) {
			text += `${paint(this.#style, 'bold', this.#text.header)}\n`;
		}
		this.#headerPrinted = true;
		if (rows instanceof Uint8Array) {
			if (text) await this.#output.write(text);
			await this.#output.write(rows);
			return;
		}
		for (const row of rows) text += this.#text.row?.(row) ?? '';
		await this.#output.write(text);
	}

	/** One interval. A picture, or what other tools read, is of the last one only. */
	async report(found: Report<F>, last: boolean): Promise<void> {
		if (!last && this.#format !== 'text' && this.#format !== 'json') return;
		// Once for all: what is written, counted and remarked on is the same.
		const findings = this.#text.shown?.(found.findings, this.#format === 'json') ?? found.findings;
		const report = { ...found, findings };
		await this.#write(report);
		if (!this.#common.quiet) this.#remarks(findings);
		if (findings.kind === 'rows') {
			this.lostMeanwhile(report.lost, last);
		} else {
			for (const line of explainLost(report.lost)) say(wrapped(`lost: ${line}`, '      '));
		}
		// Last: where it cannot be written, the result is there all the same.
		if (findings.kind === 'latency') await this.#logHdr(report, findings.groups);
	}

	/** What was lost while rows were printed as they come; at the `end` all of it is said. */
	lostMeanwhile(lost: Lost, end = false): void {
		for (const line of this.#lost.add(lost, performance.now(), end)) say(wrapped(line, '      '));
	}

	/** The findings, in the format that was asked for. */
	async #write(report: Report<F>): Promise<void> {
		const { findings } = report;
		const format = this.#format;
		if (format === 'json') {
			for await (const piece of renderJson(report)) await this.#output.write(piece);
		} else if (format !== 'text' && findings.kind === 'stacks') {
			await this.#export(format, findings, report);
		} else if (isReported(findings)) {
			const time = this.#common.timestamps ? `\n${clockTime(new Date())}` : '';
			await this.#output.write(time + (await this.#text.report(findings, this.#style)));
		} else if (findings.kind === 'rows') {
			await this.rows(findings.rows);
			if (findings.totals && this.#text.totals)
				await this.#output.write(this.#text.totals(findings.totals, this.#style));
		}
	}

	/** Stacks, as a picture or for another tool. */
	async #export(format: StackFormat, findings: StackFindings, report: Report<F>): Promise<void> {
		const how = this.#text.stacks;
		if (!how) return;
		const profile = {
			...profileOf(findings.stacks, originOf(report, findings), how),
			tool: this.#stackTool,
		};
		const pieces = await renderStackFormat(format, profile, {
			look: suitableLook(profile),
			marks: how.annotated ? ALL_MARKS : NO_MARKS,
			divisor: this.#stackTool?.folded.divisor ?? 1,
			sorted: false,
			report: format === 'html' ? this.#pageReport(report, findings.notices) : undefined,
		});
		for await (const piece of pieces) await this.#output.write(piece);
	}

	/** What the tool says on a page, and what to know about it: whoever reads it has not seen the terminal. */
	#pageReport({ findings, lost }: Report<F>, notes: readonly string[]): PageReport | undefined {
		const report = this.#text.page?.(findings);
		const notices = [
			...notes.map((line) => `Note: ${line}`),
			...explainLost(lost).map((line) => `Lost: ${line}`),
		];
		return report && { ...report, notices };
	}

	/** That nothing was found, and what to know about what was. */
	#remarks(findings: Findings): void {
		const { kind } = findings;
		if (kind === 'rows') this.#notices(findings.notices);
		if (kind !== 'stacks' && kind !== 'table') return;
		const found = kind === 'stacks' ? findings.stacks : findings.rows;
		if (kind !== 'stacks') {
			if (found.length === 0) say(this.#text.none ?? '');
			return;
		}
		const leftOut = leftOutText(findings);
		if (found.length === 0) say(leftOut ? 'no stack matches the options' : (this.#text.none ?? ''));
		// Text says it by itself, where there is any.
		if (leftOut && (this.#format !== 'text' || found.length === 0))
			say(wrapped(`note: ${leftOut}`, '      '));
		this.#notices(findings.notices);
	}

	#notices(notices: readonly string[] = []): void {
		for (const line of notices) say(wrapped(`note: ${printable(line)}`, '      '));
	}

	/** After the last interval. */
	total({ programs, own_pct, unmeasured }: Cost): void {
		if (this.#common.quiet) return;
		if (programs) {
			const { cpu_pct, bpf_runs, bpf_ns, trap_pct } = programs;
			const each_ns = bpf_runs === 0 ? 0 : bpf_ns / bpf_runs;
			const cost =
				`cost: ${cpu_pct.toFixed(2)} % of one CPU on average ` +
				`(about ${grouped(bpf_runs)} program runs of ${humanTime(each_ns)})`;
			say(cost);
			if (trap_pct > 0)
				say(`cost: plus about ${trap_pct.toFixed(2)} % for probe traps (an estimate)`);
		}
		const own = `${own_pct.toFixed(2)} %`;
		const inKernel = unmeasured
			? `did not measure its cost in the kernel: ${unmeasured}`
			: 'could not measure its cost in the kernel';
		say(
			programs
				? `cost: plus ${own} for tstrace itself`
				: wrapped(`cost: ${own} of one CPU for tstrace itself; tstrace ${inKernel}`, '      '),
		);
	}

	close(): void {
		closeAll([() => this.#output.close(), () => this.#hdrOutput?.close()]);
	}

	/** Somebody wants this to end: what nobody reads yet is not waited for. */
	giveUp(): void {
		this.#output.giveUp();
		this.#hdrOutput?.giveUp();
	}

	async #logHdr(report: Report, groups: readonly LatencyGroup[]): Promise<void> {
		for (const { key, histogram } of groups) {
			const { start, duration_ns } = report;
			const text = await this.#hdr?.add({ start, duration_ns, key, histogram });
			await this.#hdrOutput?.write(text ?? '');
		}
	}
}

/** All but single events are. */
function isReported<F extends Findings>(findings: F): findings is Exclude<F, RowFindings> {
	return findings.kind !== 'rows';
}

/** What stacks say of the run they are from. */
function originOf(report: Report, { about, unit }: StackFindings): Origin {
	const { tool, circumstances, start, duration_ns } = report;
	return {
		...about,
		...circumstances,
		tool,
		unit,
		start: start.toISOString(),
		duration_s: duration_ns / 1e9,
	};
}
