/** What it costs to walk user stacks by unwind tables, and to have these: docs/stacks.md. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark, Experiment, Figure, Sample, Side } from '../experiments/measure.js';
import { printed } from '../experiments/workloads.js';
import { Child, type Command } from '../shared/children.js';
import {
	counting,
	firstLine_ms,
	lineOf,
	runsOf,
	TRACING,
	TSTRACE,
	traced,
} from '../shared/tracer.js';

const TRACE_MS = 1000;
/** Frames of a stack of the workload `deep` that are not its own depth. */
const OTHER_FRAMES = 5;
const SHALLOW = 8;
const DEEP = 108;
const SAMPLED = 25;
const PROCESSES = 50;
const FILES = 200;
/** tstrace has read all tables: it has not used its CPU for so long. */
const IDLE_MS = 500;

/** A workload that says that it is there; it stays until `work` ends. */
async function beside<T>(command: Command, work: (child: Child) => Promise<T>): Promise<T> {
	const child = new Child(command, ['pipe', 'pipe', 'inherit']);
	try {
		if (child.process.stdout) await once(child.process.stdout, 'data');
		return await work(child);
	} finally {
		await child.end();
	}
}

const begin = ({ process: { stdin } }: Child) => stdin?.write('\n');

/** Times that the threads of a process left their CPU, to sleep or preempted: man 5 proc_pid_status. */
function waitsOf(pid: number): number {
	return readdirSync(`/proc/${pid}/task`).reduce((sum, tid) => {
		const status = readFileSync(`/proc/${pid}/task/${tid}/status`, 'utf8');
		const counts = [...status.matchAll(/^(?:non)?voluntary_ctxt_switches:\s+(\d+)$/gm)];
		return sum + counts.reduce((both, [, count]) => both + Number(count), 0);
	}, 0);
}

/** BPF time per wait of two threads that wake each other, with user stacks of `depth` + 5 frames. */
function waits_ns(depth: number): Promise<number> {
	return beside(['build/workloads/deep', 'waits', `${depth}`], async (child) => {
		begin(child);
		const { pid } = child;
		const command = [...EXACT, '-p', `${pid}`];
		const { did } = await traced({ command }, ({ programs }) =>
			counting(async () => {
				const before = { ...runsOf(programs), waits: waitsOf(pid) };
				await sleep(TRACE_MS);
				const time_ns = runsOf(programs).time_ns - before.time_ns;
				return time_ns / (waitsOf(pid) - before.waits);
			}),
		);
		return did;
	});
}

const EXACT = [TSTRACE, 'offcputime', '--exact', '-U', '-o', '/dev/null'];
const PROFILE = [TSTRACE, 'profile', '-U', '-o', '/dev/null'];

/** Of one side, which is tstrace: there is nobody to compare it with. */
const alone = (workload: string, command: Command, figures: Figure[], run: Side['run']) =>
	({
		workload,
		sides: [
			{ name: command.slice(0, 2).join(' ').replace('bin/', ''), command: lineOf(command), run },
		],
		figures,
	}) satisfies Experiment;

async function frames(): Promise<Sample> {
	const shallow_ns = await waits_ns(SHALLOW);
	const deep_ns = await waits_ns(DEEP);
	return {
		walk_ns: shallow_ns / (SHALLOW + OTHER_FRAMES),
		more_ns: (deep_ns - shallow_ns) / (DEEP - SHALLOW),
	};
}

/** BPF time of samples of two busy threads, 99 in a second, as a share of one CPU. */
function sampled(): Promise<Sample> {
	return beside(['build/workloads/deep', 'spins', `${SAMPLED}`], async (child) => {
		begin(child);
		const command = [...PROFILE, '-p', `${child.pid}`];
		const { did } = await traced({ command }, ({ programs }) =>
			counting(async () => {
				const before = { ...runsOf(programs), at_ms: performance.now() };
				await sleep(2 * TRACE_MS);
				const { runs, time_ns } = runsOf(programs);
				const took_ns = (performance.now() - before.at_ms) * 1e6;
				return {
					pct: (100 * (time_ns - before.time_ns)) / took_ns,
					sample_ns: (time_ns - before.time_ns) / (runs - before.runs),
				};
			}),
		);
		return did;
	});
}

