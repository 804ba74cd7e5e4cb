/** Runs tracers beside workloads, and reads what the kernel says they cost. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { failure, libbpf, libbpfFunction } from '../../src/loader/ffi.js';
import { Child, type Command, Failed } from './children.js';

const BPF_STATS_RUN_TIME = 0;
const LOOK_PERIOD_MS = 20;
/** How long the number of programs must not change before all count as attached. */
const STEADY_LOOKS = 6;
const STEADY_PERIOD_MS = 50;
const BEGIN_LIMIT_MS = 120_000;
const END_LIMIT_MS = 30_000;
const INTERRUPT_PERIOD_MS = 500;
const STDOUT_KEPT = 4096;
/** Until perf, which does not say so and has no programs, has begun. */
export const PERF_BEGIN_MS = 1000;

export const lineOf = (command: Command) =>
	command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`)).join(' ');

/** This working copy's. */
export const TSTRACE = 'bin/tstrace';
/** tstrace says when it has attached its programs. */
export const TRACING = /^Tracing /m;
const readyOf = ([file]: Command) => (file?.endsWith(TSTRACE) ? TRACING : undefined);

export function sinceMs(begin: bigint): number {
	return Number(process.hrtime.bigint() - begin) / 1e6;
}

/** The BPF programs that a process holds, by their numbers: man 5 proc_pid_fdinfo. */
function programsOf(pid: number): Set<number> {
	const ids = new Set<number>();
	try {
		for (const fd of readdirSync(`/proc/${pid}/fdinfo`)) {
			const info = readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8');
			const id = /^prog_id:\s*(\d+)$/m.exec(info)?.[1];
			if (id) ids.add(Number(id));
		}
	} catch {
		// A descriptor, or the process, is gone meanwhile.
	}
	return ids;
}

/** Run time of these programs so far, all CPUs together, and how often they ran. */
export function runsOf(ids: Iterable<number>): { time_ns: number; runs: number } {
	const programFd = libbpfFunction('int bpf_prog_get_fd_by_id(uint32_t id)');
	const sum = { time_ns: 0, runs: 0 };
	for (const id of ids) {
		const fd: number = programFd(id);
		if (fd < 0) continue;
		const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
		sum.time_ns += Number(/^run_time_ns:\s*(\d+)$/m.exec(info)?.[1]);
		sum.runs += Number(/^run_cnt:\s*(\d+)$/m.exec(info)?.[1]);
		closeSync(fd);
	}
	return sum;
}

/** Counts the run time of all programs on the machine while `work` is done. */
export async function counting<T>(work: () => Promise<T>): Promise<T> {
	const statistics = libbpf().bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (statistics < 0)
		throw new Error(`the kernel counts no run times of BPF programs: ${failure(statistics)}`);
	try {
		return await work();
	} finally {
		closeSync(statistics);
	}
}

/** The most memory that a process had resident, as far as could be seen until it ended. */
async function peakMemory_mb(pid: number): Promise<number> {
	let peak_kb = 0;
	for (;;) {
		let status: string;
		try {
			status = readFileSync(`/proc/${pid}/status`, 'utf8');
		} catch {
			break;
		}
		const kb = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0);
		if (kb === 0) break; // a zombie has no memory
		peak_kb = Math.max(peak_kb, kb);
		await sleep(LOOK_PERIOD_MS);
	}
	return peak_kb / 1024;
}

/** What a tracer cost by the time it has ended. */
interface Ended {
	/** From Ctrl-C until it has written everything and ended. */
	readonly result_ms: number;
	readonly peak_mb: number;
	readonly stderr: string;
}

/** A tracer that has begun. */
class Tracer {
	programs: ReadonlySet<number> = new Set();
	#stdout = '';
	#stderr = '';
	readonly #child: Child;
	readonly #peak: Promise<number>;

	private constructor(command: Command) {
		this.#child = new Child(command, ['ignore', 'pipe', 'pipe'], TRACER_ENVIRONMENT);
		this.#child.process.stderr?.on('data', (data) => {
			this.#stderr += data;
		});
		this.#child.process.stdout?.on('data', (data) => {
			// Its first lines are enough: results can be long.
			if (this.#stdout.length < STDOUT_KEPT) this.#stdout += data;
		});
		this.#peak = peakMemory_mb(this.pid);
	}

	get pid(): number {
		return this.#child.pid;
	}

	/** Returns when its programs are attached; after `begin_ms` if that is given. */
	static async start({ command, begin_ms, ready }: Traced): Promise<Tracer> {
		const tracer = new Tracer(command);
		try {
			if (begin_ms === undefined) await tracer.#attached(ready ?? readyOf(command));
			else await sleep(begin_ms);
			if (tracer.#child.hasEnded) {
				const status = await tracer.#child.closed;
				throw new Failed(`${lineOf(command)} ended: ${tracer.#stderr.trim()}`, status);
			}
		} catch (error) {
			await tracer.kill();
			throw error;
		}
		return tracer;
	}

	async end(): Promise<Ended> {
		const begin = process.hrtime.bigint();
		this.#child.process.kill('SIGINT');
		const limit = setTimeout(() => this.#child.kill(), END_LIMIT_MS);
		await this.#child.closed;
		clearTimeout(limit);
		if (this.#child.process.signalCode === 'SIGKILL')
			throw new Error(`did not end in time (${END_LIMIT_MS / 1000} s after Ctrl-C)`);
		return { result_ms: sinceMs(begin), peak_mb: await this.#peak, stderr: this.#stderr };
	}

	kill(): Promise<void> {
		return this.#child.end();
	}

	/** When it says so, if it does, and its programs become no more. */
	async #attached(ready: RegExp | undefined): Promise<void> {
		const begin = process.hrtime.bigint();
		for (let steady = 0; steady < STEADY_LOOKS && !this.#child.hasEnded; ) {
			await sleep(STEADY_PERIOD_MS);
			const now = programsOf(this.pid);
			const said = ready?.test(this.#stdout + this.#stderr) ?? true;
			steady = said && now.size > 0 && now.size === this.programs.size ? steady + 1 : 0;
			this.programs = now;
			if (sinceMs(begin) > BEGIN_LIMIT_MS)
				throw new Error(`no BPF programs after ${BEGIN_LIMIT_MS} ms: ${this.#stderr.trim()}`);
		}
	}
}

/** What is to trace. */
export interface Traced {
	readonly command: Command;
	/** It has no BPF programs: how long it takes to begin. */
	readonly begin_ms?: number;
	/** The line with which it says that it has begun. */
	readonly ready?: RegExp;
}

/** Traces while `work` is done; whatever happens, the tracer does not go on. */
export async function traced<T>(
	what: Traced,
	work: (tracer: Tracer) => Promise<T>,
): Promise<{ did: T; ended: Ended }> {
	const tracer = await Tracer.start(what);
	try {
		const did = await work(tracer);
		return { did, ended: await tracer.end() };
	} finally {
		await tracer.kill();
	}
}

/** bpftrace has room for 4,096 keys if it is not told otherwise; maps that are full cost less. */
const TRACER_ENVIRONMENT = { ...process.env, BPFTRACE_MAP_KEYS_MAX: '65536' };

/** Milliseconds until the command writes a line that matches. */
export async function firstLine_ms(command: Command, wanted = /./): Promise<number> {
	const begin = process.hrtime.bigint();
	const child = new Child(command, ['ignore', 'pipe', 'pipe']);
	let text = '';
	const seen = new Promise<number>((resolve) => {
		for (const stream of [child.process.stdout, child.process.stderr]) {
			stream?.on('data', (data) => {
				text += data;
				if (wanted.test(text)) resolve(sinceMs(begin));
			});
		}
	});
	const time_ms = await Promise.race([seen, child.closed.then(() => undefined)]);
	// More than once: some say that they have begun before they are ready to be told to end.
	const interrupt = () => child.process.kill('SIGINT');
	interrupt();
	const again = setInterval(interrupt, INTERRUPT_PERIOD_MS);
	const limit = setTimeout(() => child.kill(), END_LIMIT_MS);
	const status = await child.closed;
	clearInterval(again);
	clearTimeout(limit);
	if (time_ms === undefined)
		throw new Failed(`${lineOf(command)} did not begin: ${text.trim()}`, status);
	return time_ms;
}

/** Milliseconds until the command has ended. */
export async function toEnd_ms(command: Command): Promise<number> {
	const begin = process.hrtime.bigint();
	await new Child(command, 'ignore').closed;
	return sinceMs(begin);
}
