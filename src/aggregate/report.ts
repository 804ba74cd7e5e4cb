/** What a tool found: values, apart from how they are shown. Times are ns, names are snake_case. */
import type { Cost } from '../loader/cost.js';
import type { Histogram } from './histogram.js';
import type { Key } from './row-key.js';
import type { StackFindings } from './stack-rows.js';

/** How often something was lost, by cause. */
export type Lost = Readonly<Record<string, number>>;

/** Waits of one group. */
export interface LatencyGroup {
	readonly key: Key;
	readonly histogram: Histogram;
}

/** What was measured in one interval. */
interface Interval {
	readonly start: Date;
	readonly duration_ns: number;
	readonly lost: Lost;
	readonly cost: Cost;
	/** Of the last one, where that came early, and nobody asked for it with a signal. */
	readonly ended?: EarlyEnd;
}

/** It cost more than --max-overhead; none of the chosen processes is left. */
export type EarlyEnd = 'max_overhead' | 'nobody_left' | 'failed';

/** A tool's findings: histograms by group, rows of a table, or sums by stack. */
export type Findings = LatencyFindings | RowFindings | TableFindings | StackFindings;

/** Histograms, by group. */
export interface LatencyFindings {
	readonly kind: 'latency';
	readonly groups: readonly LatencyGroup[];
}

/** One event: values, and what of it has values of its own, such as a stack. */
export type EventRow = Readonly<Record<string, string | number | object>>;

/** Single events. */
export interface RowFindings {
	readonly kind: 'rows';
	readonly rows: readonly EventRow[];
	/** What the user should know of them. */
	readonly notices?: readonly string[];
	/** Of threads, for text to show below them. */
	readonly totals?: readonly Key[];
}

/** What a later comparison needs to know of a run. */
export interface Circumstances {
	/** As it was typed. */
	readonly command: readonly string[];
	readonly host: string;
	/** Its release, as uname -r prints it. */
	readonly kernel: string;
	readonly arch: string;
	/** The filter, if there was one: `pids`, `comms`, … */
	readonly filters: Readonly<Record<string, readonly (number | string)[] | boolean>>;
}

/** Rows that are sums, to be sorted and laid out together. */
export interface TableFindings<Row = TableRow> {
	readonly kind: 'table';
	/** What is said once: `unit`, totals, … */
	readonly about: Readonly<Record<string, unknown>>;
	readonly rows: readonly Row[];
}

/** Its columns, by name. */
type TableRow = Readonly<Record<string, unknown>>;

export interface Report<F extends Findings = Findings> extends Interval {
	readonly tool: string;
	readonly circumstances: Circumstances;
	readonly findings: F;
}
