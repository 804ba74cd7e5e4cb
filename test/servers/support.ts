/** A server in a folder of its own, traced from outside while something happens to it. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { endOnSignals } from '../../bench/shared/children.js';
import { endPrograms } from '../../bench/shared/servers.js';
import { UNSEEN } from '../live/chain-reports.js';
import {
	type Cause,
	checkTrouble,
	type Range,
	type Truth,
	type WhyReport,
} from '../live/lab-check.js';
import type { JsonReport } from '../live/reports.js';
import { type StackReport, sumOf } from '../live/stacks.js';
import { runToEnd, Tracing, Workload } from '../live/support.js';
import { schedstat } from '../live/times.js';

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
	const others = stacks.filter(({ wait }) => wait?.kind === 'other');
	const untold_ns = sumOf(others, 'blocked');
	const names = [...new Set(others.map(({ wait }) => wait?.at))].join(', ');
	const all_ns = sumOf(stacks);
	assert.ok(untold_ns <= (1 - TOLD) * all_ns, `${untold_ns} of ${all_ns} ns: ${names}`);
}

/** By how much of the working time a share may be off: a window is not the whole, and tracing costs. */
export const OFF = 0.05;
export const around = (share: number): Range => [share - OFF, share + OFF];

/** The largest first. */
export const bySize = (...causes: readonly Cause[]): Truth =>
	[...causes].sort((a, b) => b.share[0] + b.share[1] - a.share[0] - a.share[1]);

/** It runs, wherever that is. */
export const runs = (share: Range): Cause => ({
	place: 'running',
	kinds: ['on_cpu', 'in_its_own_code', 'in_the_kernel'],
	share,
});

/** What a process did meanwhile, by the kernel's own sums: on CPUs, and ready for one. */
interface Did<T> {
	readonly done: T;
	readonly run_ns: number;
	readonly delay_ns: number;
}

/** Where other work on the machine was a trouble of its own, or a switch was not reported. */
const MOST_TRIES = 5;
/** Others may take so much of what the trouble takes, in a process that does not want for CPUs by itself. */
const MOST_TAKEN = 0.5;

/** A process, and what happens to it. */
export interface Scene<T> {
	readonly pid: number;
	readonly work: () => Promise<T> | T;
	readonly end?: () => Promise<unknown>;
}

/** A workload of this command; others have less of the CPUs than it. */
export async function atWork(file: string, ...args: readonly string[]): Promise<Scene<number[]>> {
	const workload = await Workload.startBy(file, ...args);
	favour(workload.pid);
	return { pid: workload.pid, work: () => workload.work(), end: () => workload.end() };
}

/** `why` of a process while `work` goes on has to say what is true. Returns what it said. */
export async function assertWhy<T>(
	begin: () => Promise<Scene<T>> | Scene<T>,
	truthOf: (did: Did<T>) => Truth,
): Promise<WhyReport> {
	for (let tries = 1; ; tries++) {
		const { pid, work, end } = await begin();
		const { report, done } = await during(['why', '-p', `${pid}`], async () => {
			const before = cpuTimes(pid);
			const result = await work();
			const after = cpuTimes(pid);
			return {
				done: result,
				run_ns: after.run_ns - before.run_ns,
				delay_ns: after.delay_ns - before.delay_ns,
			};
		});
		await end?.();
		const why = report as unknown as WhyReport;
		const truth = truthOf(done);
		const problems = checkTrouble(truth, why);
		if (problems.length > 0 && tries < MOST_TRIES && isDisturbed({ problems, truth }, why, done))
			continue;
		assert.deepEqual(problems, [], why.verdict);
		return why;
	}
}

/** The same as text, in one line. */
export async function whyText<T>({ pid, work }: Scene<T>): Promise<string> {
	const tracing = await Tracing.start(['why', '-p', `${pid}`]);
	await work();
	const { status, stdout, stderr } = await tracing.end('SIGINT');
	assert.equal(status, 0, stderr);
	return stdout.replace(/\s+/g, ' ');
}

/** Nothing can be said of this run. */
function isDisturbed(
	{ problems, truth: [first] }: { problems: readonly string[]; truth: Truth },
	{ lost, working_ns }: WhyReport,
	{ delay_ns }: Did<unknown>,
): boolean {
	// The kernel here does not report all switches, and a wait that nobody saw begin is missing.
	const isMissing = problems.every((problem) => problem.endsWith('nothing was seen'));
	if (isMissing && UNSEEN.some((cause) => lost[cause])) return true;
	if (!first || first.place === 'runnable') return false;
	return delay_ns > MOST_TAKEN * first.share[0] * working_ns;
}

/** See sched(7): nice. */
const FAVOURED = -10;

/** Other work on the machine takes less from it, and from what it starts. */
export function favour(pid: number): void {
	for (const tid of readdirSync(`/proc/${pid}/task`)) setPriority(Number(tid), FAVOURED);
	// Of its session as a whole, where the kernel divides CPUs among sessions. The file is empty, and cannot be
	// written, of a process that belongs to none of them: its session is older than the setting.
	const session = `/proc/${pid}/autogroup`;
	if (existsSync(session) && readFileSync(session, 'utf8') !== '')
		writeFileSync(session, `${FAVOURED}`);
}

/** It has a CPU as soon as it can run, whatever else goes on: for those that run for a moment at a time only. */
export function preferred(pid: number | string): void {
	said('chrt', '--fifo', '--all-tasks', '--pid', '1', `${pid}`);
}

function cpuTimes(pid: number): { run_ns: number; delay_ns: number } {
	const threads = readdirSync(`/proc/${pid}/task`).map((tid) => schedstat(Number(tid)));
	return {
		run_ns: threads.reduce((sum, { run_ns }) => sum + run_ns, 0),
		delay_ns: threads.reduce((sum, { delay_ns }) => sum + delay_ns, 0),
	};
}
