/** Sums of system calls as rows: names instead of numbers, percentiles instead of histograms. */

import { errnoName } from '../../abi/errno.js';
import { type Abi, callName, isNamed } from '../../abi/syscalls.js';
import { percentiles } from '../../aggregate/hdr.js';
import type { CallSum, CallsSettings } from './calls.js';
import type { ShownCall } from './table.js';

/** As in JSON: what is shown, and the numbers behind the names. */
export type CallRow = ShownCall & {
	readonly nr?: number;
	readonly abi?: Abi;
	readonly errno?: number;
};

interface RowSettings extends CallsSettings {
	readonly onlyFailed: boolean;
	readonly hist: string | undefined;
}

/** The most calls first, or the most time; by errors those. */
export async function callRows(
	sums: readonly CallSum[],
	settings: RowSettings,
): Promise<CallRow[]> {
	const { byErrno, timed, bytes } = settings;
	const weight = (sum: CallSum) =>
		bytes
			? sum.read_bytes + sum.written_bytes
			: byErrno
				? sum.errors
				: timed
					? sum.histogram.sum_ns
					: sum.calls;
	const sorted = [...sums].sort(
		(a, b) => weight(b) - weight(a) || b.calls - a.calls || b.open - a.open || a.nr - b.nr,
	);
	const rows: CallRow[] = [];
	for (const sum of sorted) {
		rows.push({
			...subjectOf(sum, settings),
			calls: sum.calls,
			errors: sum.errors,
			...(timed ? await times(sum, settings) : {}),
			...(bytes ? { read_bytes: sum.read_bytes, written_bytes: sum.written_bytes } : {}),
			...(settings.open ? openOf(sum, timed) : {}),
		});
	}
	return rows;
}

function subjectOf(sum: CallSum, { byProcess, byErrno }: RowSettings): Partial<CallRow> {
	const { nr, abi, tgid, id, comm, errno } = sum;
	if (byProcess) return { pid: tgid, ...(id > 0 ? { host_pid: id } : {}), comm };
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
