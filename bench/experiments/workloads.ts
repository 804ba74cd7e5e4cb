/** The workloads that several benchmarks have in common, alone and traced. */
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Child, type Command } from '../shared/children.js';
import {
	counting,
	firstLine_ms,
	lineOf,
	runsOf,
	type Traced,
	toEnd_ms,
	traced,
} from '../shared/tracer.js';
import type { Figure, Ratio, Sample, Side } from './measure.js';
import { toPeers, UNTRACED, type Wishes } from './measure.js';

const OPERATIONS = 100_000;
const MB = 2 ** 20;

const pipe = (operations: number) => [
	...['taskset', '-c', '0', 'perf', 'bench', 'sched', 'pipe', '-l', `${operations}`],
];

/** On one CPU: a switch and two system calls for each half of an operation, and nothing else. */
export const PIPE = lineOf(pipe(OPERATIONS));

/** What a command prints, on either stream. */
export async function printed(command: Command): Promise<string> {
	const child = new Child(command, ['ignore', 'pipe', 'pipe']);
	let text = '';
	for (const stream of [child.process.stdout, child.process.stderr]) {
		stream?.on('data', (data) => {
			text += data;
		});
	}
	const status = await child.closed;
	if (status !== 0) throw new Error(`${lineOf(command)}: ${text.trim()}`);
	return text;
}

/** Microseconds for an operation of `perf bench sched pipe`; `before`: what starts it. */
export async function pipe_us(operations = OPERATIONS, before: Command = []): Promise<number> {
	const [, , , ...bench] = pipe(operations);
	const text = await printed(['taskset', '-c', '0', ...before, ...bench]);
	const match = /([\d.]+) usecs\/op/.exec(text);
	if (!match) throw new Error(`perf bench said: ${text}`);
	return Number(match[1]);
}

/** Context switches of the machine since it booted: /proc/stat, ctxt. */
export function contextSwitches(): number {
	return Number(/^ctxt (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]);
}

/** A tracer, or what is compared with one, as a benchmark declares it. */
export interface Contender extends Traced {
	readonly name: string;
	readonly version?: string | undefined;
	readonly missing?: string | undefined;
	/** The command as it is to run, where that is known only then. */
	at?(command: Command): Command;
	/** The file it writes. */
	readonly writes?: string;
	/** Operations of the workload, where so many would take minutes. */
	readonly operations?: number;
	/** What makes a result of its file. */
	readonly report?: Command;
}

/** The same, with each line written as it ends; else one of C would keep its first. */
export const unbuffered = ({ command, ...rest }: Contender): Contender => ({
	...rest,
	command: ['stdbuf', '-oL', ...command],
});

/** A side without what it does: its name, command, and whether it can take part. */
export function bare({ name, command, version, missing, report }: Contender): Omit<Side, 'run'> {
	const line = lineOf(command) + (report ? ` && ${lineOf(report)}` : '');
	return { name, command: line, version, missing };
}

/** For the reader: a peer that has nothing of the kind. */
export const without = (name: string, why = 'has no tool that does this'): Side => ({
	...bare({ name, command: [], missing: why }),
	run: async () => ({}),
});

const running = ({ at, command, ...rest }: Contender): Contender => ({
	...rest,
	command: at?.(command) ?? command,
});

type Count = (programs: ReadonlySet<number>) => number | Promise<number>;

/** BPF time, ns, for each of what `count` counts while `work` is done. */
export function bpfSideBy(contender: Contender, count: Count, work: () => Promise<unknown>): Side {
	const run = async (): Promise<Sample> => {
		const { did: bpf_ns } = await traced(running(contender), ({ programs }) =>
			counting(async () => {
				const from = await count(programs);
				const before = runsOf(programs);
				await work();
				const events = (await count(programs)) - from;
				return (runsOf(programs).time_ns - before.time_ns) / events;
			}),
		);
		return { bpf_ns };
	};
	return { ...bare(contender), run };
}

/** BPF time per context switch of the machine while the workload runs. */
export function bpfSide(contender: Contender, perSwitch = 1): Side {
	return bpfSideBy(
		contender,
		() => contextSwitches() * perSwitch,
		() => pipe_us(),
	);
}

/** Does `work` while the contender traces; its figures, with what the tracer cost. */
export async function tracedSample(
	contender: Contender,
	work: () => Promise<Sample>,
): Promise<Sample> {
	const { writes, report } = contender;
	try {
		const { did, ended } = await traced(running(contender), work);
		const lost = /lost: ([\d,]+) (?:events|calls)/.exec(ended.stderr)?.[1] ?? '0';
		const report_ms = report ? await toEnd_ms(report) : 0;
		const sample: Sample = {
			...did,
			result_ms: ended.result_ms + report_ms,
			peak_mb: ended.peak_mb,
		};
		if (!writes || !existsSync(writes)) return sample;
		const disk_mb = statSync(writes).size / MB;
		return { ...sample, disk_mb, lost: Number(lost.replaceAll(',', '')) };
	} finally {
		if (writes) rmSync(writes, { force: true });
	}
}

/** The workload's time for an operation while the tracer runs, and nobody counts. */
export function slowSide(contender: Contender): Side {
	const work = async () => ({ us: await pipe_us(contender.operations) });
	return { ...bare(contender), run: () => tracedSample(contender, work) };
}

export function untraced(): Side {
	return { name: UNTRACED, command: '', run: async () => ({ us: await pipe_us() }) };
}

export function startSide(contender: Contender): Side {
	const run = async () => {
		const { command, ready } = running(contender);
		return { first_ms: await firstLine_ms(command, ready) };
	};
	return { ...bare(contender), run };
}

export function startFigure(sides: readonly Side[], wishes: Wishes = {}): Figure {
	return {
		...{ key: 'first_ms', name: 'time', unit: 'ms', digits: 0 },
		ratios: toPeers(sides, wishes),
	};
}

/** What a start-up cannot be less than. */
export function nodeSide(): Side {
	const command = ['node', '-e', '0'];
	return {
		...bare({ name: 'node', command }),
		run: async () => ({ first_ms: await toEnd_ms(command) }),
	};
}

/** Figures of sides that slowSide has made. */
export function slowFigures(us: readonly Ratio[], cost: readonly Ratio[], disk = false): Figure[] {
	const figures: Figure[] = [
		{ key: 'us', name: 'time per operation', unit: 'us', digits: 2, ratios: us },
		{ key: 'result_ms', name: 'from Ctrl-C to the result', unit: 'ms', digits: 0, ratios: cost },
		{ key: 'peak_mb', name: 'peak resident memory', unit: 'MB', ratios: cost },
	];
	if (disk) figures.push({ key: 'disk_mb', name: 'on disk', unit: 'MB', ratios: cost });
	return figures;
}
