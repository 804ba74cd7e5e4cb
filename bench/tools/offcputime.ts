/** offcputime against libbpf-tools' offcputime, bpftrace and perf record: docs/tools/offcputime.md. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
	type Benchmark,
	type Sample,
	type Side,
	toPeers,
	toUntraced,
} from '../experiments/measure.js';
import {
	bpfSide,
	type Contender,
	nodeSide,
	PIPE,
	slowFigures,
	slowSide,
	startFigure,
	startSide,
	unbuffered,
	untraced,
} from '../experiments/workloads.js';
import { cost, PEAK, RESULT, slowDown, startUp } from '../guard/figures.js';
import { Child, type Command } from '../shared/children.js';
import { bcc, bpftrace, libbpfTool, perf } from '../shared/peers.js';
import { scratch } from '../shared/scratch.js';
import { lineOf, PERF_BEGIN_MS, TSTRACE, traced } from '../shared/tracer.js';

const PROCESSES = 50;
const STACKS_EACH = 200;
const PERF_OPERATIONS = 50_000;

const data = scratch('perf.data');
const folded = scratch('folded');

/** What offcputime.bt would do with a kprobe, which this function of newer kernels does not take. */
const PROGRAM =
	'BEGIN { printf("ready\\n"); } tracepoint:sched:sched_switch { ' +
	'@at[tid] = nsecs; @kernel[tid] = kstack; @user[tid] = ustack; $at = @at[args->next_pid]; ' +
	'if ($at) { @ns[args->next_comm, @kernel[args->next_pid], @user[args->next_pid]] = ' +
	'sum(nsecs - $at); delete(@at[args->next_pid]); } } ' +
	'END { print(@ns, 20); clear(@ns); clear(@at); clear(@kernel); clear(@user); }';

const peer = bpftrace();
const OURS: Contender = {
	name: 'tstrace offcputime',
	command: ['bin/tstrace', 'offcputime', '-o', '/dev/null'],
};
const EXACT: Contender = { name: 'tstrace --exact', command: [...OURS.command, '--exact'] };
const THEIRS: Contender = { name: 'libbpf-tools offcputime', ...libbpfTool('offcputime') };
const BCC: Contender = { name: 'bcc offcputime', ...bcc('offcputime') };
const BPFTRACE: Contender = {
	...peer,
	name: 'bpftrace',
	command: [...peer.command, '-B', 'line', '-e', PROGRAM],
	ready: /ready/,
};
const PERF: Contender = {
	name: 'perf record, script',
	...perf(),
	command: ['perf', 'record', '-q', '-e', 'sched:sched_switch', '-a', '-g', '-o', data],
	begin_ms: PERF_BEGIN_MS,
	writes: data,
	report: ['perf', 'script', '-i', data],
	operations: PERF_OPERATIONS,
};

/** Lets a process follow its paths; it stays until it is killed. */
async function followPaths({ process: { stdin, stdout } }: Child): Promise<void> {
	if (!stdin || !stdout) throw new Error('the workload has no input or output');
	await once(stdout, 'data'); // ready
	stdin.write('\n');
	await once(stdout, 'data'); // done
}

const MANY = `${PROCESSES} processes with ${STACKS_EACH} stacks each`;

/** From Ctrl-C to the end of 10,000 stacks of 50 processes, folded into a file. */
async function printMany(command: Command): Promise<Sample> {
	const children: Child[] = [];
	const { ended } = await traced({ command }, async () => {
		for (let i = 0; i < PROCESSES; i++) {
			const paths = ['build/workloads/paths', `${i * STACKS_EACH}`, `${STACKS_EACH}`];
			const child = new Child(paths, ['pipe', 'pipe', 'inherit']);
			children.push(child);
			await followPaths(child);
		}
	}).finally(() => Promise.all(children.map((child) => child.end())));
	const stacks = readFileSync(folded, 'latin1').split('\n').length - 1;
	return { stacks, result_ms: ended.result_ms, peak_mb: ended.peak_mb };
}

function printing(program: string): Side {
	const command = [program, 'offcputime', '--exact', '--comm', 'paths', '-o', folded];
	const name = 'tstrace offcputime --exact';
	return { name, command: lineOf(command), run: () => printMany(command) };
}

const BPF = [OURS, EXACT, THEIRS, BPFTRACE, BCC].map((each) => bpfSide(each));
const SLOW = [untraced(), ...[OURS, EXACT, THEIRS, BPFTRACE, BCC, PERF].map(slowSide)];
const START = [...[OURS, unbuffered(THEIRS), BPFTRACE, unbuffered(BCC)].map(startSide), nodeSide()];
const PRINTING = [printing(TSTRACE)];

export const offcputime: Benchmark = {
	tool: 'offcputime',
	experiments: [
		{
			workload: PIPE,
			sides: BPF,
			figures: [
				{
					key: 'bpf_ns',
					name: 'BPF time per context switch',
					unit: 'ns',
					ratios: toPeers(BPF),
				},
			],
		},
		{ workload: PIPE, sides: SLOW, figures: slowFigures(toUntraced(SLOW), toPeers(SLOW), true) },
		{
			workload: MANY,
			sides: PRINTING,
			figures: [
				{ key: 'stacks', name: 'different stacks', unit: '', digits: 0 },
				{ key: 'result_ms', name: 'from Ctrl-C to the result', unit: 'ms', digits: 0 },
				{ key: 'peak_mb', name: 'peak resident memory', unit: 'MB' },
			],
		},
		{
			workload: 'start-up, to the first line',
			sides: START,
			figures: [startFigure(START)],
		},
	],
	guarded: [
		startUp(OURS),
		cost(OURS),
		cost(EXACT),
		slowDown(OURS),
		{
			workload: `tstrace offcputime --exact: ${MANY}`,
			figures: [RESULT, PEAK],
			side: printing,
		},
	],
};
