/** What syscount's JSON says of calls. */
import assert from 'node:assert/strict';
import { reportsOf } from './reports.js';
import { type Finished, Tracing, type Workload } from './support.js';

export interface Row {
	readonly syscall: string;
	readonly error: string;
	readonly pid: number;
	readonly comm: string;
	readonly abi: string;
	readonly calls: number;
	readonly errors: number;
	readonly total_ns: number;
	readonly mean_ns: number;
	readonly p50_ns: number;
	readonly p99_ns: number;
	readonly max_ns: number;
	readonly read_bytes: number;
	readonly written_bytes: number;
	readonly in_progress: number;
	readonly longest_in_progress_ns: number;
	readonly longest_since_before: boolean;
	readonly buckets: ReadonlyArray<readonly [number, number, number]>;
}

export const rowsOf = ({ stdout }: Finished): Row[] =>
	reportsOf(stdout).flatMap(({ rows }) => rows as unknown as Row[]);

/** The rows of a run while a workload works. */
export async function rowsWhile(workload: Workload, ...args: readonly string[]): Promise<Row[]> {
	const whose = ['-p', `${workload.pid}`];
	const tracing = await Tracing.start(['syscount', '--json', ...whose, ...args]);
	await workload.work();
	const finished = await tracing.end('SIGINT');
	await workload.end();
	assert.equal(finished.status, 0, finished.stderr);
	return rowsOf(finished);
}

export const named = (rows: readonly Row[], name: string) =>
	rows.find(({ syscall }) => syscall === name);
