/** timehist against perf sched record and timehist: docs/tools/timehist.md. */

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
} from '../experiments/workloads.js';
import { cost, named, PEAK, startUp, withTstrace } from '../guard/figures.js';
import { perf } from '../shared/peers.js';
import { scratch } from '../shared/scratch.js';
import { lineOf, PERF_BEGIN_MS, sinceMs } from '../shared/tracer.js';

const OPERATIONS = Number(process.env.OPERATIONS ?? 100_000);
const LOAD = ['perf', 'bench', 'sched', 'pipe', '-l', `${OPERATIONS}`];
const WORKLOAD = `two ${lineOf(LOAD)} at once`;

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

const loaded = (contender: Contender): Side => ({
	...bare(contender),
	run: () => tracedSample(contender, load),
});

const SIDES: Side[] = [{ name: UNTRACED, command: '', run: load }, ...[OURS, PERF].map(loaded)];
const DISK = { key: 'disk_mb', name: 'on disk', unit: 'MB' };
/** Its events go nowhere; perf has no BPF programs, and does not say when it has begun. */
const DISCARDING: Contender = {
	name: 'tstrace timehist',
	command: ['bin/tstrace', 'timehist', '-o', '/dev/null'],
};
const WAKEUPS: Contender = {
	name: 'tstrace timehist -w',
	command: [...DISCARDING.command, '-w'],
};
/** What there was before it: the same switches, only counted. */
const RUNQLAT: Contender = { name: 'tstrace runqlat', command: ['bin/tstrace', 'runqlat'] };
const BPF = [DISCARDING, RUNQLAT].map((each) => bpfSide(each));
const START = [startSide(DISCARDING), nodeSide()];

export const timehist: Benchmark = {
	tool: 'timehist',
	experiments: [
		{
			workload: WORKLOAD,
			rounds: 5,
			sides: SIDES,
			figures: [
				...slowFigures(toUntraced(SIDES), toPeers(SIDES)),
				{ ...DISK, ratios: toPeers(SIDES) },
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
	guarded: [
		startUp(DISCARDING),
		cost(DISCARDING),
		cost(WAKEUPS),
		{
			workload: named(OURS, WORKLOAD),
			figures: [{ key: 'us', name: 'time per operation', unit: 'us', digits: 2 }, DISK, PEAK],
			side: (program) => loaded(withTstrace(program, OURS)),
		},
	],
};
