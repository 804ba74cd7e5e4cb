/** What stat counted, by event. */
import assert from 'node:assert/strict';
import { type Finished, Tracing, type Workload } from './support.js';

export interface CountedRow {
	readonly event: string;
	readonly value: number | null;
	readonly status: string;
	readonly why?: string;
	readonly unit: string;
	readonly per_s: number | null;
	readonly metric: { readonly name: string; readonly value: number } | null;
	readonly counted_share: number;
	readonly enabled_ns: number;
	readonly running_ns: number;
	readonly runs?: { readonly deviation: number; readonly min: number; readonly max: number };
}

export interface CountReport {
	readonly tool: string;
	readonly duration_s: number;
	readonly elapsed_s: number;
	readonly until_s: number;
	readonly runs?: number;
	readonly busy_share?: number;
	readonly filters: object;
	readonly remarks: ReadonlyArray<{ readonly rule: string; readonly text: string }>;
	readonly lost: object;
	readonly ended?: string;
	readonly rows: readonly CountedRow[];
}

/** One for each interval. */
export function countReports({ status, stdout, stderr }: Finished, expected = 0): CountReport[] {
	assert.equal(status, expected, stderr);
	const lines = stdout.trimEnd().split('\n');
	return lines.map((line) => JSON.parse(line) as CountReport);
}

/** The value of an event; it has to be there, and counted all of the time. */
export function countOf({ rows }: CountReport, event: string): number {
	const row = rows.find((each) => each.event === event);
	assert.ok(row, `${event} is among ${rows.map((each) => each.event).join(', ')}`);
	assert.equal(row.status, 'counted', `${event}: ${row.why}`);
	assert.equal(row.counted_share, 1, event);
	return row.value ?? Number.NaN;
}

/** Counts what a workload does from when it is told to begin until it is done. */
export async function countWork(
	workload: Workload,
	...args: readonly string[]
): Promise<{ report: CountReport; done: number[] }> {
	const tracing = await Tracing.start(['stat', '--json', '-p', `${workload.pid}`, ...args]);
	const done = await workload.work();
	const [report] = countReports(await tracing.end('SIGINT'));
	assert.deepEqual(report?.lost, {});
	return { report: report as CountReport, done };
}

export function between(value: number, least: number, most: number, what: string): void {
	assert.ok(value >= least && value <= most, `${what}: ${value}, not ${least}..${most}`);
}