/** A program and the libraries that it is linked with. */
function filesOf(program: string): string[] {
	const path = realpathSync(execFileSync('which', [program], { encoding: 'utf8' }).trim());
	const libraries = execFileSync('ldd', [path], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
	return [path, ...new Set(libraries.map((each) => realpathSync(each)))];
}

function reading(name: string, files: () => string[]): Side {
	const command = [process.execPath, 'build/test/bench/walks/tables.js'];
	const run = async () => JSON.parse(await printed([...command, ...files()])) as Sample;
	return { name, command: `unwind-tables.js, ${name} and its libraries`, run };
}

const READING = [
	reading('redis-server', () => filesOf('redis-server')),
	reading('node', () => [realpathSync(process.execPath)]),
];

/** How much later tstrace begins if it reads the tables of a node first. */
function later(): Promise<Sample> {
	const command = ['node', '-e', "setInterval(() => {}, 100); console.log('ready')"];
	return beside(command, async ({ pid }) => {
		const first_ms = (...more: string[]) =>
			firstLine_ms([TSTRACE, 'offcputime', '-p', `${pid}`, ...more], TRACING);
		const fp_ms = await first_ms('--unwind', 'fp');
		return { later_ms: (await first_ms()) - fp_ms };
	});
}

/** Every second one that is installed here, large and small. */
function libraries(): string[] {
	const [folder = ''] = filesOf('redis-server').slice(1).map(dirname);
	const all = readdirSync(folder).filter((name) => /\.so\.[\d.]+$/.test(name));
	const files = all.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
	const different = [...new Set(files.map((path) => realpathSync(path)))].sort();
	return different.filter((_, i) => i % 2 === 0).slice(0, FILES);
}

/** CPU time that a process has used, in ticks: man 5 proc_pid_stat. */
function ticksOf(pid: number): number {
	const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
	const [utime, stime] = stat
		.slice(stat.lastIndexOf(')') + 2)
		.split(' ')
		.slice(11, 13);
	return Number(utime) + Number(stime);
}

async function untilIdle(pid: number): Promise<void> {
	for (let before = -1; before !== ticksOf(pid); await sleep(IDLE_MS)) before = ticksOf(pid);
}

async function memory(): Promise<Sample> {
	const files = libraries();
	const children: Child[] = [];
	try {
		for (let i = 0; i < PROCESSES; i++) {
			const child = new Child(['build/workloads/maps', ...files], ['pipe', 'pipe', 'inherit']);
			children.push(child);
			if (child.process.stdout) await once(child.process.stdout, 'data');
		}
		const pids = children.map(({ pid }) => pid).join();
		const command = [TSTRACE, 'offcputime', '-o', '/dev/null', '-p', pids];
		const { ended } = await traced({ command }, ({ pid }) => untilIdle(pid));
		return { peak_mb: ended.peak_mb, files: files.length };
	} finally {
		for (const child of children) await child.end();
	}
}

const NS = { unit: 'ns', digits: 0 };

export const unwind: Benchmark = {
	tool: 'unwind',
	experiments: [
		alone(
			`two threads that wake each other, without frame pointers`,
			[...EXACT, '-p', 'PID'],
			[
				{
					key: 'walk_ns',
					name: `BPF time per wait with ${SHALLOW + OTHER_FRAMES} user frames, all of it, for a frame`,
					...NS,
				},
				{ key: 'more_ns', name: 'each further frame', ...NS },
			],
			frames,
		),
		alone(
			`two busy threads with ${SAMPLED + OTHER_FRAMES} frames, 99 samples a second`,
			[...PROFILE, '-p', 'PID'],
			[
				{ key: 'pct', name: 'BPF time, % of one CPU', unit: '', digits: 2 },
				{ key: 'sample_ns', name: 'BPF time per sample', ...NS },
			],
			sampled,
		),
		{
			workload: 'reading unwind tables',
			sides: READING,
			figures: [
				{ key: 'rows', name: 'rows', unit: '', digits: 0 },
				{ key: 'cpu_ms', name: 'CPU time', unit: 'ms', digits: 0 },
			],
		},
		alone(
			'start-up for a node, with its tables and with --unwind fp',
			[TSTRACE, 'offcputime', '-p', 'PID'],
			[{ key: 'later_ms', name: 'how much later the first line is', unit: 'ms', digits: 0 }],
			later,
		),
		alone(
			`${PROCESSES} processes of ${FILES} libraries`,
			[TSTRACE, 'offcputime', '-p', 'PID,…'],
			[
				{ key: 'peak_mb', name: 'peak resident memory', unit: 'MB' },
				{ key: 'files', name: 'different files', unit: '', digits: 0 },
			],
			memory,
		),
	],
	guarded: [],
};
