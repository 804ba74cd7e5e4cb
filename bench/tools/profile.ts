/** profile against perf record and script, libbpf-tools' profile and bpftrace: docs/tools/profile.md. */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { timed } from '../experiments/commands.js';
import { type Benchmark, type Side, toPeers, toUntraced } from '../experiments/measure.js';
import {
	bpfSideBy,
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
import { PEAK, startUp, withTstrace } from '../guard/figures.js';
import { Child } from '../shared/children.js';
import { bcc, bpftrace, newestLibbpfTool, type Peer, perf } from '../shared/peers.js';
import { scratch } from '../shared/scratch.js';
import { lineOf, PERF_BEGIN_MS, runsOf, TSTRACE } from '../shared/tracer.js';

const SECONDS = 5;
const HZ = '999';
const BUSY = `a busy machine, ${HZ} samples a second on each CPU`;
const BPF_MS = 2000;

const data = scratch('perf.data');

/** Every CPU is busy until the experiment ends. */
async function prepare(): Promise<() => Promise<void>> {
	const busy = cpus().map(() => new Child(['build/workloads/hog'], ['pipe', 'ignore', 'ignore']));
	return async () => {
		await Promise.all(busy.map((child) => child.end()));
	};
}

function side(name: string, line: string, peer: Partial<Peer> = {}, leaves: string[] = []): Side {
	const run = async () => {
		const sample = await timed(line, scratch('out'), leaves);
		return { ...sample, result_ms: ((sample.seconds ?? 0) - SECONDS) * 1000 };
	};
	return { name, command: line, version: peer.version, missing: peer.missing, run };
}

const of = ({ command }: Peer, ...args: string[]) => lineOf([...command, ...args]);

const record = `perf record -q -o ${data} -e cpu-clock -F ${HZ} -a -g`;
const newest = newestLibbpfTool('profile');
const SAMPLE = `profile:hz:${HZ} { @[kstack, ustack, comm] = count(); }`;
const FOR_A_WHILE = `${SAMPLE} interval:s:${SECONDS} { exit(); }`;

const ours = (program: string) => side('tstrace profile', `${program} profile -F ${HZ} ${SECONDS}`);

const SIDES = [
	ours(TSTRACE),
	side('perf record, script', `${record} -- sleep ${SECONDS} && perf script -i ${data}`, perf(), [
		data,
	]),
	side('libbpf-tools profile', of(newest, '-f', '-F', HZ, `${SECONDS}`), newest),
	side('bpftrace', of(bpftrace(), '-e', FOR_A_WHILE), bpftrace()),
	side('bcc profile', of(bcc('profile'), '-f', '-F', HZ, `${SECONDS}`), bcc('profile')),
];

/** The same until Ctrl-C. */
const contender = (name: string, { command, ...rest }: Peer, ...args: string[]): Contender => ({
	...rest,
	name,
	command: [...command, ...args],
});
const OURS = contender('tstrace profile', { command: ['bin/tstrace', 'profile'] }, '-F', HZ);
const THEIRS = contender('libbpf-tools profile', newest, '-f', '-F', HZ);
const BPFTRACE: Contender = {
	...contender(
		'bpftrace',
		bpftrace(),
		...['-B', 'line', '-e', `BEGIN { printf("ready\\n"); } ${SAMPLE}`],
	),
	ready: /ready/,
};
const BCC = contender('bcc profile', bcc('profile'), '-f', '-F', HZ);
const PERF: Contender = {
	...perf(),
	name: 'perf record, script',
	command: record.split(' '),
	begin_ms: PERF_BEGIN_MS,
	writes: data,
	report: ['perf', 'script', '-i', data],
};

const costSide = (each: Contender) =>
	// One run of a program is one sample.
	bpfSideBy(
		each,
		(programs) => runsOf(programs).runs,
		() => sleep(BPF_MS),
	);
const BPF = [OURS, THEIRS, BPFTRACE, BCC].map(costSide);
const SLOW = [untraced(), ...[OURS, PERF, THEIRS, BPFTRACE, BCC].map(slowSide)];
const START = [...[OURS, unbuffered(THEIRS), BPFTRACE, unbuffered(BCC)].map(startSide), nodeSide()];

const ratios = toPeers(SIDES);
const CPU = { key: 'cpu_ms', name: 'CPU time', unit: 'ms', digits: 0 };
const COST = { key: 'bpf_ns', name: 'BPF time per sample', unit: 'ns' };

export const profile: Benchmark = {
	tool: 'profile',
	experiments: [
		{
			workload: `${BUSY} for ${SECONDS} s, and printing it`,
			prepare,
			rounds: 5,
			sides: SIDES,
			figures: [
				{ ...CPU, ratios },
				{
					key: 'result_ms',
					name: 'time without the sampling itself',
					unit: 'ms',
					digits: 0,
					ratios,
				},
				{ ...PEAK, ratios },
				{ key: 'written_mb', name: 'written', unit: 'MB', digits: 2, ratios },
			],
		},
		{
			workload: BUSY,
			prepare,
			sides: BPF,
			figures: [{ ...COST, ratios: toPeers(BPF) }],
		},
		{
			workload: `${PIPE}, ${HZ} samples a second on each CPU`,
			rounds: 5,
			sides: SLOW,
			figures: slowFigures(toUntraced(SLOW), toPeers(SLOW), true),
		},
		{
			workload: 'start-up, to the first line',
			sides: START,
			figures: [startFigure(START)],
		},
	],
	guarded: [
		startUp(OURS),
		{
			workload: `tstrace profile: ${BUSY}`,
			prepare,
			figures: [COST],
			side: (program) => costSide(withTstrace(program, OURS)),
		},
		{
			workload: `tstrace profile: ${BUSY} for ${SECONDS} s`,
			prepare,
			figures: [CPU, PEAK],
			side: ours,
		},
	],
};
