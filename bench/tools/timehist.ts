/** timehist against perf sched record and timehist: docs/tools/timehist.md. */
import {
	type Benchmark,
	type Sample,
	type Side,
	toPeers,
	toUntraced,
	UNTRACED,
} from '../measure.js';
import { perf } from '../peers.js';
import { scratch } from '../scratch.js';
import { lineOf, PERF_BEGIN_MS, sinceMs } from '../tracer.js';
import {
	bare,
	bpfSide,
	type Contender,
	contextSwitches,
	nodeSide,
	PIPE,
	printed,
	slowFigures,
	startFigure,
	startSide,
	tracedSample,
} from '../workloads.js';

const OPERATIONS = Number(process.env.OPERATIONS ?? 100_000);
const LOAD = ['perf', 'bench', 'sched', 'pipe', '-l', `${OPERATIONS}`];

const file = scratch('out');

/** Two pairs of processes that pass a byte to and fro; nobody keeps them to a CPU. */
async function load(): Promise<Sample> {
	const [begin, before] = [process.hrtime.bigint(), contextSwitches()];
	await Promise.all([1, 2].map(() => printed(LOAD)));
	const seconds = sinceMs(begin) / 1e3;
	const switches = contextSwitches() - before;
	return { us: (seconds * 1e6) / OPERATIONS, switches, per_second: switches / seconds };
}

const OURS: Contender = {
	name: 'tstrace timehist',
	command: ['bin/tstrace', 'timehist', '-o', file],
	writes: file,
};
const PERF: Contender = {
	...perf(),
	name: 'perf sched record, timehist',
	command: ['perf', 'sched', 'record', '-o', file],
	begin_ms: PERF_BEGIN_MS,
	writes: file,
	report: ['perf', 'sched', 'timehist', '-i', file],
};

const SIDES: Side[] = [
	{ name: UNTRACED, command: '', run: load },
	...[OURS, PERF].map((each) => ({
		...bare(each),
		run: () => tracedSample(each, load),
	})),
];
/** Its events go nowhere; perf has no BPF programs, and does not say when it has begun. */
const DISCARDING: Contender = {
	name: 'tstrace timehist',
	command: ['bin/tstrace', 'timehist', '-o', '/dev/null'],
};
/** What there was before it: the same switches, only counted. */
const RUNQLAT: Contender = { name: 'tstrace runqlat', command: ['bin/tstrace', 'runqlat'] };
const BPF = [DISCARDING, RUNQLAT].map((each) => bpfSide(each));
const START = [startSide(DISCARDING), nodeSide()];
const TO_PERF = 'tstrace timehist / perf sched record, timehist';

export const timehist: Benchmark = {
	tool: 'timehist',
	experiments: [
		{
			workload: `two ${lineOf(LOAD)} at once`,
			rounds: 5,
			sides: SIDES,
			figures: [
				...slowFigures(toUntraced(SIDES, { [TO_PERF]: { guard: true } }), toPeers(SIDES)),
				{
					key: 'disk_mb',
					name: 'on disk',
					unit: 'MB',
					ratios: toPeers(SIDES, { [TO_PERF]: { guard: true } }),
				},
				{ key: 'per_second', name: 'switches per second', unit: '1/s', digits: 0 },
				{ key: 'switches', name: 'switches while it ran', unit: '', digits: 0 },
				{ key: 'lost', name: 'lost', unit: 'events', digits: 0 },
			],
		},
		{
			workload: PIPE,
			sides: BPF,
			figures: [
				{
					key: 'bpf_ns',
					name: 'BPF time per context switch',
					unit: 'ns',
					ratios: [{ of: 'tstrace timehist', to: 'tstrace runqlat' }],
				},
			],
		},
		{
			workload: 'start-up, to the first line',
			sides: START,
			figures: [startFigure(START)],
		},
	],
};
