/** Runs tracers and workloads side by side, and reads what the kernel says they cost. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { libbpf } from '../src/loader/ffi.js';
import { programInfo } from '../src/loader/program.js';

const BPF_STATS_RUN_TIME = 0;

export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function out(line: string): void {
	process.stdout.write(`${line}\n`);
}

export function ratio(a: readonly number[], b: readonly number[]): string {
	return (median(a) / median(b)).toFixed(3);
}

/** "median (smallest – largest)". */
export function spread(values: readonly number[], digits = 1): string {
	const [low, high] = [Math.min(...values), Math.max(...values)];
	return `${median(values).toFixed(digits)} (${low.toFixed(digits)} – ${high.toFixed(digits)})`;
}

export function programIds(): Set<number> {
	const ids = new Set<number>();
	const id: [number] = [0];
	while (libbpf().bpf_prog_get_next_id(id[0], id) === 0) ids.add(id[0]);
	return ids;
}

/** Run time of these programs so far, all CPUs together. */
function runTime_ns(ids: Iterable<number>): number {
	let time_ns = 0;
	for (const id of ids) {
		const fd = libbpf().bpf_prog_get_fd_by_id(id);
		if (fd < 0) continue;
		time_ns += programInfo(fd).time_ns;
		closeSync(fd);
	}
	return time_ns;
}

/** Context switches of the machine since it booted: /proc/stat, ctxt. */
function contextSwitches(): number {
	return Number(/^ctxt (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]);
}

/** A tracer that has attached its programs. */
export class Tracer {
	readonly child: ChildProcess;
	readonly programs: ReadonlySet<number>;

	private constructor(child: ChildProcess, programs: ReadonlySet<number>) {
		this.child = child;
		this.programs = programs;
	}

	static async start(command: readonly string[]): Promise<Tracer> {
		const before = programIds();
		const [file = '', ...args] = command;
		const child = spawn(file, args, { stdio: 'ignore' });
		const kill = () => child.kill();
		process.once('exit', kill);
		child.once('exit', () => process.off('exit', kill));
		const mine = () => new Set([...programIds()].filter((id) => !before.has(id)));
		// Until the number of its programs no longer grows: then all are attached.
		let programs = mine();
		for (let steady = 0; steady < 10; ) {
			await sleep(50);
			const now = mine();
			steady = now.size > 0 && now.size === programs.size ? steady + 1 : 0;
			programs = now;
		}
		return new Tracer(child, programs);
	}

	async end(): Promise<void> {
		this.child.kill('SIGINT');
		if (this.child.exitCode === null) await once(this.child, 'close');
	}
}

export const PIPE = ['taskset', '-c', '0', 'perf', 'bench', 'sched', 'pipe', '-l', '200000'];

/** Runs `perf bench sched pipe` on one CPU; returns microseconds for each of its operations. */
export function benchPipe(): number {
	const [file = '', ...args] = PIPE;
	const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
	const match = /([\d.]+) usecs\/op/.exec(stdout + stderr);
	if (!match) throw new Error(`perf bench said: ${stdout}${stderr}`);
	return Number(match[1]);
}

/** BPF time per context switch of the machine while the workload runs. */
export async function bpfPerSwitch_ns(command: readonly string[]): Promise<number> {
	const tracer = await Tracer.start(command);
	const statistics = libbpf().bpf_enable_stats(BPF_STATS_RUN_TIME);
	try {
		const [time, switches] = [runTime_ns(tracer.programs), contextSwitches()];
		benchPipe();
		return (runTime_ns(tracer.programs) - time) / (contextSwitches() - switches);
	} finally {
		closeSync(statistics);
		await tracer.end();
	}
}

/** The workload's time for an operation while the tracer runs, and nobody counts. */
export async function slowed_us(command: readonly string[]): Promise<number> {
	const tracer = await Tracer.start(command);
	try {
		return benchPipe();
	} finally {
		await tracer.end();
	}
}

/** Milliseconds until the command writes its first byte on stderr. */
async function firstLine_ms(command: readonly string[]): Promise<number> {
	const [file = '', ...args] = command;
	const begin = process.hrtime.bigint();
	const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
	await once(child.stderr, 'data');
	const time = Number(process.hrtime.bigint() - begin) / 1e6;
	child.kill('SIGINT');
	await once(child, 'close');
	return time;
}

/** Milliseconds until the command has ended. */
function toEnd_ms(command: readonly string[]): number {
	const [file = '', ...args] = command;
	const begin = process.hrtime.bigint();
	spawnSync(file, args);
	return Number(process.hrtime.bigint() - begin) / 1e6;
}

const LOOK_PERIOD_MS = 20;

/** The most memory that a process had resident, as far as could be seen until it ended. */
export async function peakMemory_mb(pid: number): Promise<number> {
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

/** Prints how long a command takes to its first line, beside node itself. */
export async function startUp(command: readonly string[], rounds: number): Promise<void> {
	const ours: number[] = [];
	const node: number[] = [];
	for (let i = 0; i < rounds; i++) {
		ours.push(await firstLine_ms(command));
		node.push(toEnd_ms(['node', '-e', '0']));
	}
	out('\nstart-up, ms');
	out(`  tstrace, to first line  ${spread(ours)}`);
	out(`  node -e 0               ${spread(node)}`);
	out(`  ratio                   ${ratio(ours, node)}`);
}
