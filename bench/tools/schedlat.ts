/** schedlat against perf sched record and latency: docs/tools/schedlat.md. */

import { type Benchmark, toPeers, toUntraced } from '../experiments/measure.js';
import {
	bpfSide,
	type Contender,
	nodeSide,
	PIPE,
	slowFigures,
	slowSide,
	startFigure,
	startSide,
	untraced,
	without,
} from '../experiments/workloads.js';
import { cost, slowDown, startUp } from '../guard/figures.js';
import { perf } from '../shared/peers.js';
import { scratch } from '../shared/scratch.js';
import { PERF_BEGIN_MS } from '../shared/tracer.js';

const file = scratch('perf.data');

const OURS: Contender = { name: 'tstrace schedlat', command: ['bin/tstrace', 'schedlat'] };
/** What there was before it: the same waits, without sums by thread. */
const RUNQLAT: Contender = { name: 'tstrace runqlat', command: ['bin/tstrace', 'runqlat'] };
const RUNQLAT_L: Contender = { name: 'tstrace runqlat -L', command: [...RUNQLAT.command, '-L'] };
const PERF: Contender = {
	...perf(),
	name: 'perf sched record, latency',
	command: ['perf', 'sched', 'record', '-o', file],
	begin_ms: PERF_BEGIN_MS,
	writes: file,
	report: ['perf', 'sched', 'latency', '-i', file],
};

const BPF = [OURS, RUNQLAT, RUNQLAT_L].map((each) => bpfSide(each));
const NONE = ['libbpf-tools', 'bcc', 'bpftrace'].map((name) => without(name));
const SLOW = [untraced(), ...[OURS, PERF].map(slowSide), ...NONE];
/** perf does not say when it has begun. */
const START = [startSide(OURS), nodeSide()];

export const schedlat: Benchmark = {
	tool: 'schedlat',
	experiments: [
		{
			workload: PIPE,
			sides: BPF,
			figures: [
				{
					key: 'bpf_ns',
					name: 'BPF time per context switch',
					unit: 'ns',
					ratios: [
						{ of: 'tstrace schedlat', to: 'tstrace runqlat' },
						{ of: 'tstrace schedlat', to: 'tstrace runqlat -L' },
					],
				},
			],
		},
		{
			workload: PIPE,
			sides: SLOW,
			figures: slowFigures(toUntraced(SLOW), toPeers(SLOW), true),
		},
		{
			workload: 'start-up, to the first line',
			sides: START,
			figures: [startFigure(START)],
		},
	],
	guarded: [startUp(OURS), cost(OURS), slowDown(OURS)],
};
