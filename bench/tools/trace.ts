/** trace against strace, perf trace and libbpf-tools' syscount: docs/tools/trace.md. */

import {
	type Benchmark,
	type Sample,
	type Side,
	toPeers,
	toUntraced,
	UNTRACED,
} from '../experiments/measure.js';
import {
	bare,
	type Contender,
	nodeSide,
	printed,
	slowFigures,
	startFigure,
	startSide,
	tracedSample,
} from '../experiments/workloads.js';
import { named, PEAK, startUp, withTstrace } from '../guard/figures.js';
import { libbpfTool, perf, strace } from '../shared/peers.js';
import { scratch } from '../shared/scratch.js';
import { lineOf, PERF_BEGIN_MS, sinceMs } from '../shared/tracer.js';

const READS = 300_000;
/** For those that need a hundred times as long. */
const FEW_READS = 10_000;
const dd = (reads: number) => ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', `count=${reads}`];
const WORKLOAD = lineOf(dd(READS));

const file = scratch('out');

/** Each read has its write. */
async function load(reads = READS, before: readonly string[] = []): Promise<Sample> {
	const begin = process.hrtime.bigint();
	await printed([...before, ...dd(reads)]);
	return { us: (sinceMs(begin) * 1e3) / reads };
}

const ours = (name: string, ...options: string[]): Contender => ({
	name,
	command: ['bin/tstrace', 'trace', '--comm', 'dd', ...options, '-o', file],
	writes: file,
});
const OURS = ours('tstrace trace');
const OURS_Y = ours('tstrace trace -y', '-y');
const LARGE = ours('tstrace trace --buffer 128M', '--buffer', '128M');
const NOTHING = ours('tstrace trace, a filter that nothing matches', '-e', 'openat2');
const SYSCOUNT: Contender = {
	...libbpfTool('syscount'),
	name: 'libbpf-tools syscount -L',
	command: [...libbpfTool('syscount').command, '-d', '1000', '-L'],
};
const PERF: Contender = {
	...perf(),
	name: 'perf trace',
	command: ['perf', 'trace', '-a', '-o', file],
	begin_ms: PERF_BEGIN_MS,
	operations: FEW_READS,
	writes: file,
};

const loaded = (contender: Contender): Side => ({
	...bare(contender),
	run: () => tracedSample(contender, () => load(contender.operations)),
});
/** It has its command to trace; nothing else is slowed. */
const straced: Side = {
	...bare({ ...strace(), name: 'strace', command: [...strace().command, '-T', '-o', file] }),
	run: () => load(FEW_READS, [...strace().command, '-T', '-o', file]),
};

const SIDES: Side[] = [
	{ name: UNTRACED, command: '', run: () => load() },
	...[OURS, OURS_Y, LARGE, NOTHING, SYSCOUNT, PERF].map(loaded),
	straced,
];
const START = [startSide(OURS), nodeSide()];

export const trace: Benchmark = {
	tool: 'trace',
	experiments: [
		{
			workload: WORKLOAD,
			rounds: 5,
			sides: SIDES,
			figures: [
				...slowFigures(
					toUntraced(SIDES, {
						[OURS.name]: { atMost: 6 },
						[NOTHING.name]: { atMost: 2 },
					}),
					toPeers(SIDES),
				),
				{ key: 'disk_mb', name: 'on disk', unit: 'MB', ratios: [] },
				{ key: 'lost', name: 'lost', unit: 'calls', digits: 0 },
			],
		},
		{ workload: 'start-up, to the first line', sides: START, figures: [startFigure(START)] },
	],
	guarded: [
		startUp(OURS),
		{
			workload: named(OURS, WORKLOAD),
			figures: [{ key: 'us', name: 'time per operation', unit: 'us', digits: 2 }, PEAK],
			side: (program) => loaded(withTstrace(program, OURS)),
		},
	],
};
