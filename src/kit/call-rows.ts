/** Sums of system calls as rows: names instead of numbers, percentiles instead of histograms. */
import { percentiles } from '../aggregate/hdr.js';
import type { CallSum, CallsSettings } from './calls.js';
import { errnoName } from './errno.js';
import { type Abi, callName, isNamed } from './syscalls.js';

/** As in JSON; what a row is about comes first. */
export type CallRow = {
	readonly syscall?: string;
	readonly nr?: number;
	readonly abi?: Abi;
	readonly pid?: number;
	readonly comm?: string;
	readonly error?: string;
	readonly errno?: number;
	readonly calls: number;
	readonly errors: number;
	readonly total_ns?: number;
	readonly mean_ns?: number;
	readonly p50_ns?: number;
	readonly p99_ns?: number;
	readonly min_ns?: number;
	readonly max_ns?: number;
	readonly in_progress?: number;
	readonly longest_in_progress_ns?: number;
	/** The longest began before tracing did: it takes that long at least. */
	readonly longest_since_before?: boolean;
	/** [low, high, count]: low <= value < high. */
	readonly buckets?: ReadonlyArray<readonly [number, number, number]>;
};

export interface RowSettings extends CallsSettings {
	readonly onlyFailed: boolean;
	readonly hist: string | undefined;
}

/** The most calls first, or the most time; by errors those. */
export async function callRows(
	sums: readonly CallSum[],
	settings: RowSettings,
): Promise<CallRow[]> {
	const { byErrno, timed } = settings;
	const weight = (sum: CallSum) =>
		byErrno ? sum.errors : timed ? sum.histogram.sum_ns : sum.calls;
	const sorted = [...sums].sort((a, b) => weight(b) - weight(a) || b.open - a.open || a.nr - b.nr);
	const rows: CallRow[] = [];
	for (const sum of sorted) {
		rows.push({
			...subjectOf(sum, settings),
			calls: sum.calls,
			errors: sum.errors,
			...(timed ? await times(sum, settings) : {}),
			...(settings.open ? openOf(sum, timed) : {}),
		});
	}
	return rows;
}

function subjectOf(sum: CallSum, { byProcess, byErrno }: RowSettings): Partial<CallRow> {
	const { nr, abi, tgid, comm, errno } = sum;
	if (byProcess) return { pid: tgid, comm };
	const error = byErrno ? { error: errnoName(errno), errno } : {};
	return { syscall: callName(sum), nr, abi, ...error };
}

async function times(sum: CallSum, { hist }: RowSettings): Promise<Partial<CallRow>> {
	const { histogram } = sum;
	const { p50, p99 } = await percentiles(histogram);
	return {
		total_ns: histogram.sum_ns,
		mean_ns: histogram.count > 0 ? Math.round(histogram.sum_ns / histogram.count) : 0,
		p50_ns: p50,
		p99_ns: p99,
		min_ns: histogram.count > 0 ? histogram.min_ns : 0,
		max_ns: histogram.max_ns,
		...(hist !== undefined && isNamed(sum, hist) ? { buckets: histogram.ranges() } : {}),
	};
}

function openOf({ open, longest_ns, sinceBefore }: CallSum, timed: boolean): Partial<CallRow> {
	if (!timed || open === 0) return { in_progress: open };
	return {
		in_progress: open,
		longest_in_progress_ns: longest_ns,
		longest_since_before: sinceBefore,
	};
}
