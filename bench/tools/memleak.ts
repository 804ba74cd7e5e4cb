/** memleak against libbpf-tools' memleak, and against probes that do nothing: docs/tools/memleak.md. */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { probeEmptily } from '../experiments/empty-probes.js';
import {
	type Benchmark,
	type Experiment,
	type Guarded,
	type Sample,
	type Side,
	toPeers,
	toUntraced,
	UNTRACED,
} from '../experiments/measure.js';
import {
	bare,
	bpfSideBy,
	type Contender,
	nodeSide,
	startFigure,
	startSide,
	tracedSample,
	unbuffered,
} from '../experiments/workloads.js';
import { named, PEAK, RESULT, startUp, withTstrace } from '../guard/figures.js';
import { Child, type Command } from '../shared/children.js';
import { bcc, bpftrace, newestLibbpfTool, type Peer } from '../shared/peers.js';
import { median } from '../shared/statistics.js';

const LINES = 6;
/** Until what the workload printed before has been read. */
const DRAIN_MS = 50;
const LOOK_PERIOD_MS = 20;
/** In commands; the workload's number takes its place. */
const PID = 'PID';
const WORKLOAD = 'malloc(64) and free, again and again (build/workloads/pairs)';

/** What the workload has printed: nanoseconds for a pair, and how many. */
const printed: { ns: number; pairs: number }[] = [];
let pid = 0;

async function prepare(): Promise<() => Promise<void>> {
	const child = new Child(['build/workloads/pairs'], ['ignore', 'pipe', 'inherit']);
	const { stdout } = child.process;
	if (!stdout) throw new Error('the workload has no output');
	pid = child.pid;
	createInterface({ input: stdout }).on('line', (line) => {
		const [ns = 0, pairs = 0] = line.split(' ').map(Number);
		printed.push({ ns, pairs });
	});
	await nextPairs();
	return () => child.end();
}

/** How long a pair takes by now, ns: the workload's next lines but the first, which began before. */
async function nextPairs(): Promise<number> {
	await sleep(DRAIN_MS);
	const from = printed.length + 1;
	while (printed.length < from + LINES) await sleep(LOOK_PERIOD_MS);
	return median(printed.slice(from).map(({ ns }) => ns));
}

/** All pairs so far; as the workload prints a line, so that it is no guess. */
async function countPairs(): Promise<number> {
	const from = printed.length;
	while (printed.length === from) await sleep(1);
	return printed.reduce((sum, { pairs }) => sum + pairs, 0);
}

const at = (command: Command) => command.map((word) => word.replaceAll(PID, `${pid}`));

const peer = (name: string, { command, ...rest }: Peer, args: Command): Contender => ({
	...rest,
	name,
	at,
	command: [...command, ...args],
});

/** What memleak-bpfcc does, as far as bpftrace's language goes. */
const BPFTRACE = [
	'BEGIN { printf("ready\\n"); }',
	`uprobe:libc:malloc /pid == ${PID}/ { @size[tid] = arg0; }`,
	`uretprobe:libc:malloc /@size[tid]/ { @sizes[retval] = @size[tid]; @stacks[retval] = ustack; delete(@size[tid]); }`,
	`uprobe:libc:free /pid == ${PID}/ { delete(@sizes[arg0]); delete(@stacks[arg0]); }`,
].join(' ');

const OURS: Contender = {
	name: 'tstrace memleak',
	at,
	command: ['bin/tstrace', 'memleak', '-p', PID],
};
const SAMPLED: Contender = {
	...OURS,
	name: 'tstrace --sample-bytes 512K',
	command: [...OURS.command, '--sample-bytes', '512K'],
};
const GROWTH: Contender = {
	...OURS,
	name: 'tstrace --growth',
	command: [...OURS.command, '--growth'],
};
const THEIRS = peer('libbpf-tools memleak', newestLibbpfTool('memleak'), ['-p', PID, '1000']);
const BPFTRACED = {
	...peer('bpftrace', bpftrace(), ['-B', 'line', '-e', BPFTRACE]),
	ready: /ready/,
};
const BCC = peer('bcc memleak', bcc('memleak'), ['-p', PID, '1000']);
const EMPTY = 'empty programs';

const pairs = async (): Promise<Sample> => ({ pair_ns: await nextPairs() });
const slowSide = (contender: Contender): Side => ({
	...bare(contender),
	run: () => tracedSample(contender, pairs),
});

const untraced: Side = {
	name: UNTRACED,
	command: '',
	run: pairs,
};

const empty: Side = {
	name: EMPTY,
	command: "at malloc's entry and return and free's entry (test/bpf/empty.bpf.c)",
	run: async () => {
		const remove = probeEmptily(pid);
		try {
			return await pairs();
		} finally {
			remove();
		}
	},
};

const SLOW = [untraced, ...[OURS, SAMPLED, GROWTH, THEIRS, BPFTRACED, BCC].map(slowSide), empty];
const costSide = (contender: Contender) => bpfSideBy(contender, countPairs, nextPairs);
const BPF = [OURS, SAMPLED, THEIRS, BPFTRACED, BCC].map(costSide);
/** Of peers only the one that tells when it has begun. */
const START = [startSide(OURS), startSide(unbuffered(THEIRS)), nodeSide()];
const PAIR = { key: 'pair_ns', name: 'time per pair', unit: 'ns' };
const BPF_PAIR = { key: 'bpf_ns', name: 'BPF time per pair', unit: 'ns' };
const slowDown: Experiment = {
	workload: WORKLOAD,
	prepare,
	sides: SLOW,
	figures: [
		{
			...PAIR,
			ratios: toUntraced(SLOW, {
				'tstrace memleak / libbpf-tools memleak': { atMost: 0.3 },
				'tstrace memleak / empty programs': { atMost: 0.35 },
				'tstrace --sample-bytes 512K / libbpf-tools memleak': { atMost: 0.2 },
				'tstrace --growth / untraced': { atMost: 1.05 },
			}),
		},
		{ ...RESULT, ratios: toPeers(SLOW) },
		{ ...PEAK, ratios: toPeers(SLOW) },
	],
};

const guardedSlowDown = (contender: Contender): Guarded => ({
	workload: named(contender, 'malloc(64) and free'),
	prepare,
	figures: [PAIR, RESULT, PEAK],
	side: (program) => slowSide(withTstrace(program, contender)),
});

const bpfCost: Guarded = {
	workload: named(OURS, 'malloc(64) and free'),
	prepare,
	figures: [BPF_PAIR],
	side: (program) => costSide(withTstrace(program, OURS)),
};

export const memleak: Benchmark = {
	tool: 'memleak',
	experiments: [
		slowDown,
		{
			workload: WORKLOAD,
			prepare,
			sides: BPF,
			figures: [{ ...BPF_PAIR, ratios: toPeers(BPF) }],
		},
		{
			workload: 'start-up at a running process, to the first line',
			prepare,
			sides: START,
			figures: [startFigure(START)],
		},
	],
	guarded: [startUp(OURS, prepare), ...[OURS, SAMPLED, GROWTH].map(guardedSlowDown), bpfCost],
};
