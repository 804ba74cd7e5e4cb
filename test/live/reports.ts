/** What runs with --json print. */
import assert from 'node:assert/strict';

interface JsonGroup {
	readonly key: Readonly<Record<string, string | number>>;
	readonly count: number;
	readonly sum: number;
	readonly min: number;
	readonly max: number;
	readonly p50: number;
	readonly buckets: ReadonlyArray<readonly [number, number, number]>;
}

export interface JsonReport {
	readonly tool: string;
	readonly duration_s: number;
	readonly groups: readonly JsonGroup[];
	readonly rows: ReadonlyArray<Readonly<Record<string, string | number>>>;
	readonly stacks?: readonly unknown[];
	readonly lost: Readonly<Record<string, number>>;
	readonly ended?: string;
	readonly cost: {
		readonly bpf_runs: number | null;
		readonly trap_ns: number | null;
		readonly own_ns: number;
	};
	/** memleak's. */
	readonly sample_bytes?: number;
}

/** The reports in the output of a run with --json. */
export function reportsOf(stdout: string): JsonReport[] {
	return stdout
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line));
}

/** Whether a tool has seen anything of the threads it traced: a wait, a row, a stack. */
export function sawSomething(stdout: string): boolean {
	return reportsOf(stdout).some(
		({ groups = [], rows = [], stacks = [] }) =>
			groups.some(({ count }) => count > 0) || rows.length + stacks.length > 0,
	);
}

/** All groups of all intervals, put together. */
export function total(stdout: string): { count: number; sum: number } {
	const groups = reportsOf(stdout).flatMap((report) => report.groups);
	return {
		count: groups.reduce((sum, group) => sum + group.count, 0),
		sum: groups.reduce((sum, group) => sum + group.sum, 0),
	};
}

/** Of how many waits this kernel did not trace one end. */
export function unseenIn(lost: Readonly<Record<string, number>>): number {
	return (lost.waits_unseen ?? 0) + (lost.wait_start_unknown ?? 0);
}

/**
 * The first of at most eight runs in which the kernel reported every switch: a test cannot tell what became of a wait
 * whose switch it has not. Else the last one.
 */
export function seenWholly<Report extends { readonly lost: Readonly<Record<string, number>> }>(
	run: () => Report,
): Report {
	let report = run();
	for (let runs = 1; runs < 8 && unseenIn(report.lost) > 0; runs++) report = run();
	return report;
}

/** How many waits the kernel counted and the tool left out, as it says. */
export function leftOut(stdout: string): number {
	return reportsOf(stdout).reduce((all, { lost }) => {
		const { waits_unseen = 0, waits_misbooked = 0 } = lost;
		return all + waits_unseen + waits_misbooked;
	}, 0);
}

/**
 * A sum of latencies is what the kernel counted, to so many per cent. For each wait that is left out
 * it may lack three average waits, and the stolen time: waits are unseen behind a thread that the
 * kernel hides, which often runs first when a CPU comes back. `more_ns`: what only our sum may have.
 */
export function nearSchedInfo(
	sum_ns: number,
	counted_ns: number,
	percent: number,
	left: { readonly out: number; readonly of: number; readonly stolen_ns: number },
	more_ns = 0,
): void {
	const most_ns = counted_ns * (1 + percent / 100) + more_ns;
	const lacking_ns = left.out > 0 ? (3 * counted_ns * left.out) / left.of + left.stolen_ns : 0;
	const least_ns = counted_ns * (1 - percent / 100) - lacking_ns;
	const range = `${least_ns}..${most_ns}, ${left.out} of ${left.of} left out`;
	assert.ok(sum_ns >= least_ns && sum_ns <= most_ns, `delays: ${sum_ns}, not ${range}`);
}

/**
 * What was lost, except waits that the kernel hid from us. Some kernels (in sandboxes) do not trace
 * switches of threads they hide, nor the switch to the next thread on that CPU. Since 6.12 the kernel
 * counts sleep in some waits, when it moves threads on a busy machine.
 */
export function otherLosses(lost: Readonly<Record<string, number>>): Record<string, number> {
	const { waits_unseen: _, wait_start_unknown: __, waits_misbooked: ___, ...others } = lost;
	return others;
}
