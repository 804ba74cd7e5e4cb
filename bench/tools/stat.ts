/** stat against perf stat: the same counts, and what counting costs: docs/tools/stat.md. */
import { spawnSync } from 'node:child_process';
import {
	type Benchmark,
	type Figure,
	type Sample,
	type Side,
	toPeers,
	toUntraced,
	UNTRACED,
} from '../experiments/measure.js';
import {
	type Contender,
	nodeSide,
	pipe_us,
	slowFigures,
	slowSide,
	startFigure,
	startSide,
} from '../experiments/workloads.js';
import { slowDown, startUp } from '../guard/figures.js';
import { perf } from '../shared/peers.js';
import { PERF_BEGIN_MS, TSTRACE } from '../shared/tracer.js';

/** 60 processes, and 2 that hand 20,000 blocks to each other. */
const SCRIPT =
	'for i in $(seq 60); do /bin/true; done; ' +
	'dd if=/dev/zero bs=512 count=20000 status=none | dd of=/dev/null bs=512 status=none';
const EVENTS = {
	task_ms: 'task-clock',
	faults: 'page-faults',
	switches: 'context-switches',
	reads: 'syscalls:sys_enter_read',
	writes: 'syscalls:sys_enter_write',
	forks: 'syscalls:sys_enter_exit_group',
} as const;
const LIST = Object.values(EVENTS).join(',');
const COMMAND = ['sh', '-c', SCRIPT];

/** Runs it; the lines of CSV that it wrote to stderr or stdout. */
function linesOf(command: readonly string[]): string[] {
	const [file = '', ...args] = command;
	const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
	if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
	return `${stdout}${stderr}`.split('\n');
}

/** Counts by what `find` finds of each event: ms of the clock. */
function sampleOf(find: (event: string) => number, clockUnit: number): Sample {
	const entries = Object.entries(EVENTS).map(([key, event]) => {
		const value = find(event);
		if (Number.isNaN(value)) throw new Error(`no count of ${event}`);
		return [key, key === 'task_ms' ? value / clockUnit : value];
	});
	return Object.fromEntries(entries);
}

const countSides: readonly Side[] = [
	{
		name: 'tstrace stat',
		command: `${TSTRACE} stat -e ${LIST} -- sh -c '${SCRIPT}'`,
		async run() {
			const lines = linesOf([TSTRACE, 'stat', '-q', '--csv', '-e', LIST, '--', ...COMMAND]);
			const cells = lines.map((line) => line.split(','));
			return sampleOf((event) => Number(cells.find((each) => each[2] === event)?.[3]), 1e6);
		},
	},
	{
		name: 'perf stat',
		command: `perf stat -e ${LIST} -- sh -c '${SCRIPT}'`,
		version: perf().version,
		missing: perf().missing,
		async run() {
			const lines = linesOf(['perf', 'stat', '-x', ';', '-e', LIST, '--', ...COMMAND]);
			const cells = lines.map((line) => line.split(';'));
			return sampleOf((event) => Number(cells.find((each) => each[2] === event)?.[0]), 1);
		},
	},
];

const figure = (key: keyof typeof EVENTS, name: string, unit = ''): Figure => ({
	...{ key, name, unit, digits: key === 'task_ms' ? 1 : 0 },
	ratios: toPeers(countSides),
});

/** Switches and system calls enough for a figure. */
const OPERATIONS = 30_000;
const OURS: Contender = {
	name: 'tstrace stat',
	command: [TSTRACE, 'stat'],
	// It has no BPF programs whose attaching could be waited for.
	begin_ms: PERF_BEGIN_MS,
	operations: OPERATIONS,
};
const PERF: Contender = {
	...perf(),
	name: 'perf stat',
	command: ['perf', 'stat', '-a'],
	begin_ms: PERF_BEGIN_MS,
	operations: OPERATIONS,
};

const NOBODY: Side = {
	name: UNTRACED,
	command: '',
	run: async () => ({ us: await pipe_us(OPERATIONS) }),
};
const SLOW = [NOBODY, ...[OURS, PERF].map(slowSide)];
/** perf does not say when it has begun. */
const START = [startSide(OURS), nodeSide()];

export const stat: Benchmark = {
	tool: 'stat',
	experiments: [
		{
			workload: '60 processes, and a pipe of 20,000 blocks',
			sides: countSides,
			figures: [
				figure('task_ms', 'task-clock', 'ms'),
				figure('faults', 'page faults'),
				figure('switches', 'context switches'),
				figure('reads', 'read calls'),
				figure('writes', 'write calls'),
				figure('forks', 'processes that ended'),
			],
		},
		{
			workload: `taskset -c 0 perf bench sched pipe -l ${OPERATIONS}`,
			sides: SLOW,
			figures: slowFigures(toUntraced(SLOW), toPeers(SLOW)),
		},
		{
			workload: 'start-up, to the first line',
			sides: START,
			figures: [startFigure(START)],
		},
	],
	guarded: [startUp(OURS), slowDown(OURS)],
};
