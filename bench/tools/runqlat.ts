/** runqlat against libbpf-tools' runqlat and bpftrace: docs/tools/runqlat.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Benchmark, type Side, toPeers, toUntraced } from '../experiments/measure.js';
import {
	bare,
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
import { cost, slowDown, startUp } from '../guard/figures.js';
import { bcc, bpftrace, libbpfTool } from '../shared/peers.js';
import { traced } from '../shared/tracer.js';

const WAIT_S = 5;

/** What bpftrace's own runqlat.bt does. */
const PROGRAM =
	'BEGIN { printf("ready\\n"); } ' +
	'tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @at[args->pid] = nsecs; } ' +
	'tracepoint:sched:sched_switch { if (args->prev_state == 0) { @at[args->prev_pid] = nsecs; } ' +
	'$at = @at[args->next_pid]; if ($at) { @usecs = hist((nsecs - $at) / 1000); } ' +
	'delete(@at[args->next_pid]); } END { clear(@at); }';

const peer = bpftrace();
const OURS: Contender = { name: 'tstrace runqlat', command: ['bin/tstrace', 'runqlat'] };
const GROUPED: Contender = { name: 'tstrace runqlat -L', command: [...OURS.command, '-L'] };
const SPLIT: Contender = { name: 'tstrace runqlat --split', command: [...OURS.command, '--split'] };
const THEIRS: Contender = { name: 'libbpf-tools runqlat', ...libbpfTool('runqlat') };
const BPFTRACE: Contender = {
	...peer,
	name: 'bpftrace',
	command: [...peer.command, '-B', 'line', '-e', PROGRAM],
	ready: /ready/,
};
const BCC: Contender = { name: 'bcc runqlat', ...bcc('runqlat') };

/** Time on CPU in ns: /proc/PID/task/TID/schedstat, of all threads. */
function onCpu_ns(pid: number): number {
	let time_ns = 0;
	for (const tid of readdirSync(`/proc/${pid}/task`)) {
		const schedstat = readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8');
		time_ns += Number(schedstat.split(' ')[0]);
	}
	return time_ns;
}

function waitSide(contender: Contender): Side {
	const run = async () => {
		const { did } = await traced(contender, async ({ pid }) => {
			const before = onCpu_ns(pid);
			await sleep(WAIT_S * 1000);
			const used = (onCpu_ns(pid) - before) / (WAIT_S * 1e9);
			const status = readFileSync(`/proc/${pid}/status`, 'utf8');
			const resident_mb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
			return { cpu_percent: used * 100, resident_mb };
		});
		return did;
	};
	return { ...bare(contender), run };
}

const BPF = [OURS, GROUPED, THEIRS, BPFTRACE, BCC].map((each) => bpfSide(each));
const SLOW = [untraced(), ...[OURS, THEIRS, BPFTRACE, BCC].map(slowSide)];
const START = [...[OURS, unbuffered(THEIRS), BPFTRACE, unbuffered(BCC)].map(startSide), nodeSide()];
const WAIT = [OURS, THEIRS, BPFTRACE, BCC].map(waitSide);

export const runqlat: Benchmark = {
	tool: 'runqlat',
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
		{ workload: PIPE, sides: SLOW, figures: slowFigures(toUntraced(SLOW), toPeers(SLOW)) },
		{
			workload: 'start-up, to the first line',
			sides: START,
			figures: [startFigure(START)],
		},
		{
			workload: `while it waits, over ${WAIT_S} s`,
			rounds: 1,
			sides: WAIT,
			figures: [
				{ key: 'cpu_percent', name: 'CPU', unit: '% of one', digits: 3 },
				{ key: 'resident_mb', name: 'resident memory', unit: 'MB' },
			],
		},
	],
	guarded: [startUp(OURS), cost(OURS), cost(GROUPED), cost(SPLIT), slowDown(OURS)],
};
