/** Runs tstrace and the workloads as a user would, and asks the kernel what is left of them. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { afterEach } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { libbpf } from '../../src/loader/ffi.js';
import { takeMessages } from '../../src/loader/messages.js';

export const TSTRACE = resolve('bin/tstrace');

/** What a test has started and not ended, because it failed half-way; it would keep us waiting. */
const running = new Set<ChildProcess>();
afterEach(() => {
	for (const child of running) child.kill('SIGKILL');
});

function started(child: ChildProcess): ChildProcess {
	running.add(child);
	child.once('exit', () => running.delete(child));
	return child;
}

/** Waits until it has ended and all it printed is read. */
async function closed(child: ChildProcess): Promise<void> {
	if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
	for (const stream of [child.stdout, child.stderr]) {
		if (stream && !stream.closed) await once(stream, 'close');
	}
}

export interface Finished {
	readonly status: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

/** A program that runs to its end. */
export function runToEnd(file: string, args: readonly string[], env: Environment = {}): Finished {
	const result = spawnSync(file, args, {
		encoding: 'utf8',
		env: { ...process.env, ...env },
		maxBuffer: 1 << 28,
	});
	if (result.error) throw result.error;
	return { status: result.status, stdout: result.stdout, stderr: result.stderr };
}

export function tstrace(args: readonly string[], env: Environment = {}): Finished {
	return runToEnd(TSTRACE, args, env);
}

/** A tstrace that runs meanwhile. */
export class Tracing {
	readonly pid: number;
	readonly #child: ChildProcess;
	#stdout = '';
	#stderr = '';

	private constructor(child: ChildProcess) {
		this.#child = child;
		this.pid = child.pid as number;
		child.stdout?.on('data', (data) => {
			this.#stdout += data;
		});
		child.stderr?.on('data', (data) => {
			this.#stderr += data;
		});
	}

	/** Returns when everything is attached, which is what the banner says. */
	static async start(args: readonly string[], env: Environment = {}): Promise<Tracing> {
		const child = started(spawn(TSTRACE, args, { env: { ...process.env, ...env } }));
		const tracing = new Tracing(child);
		await until(() => tracing.#stderr.includes('Tracing ') || child.exitCode !== null);
		if (child.exitCode !== null) throw new Error(`tstrace ended: ${tracing.#stderr}`);
		return tracing;
	}

	get stdout(): string {
		return this.#stdout;
	}

	signal(signal: NodeJS.Signals): void {
		this.#child.kill(signal);
	}

	async end(signal?: NodeJS.Signals): Promise<Finished> {
		if (signal) this.signal(signal);
		await closed(this.#child);
		return { status: this.#child.exitCode, stdout: this.#stdout, stderr: this.#stderr };
	}
}

/** One of test/workloads: says "ready PID TID", begins when told, says "done …", ends when told. */
export class Workload {
	readonly #child: ChildProcess;
	readonly #lines: Interface;
	readonly #pending: string[] = [];
	pid = 0;
	tid = 0;

	private constructor(file: string, args: readonly string[]) {
		this.#child = started(spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
		this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
		this.#lines.on('line', (line) => this.#pending.push(line));
	}

	static start(name: string, ...args: readonly string[]): Promise<Workload> {
		return Workload.startBy(resolve('build/workloads', name), ...args);
	}

	/** By way of another program, or as a copy that lies elsewhere. */
	static async startBy(file: string, ...args: readonly string[]): Promise<Workload> {
		const workload = new Workload(file, args);
		const [pid, tid] = await workload.#line('ready');
		workload.pid = pid ?? 0;
		workload.tid = tid ?? 0;
		return workload;
	}

	/** Begins the work. */
	begin(): void {
		this.#child.stdin?.write('x');
	}

	/** Begins the work; returns the numbers it reports when it is done. */
	async work(): Promise<number[]> {
		this.begin();
		return this.#line('done');
	}

	/** Stops it, and waits until it stands still. */
	async stop(): Promise<void> {
		this.#child.kill('SIGSTOP');
		await until(() => / T /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8')));
	}

	continue(): void {
		this.#child.kill('SIGCONT');
	}

	/** Ends it. For a hog, returns the numbers it reports. */
	async end(): Promise<number[]> {
		this.#child.stdin?.end();
		await closed(this.#child);
		const last = this.#pending.find((line) => line.startsWith('done'));
		return last ? last.split(' ').slice(1).map(Number) : [];
	}

	async #line(word: string): Promise<number[]> {
		await until(() => this.#pending.length > 0 || this.#child.exitCode !== null);
		const line = this.#pending.shift() ?? '';
		if (!line.startsWith(word)) throw new Error(`${word} was expected, not "${line}"`);
		return line.split(' ').slice(1).map(Number);
	}
}

/** What the kernel counted for a thread: Documentation/scheduler/sched-stats.rst. */
export function schedstat(tid: number): { run_ns: number; delay_ns: number; waits: number } {
	const [run_ns, delay_ns, waits] = readFileSync(`/proc/${tid}/schedstat`, 'utf8').split(' ');
	return { run_ns: Number(run_ns), delay_ns: Number(delay_ns), waits: Number(waits) };
}

/** Waits for something to become true that cannot be awaited; gives up after a minute. */
export async function until(condition: () => boolean): Promise<void> {
	for (let tries = 0; !condition(); tries++) {
		if (tries > 6000) throw new Error(`never became true: ${condition}`);
		await sleep(10);
	}
}

export interface JsonGroup {
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
	readonly lost: Readonly<Record<string, number>>;
	readonly cost: { readonly bpf_runs: number | null };
}

/** The reports in the output of a run with --json. */
export function reportsOf(stdout: string): JsonReport[] {
	return stdout
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line));
}

/** All groups of all intervals, put together. */
export function total(stdout: string): { count: number; sum: number } {
	const groups = reportsOf(stdout).flatMap((report) => report.groups);
	return {
		count: groups.reduce((sum, group) => sum + group.count, 0),
		sum: groups.reduce((sum, group) => sum + group.sum, 0),
	};
}

/**
 * What was lost, but for waits that the kernel kept from us: some (in sandboxes) do not trace the
 * switches of threads they hide, nor the switch to whoever follows such a thread on a CPU.
 */
export function lostEvents(report: JsonReport): Record<string, number> {
	const { waits_unseen = 0, wait_start_unknown = 0, ...rest } = report.lost;
	assert.ok(waits_unseen + wait_start_unknown < 100, JSON.stringify(report.lost));
	return rest;
}

/** The ids of everything BPF that the kernel holds: "program 7", "map 9", "link 3". */
export function kernelObjects(): Set<string> {
	const c = libbpf();
	takeMessages();
	const ids = new Set<string>();
	for (const [kind, next] of [
		['program', c.bpf_prog_get_next_id],
		['map', c.bpf_map_get_next_id],
		['link', c.bpf_link_get_next_id],
	] as const) {
		const id: [number] = [0];
		while (next(id[0], id) === 0) ids.add(`${kind} ${id[0]}`);
	}
	return ids;
}

/** Waits until the kernel holds nothing that it did not hold before; it frees with a delay. */
export async function untilReleased(before: ReadonlySet<string>): Promise<void> {
	await until(() => [...kernelObjects()].every((id) => before.has(id)));
}
