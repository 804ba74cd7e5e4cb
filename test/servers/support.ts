/** A server in a folder of its own, traced from outside while something happens to it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { endOnSignals } from '../../bench/children.js';
import { endPrograms } from '../../bench/servers.js';
import type { JsonReport } from '../live/reports.js';
import { type StackReport, sumOf } from '../live/stacks.js';
import { runToEnd, Tracing } from '../live/support.js';

/** A folder for a server, which ends with the tests of the file. */
export function serverFolder(): string {
	endOnSignals();
	const folder = mkdtempSync(join(tmpdir(), 'servers-'));
	after(async () => {
		await endPrograms();
		rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
	});
	return folder;
}

/** What a tool finds while `work` goes on: its one result. Of what offcputime finds, the kinds are known. */
export async function during<T>(
	args: readonly string[],
	work: () => Promise<T> | T,
): Promise<{ report: StackReport & JsonReport; done: T; seconds: number }> {
	const tracing = await Tracing.start([...args, '--json']);
	const began = performance.now();
	const done = await work();
	const seconds = (performance.now() - began) / 1000;
	const { status, stdout, stderr } = await tracing.end('SIGINT');
	assert.equal(status, 0, stderr);
	const report = JSON.parse(stdout);
	if (args[0] === 'offcputime') assertKindsTold(report);
	return { report, done, seconds };
}

/** What a client of a server prints; it has to end well. */
export function said(file: string, ...args: readonly string[]): string {
	const { status, stdout, stderr } = runToEnd(file, args);
	assert.equal(status, 0, `${file} ${args.join(' ')}: ${stderr}`);
	return stdout;
}

/** The numbers of a table's rows added up. */
export function totalOf(rows: JsonReport['rows'], field: string): number {
	return rows.reduce((sum, row) => sum + Number(row[field] ?? 0), 0);
}

/** Of all off-CPU time, at least this share has a kind that is known. */
const TOLD = 0.99;

function assertKindsTold({ stacks }: StackReport): void {
	const others = stacks.filter(({ wait_kind }) => wait_kind?.startsWith('other: '));
	const untold_ns = sumOf(others, 'blocked');
	const names = [...new Set(others.map(({ wait_kind }) => wait_kind))].join(', ');
	const all_ns = sumOf(stacks);
	assert.ok(untold_ns <= (1 - TOLD) * all_ns, `${untold_ns} of ${all_ns} ns: ${names}`);
}
