/** syscount against libbpf-tools' syscount, bpftrace, perf trace and strace: docs/tools/syscount.md. */

import { type Benchmark, type Side, toPeers, toUntraced } from '../experiments/measure.js';
import {
	bare,
	bpfSide,
	type Contender,
	nodeSide,
	PIPE,
	pipe_us,
	slowFigures,
	slowSide,
	startFigure,
	startSide,
	unbuffered,
	untraced,
} from '../experiments/workloads.js';
import { cost, slowDown, startUp } from '../guard/figures.js';
import { bcc, bpftrace, libbpfTool, type Peer, perf, strace } from '../shared/peers.js';
import { PERF_BEGIN_MS } from '../shared/tracer.js';

/** A switch of this workload is a write and a read. */
const CALLS_PER_SWITCH = 2;
/** For those that need 20 times as long, and for what stops its command twice for each call. */
const FEW_OPERATIONS = 10_000;
const STRACED_OPERATIONS = 2000;
/** libbpf-tools prints each second if not told otherwise; printing is no part of it. */
const WHOLE_RUN = ['-d', '1000'];

const COUNT =
	'BEGIN { printf("ready\\n"); } tracepoint:raw_syscalls:sys_exit { @[args->id] = count(); }';
const COUNT_BY_PROCESS = COUNT.replace('args->id', 'pid, comm');
const TIME =
	'BEGIN { printf("ready\\n"); } tracepoint:raw_syscalls:sys_enter { @at[tid] = nsecs; } ' +
	'tracepoint:raw_syscalls:sys_exit /@at[tid]/ { @ns[args->id] = sum(nsecs - @at[tid]); ' +
	'@n[args->id] = count(); delete(@at[tid]); } END { clear(@at); }';

const theirs = libbpfTool('syscount');
const peer = bpftrace();
const bccPeer = bcc('syscount');
const contender = (name: string, { command, ...rest }: Peer, args: string[]): Contender => ({
	...rest,
	name,
	command: [...command, ...args],
});
const traced = (name: string, program: string): Contender => ({
	...contender(name, peer, ['-B', 'line', '-e', program]),
	ready: /ready/,
});

const OURS: Contender = { name: 'tstrace syscount', command: ['bin/tstrace', 'syscount'] };
const OURS_L: Contender = {
	name: 'tstrace syscount, times',
	command: [...OURS.command, '--latency'],
};
const OURS_P: Contender = { name: 'tstrace syscount -P', command: [...OURS.command, '-P'] };
/** By the hook that is taken since 7.0: src/bpf/calls/call-hooks.ts. */
const asOnLinux7 = (ours: Contender): Contender => ({
	name: `${ours.name}, as on Linux 7`,
	command: ['env', 'TSTRACE_FORCE=perf', ...ours.command],
	ready: /^Tracing /m,
});
const OURS_7 = asOnLinux7(OURS);
const OURS_L_7 = asOnLinux7(OURS_L);
const THEIRS = contender('libbpf-tools syscount', theirs, WHOLE_RUN);
const THEIRS_L = contender('libbpf-tools syscount -L', theirs, [...WHOLE_RUN, '-L']);
const THEIRS_P = contender('libbpf-tools syscount -P', theirs, [...WHOLE_RUN, '-P']);
const BPFTRACE_P = traced('bpftrace, counts by process', COUNT_BY_PROCESS);
const BPFTRACE = traced('bpftrace, counts', COUNT);
const BPFTRACE_L = traced('bpftrace, times', TIME);
const BCC = contender('bcc syscount', bccPeer, WHOLE_RUN);
const BCC_P = contender('bcc syscount -P', bccPeer, [...WHOLE_RUN, '-P']);
const BCC_L = contender('bcc syscount -L', bccPeer, [...WHOLE_RUN, '-L']);
const PERF: Contender = {
	...contender('perf trace -s', perf(), ['trace', '-a', '-s', '-o', '/dev/null']),
	begin_ms: PERF_BEGIN_MS,
	operations: FEW_OPERATIONS,
};

const STRACE_COMMAND = [...strace().command, '-f', '-c', '-o', '/dev/null'];
/** It has its command to trace; nothing else is slowed. */
const straced: Side = {
	...bare({ ...strace(), name: 'strace -c', command: STRACE_COMMAND }),
	run: async () => ({ us: await pipe_us(STRACED_OPERATIONS, STRACE_COMMAND) }),
};

const bpfSides = (contenders: readonly Contender[]) =>
	contenders.map((each) => bpfSide(each, CALLS_PER_SWITCH));

const COUNTING = bpfSides([OURS, OURS_7, THEIRS, BPFTRACE, BCC]);
const BY_PROCESS = bpfSides([OURS_P, THEIRS_P, BPFTRACE_P, BCC_P]);
const TIMING = bpfSides([OURS_L, OURS_L_7, THEIRS_L, BPFTRACE_L, BCC_L]);
const SLOW = [untraced(), ...[OURS, OURS_7, THEIRS, BPFTRACE, BCC, PERF].map(slowSide), straced];
const SLOW_L = [
	untraced(),
	...[OURS_L, OURS_L_7, THEIRS_L, BPFTRACE_L, BCC_L, PERF].map(slowSide),
	straced,
];
const START = [...[OURS, BPFTRACE, unbuffered(THEIRS), unbuffered(BCC)].map(startSide), nodeSide()];

const figure = { key: 'bpf_ns', unit: 'ns' };

export const syscount: Benchmark = {
	tool: 'syscount',
	experiments: [
		{
			workload: PIPE,
			sides: COUNTING,
			figures: [
				{
					...figure,
					name: 'BPF time per system call, counting',
					ratios: toPeers(COUNTING),
				},
			],
		},
		{
			workload: PIPE,
			sides: BY_PROCESS,
			figures: [
				{
					...figure,
					name: 'BPF time per system call, counting by process',
					ratios: toPeers(BY_PROCESS),
				},
			],
		},
		{
			workload: PIPE,
			sides: TIMING,
			figures: [
				{
					...figure,
					name: 'BPF time per system call, with times',
					ratios: toPeers(TIMING),
				},
			],
		},
		{
			workload: `${PIPE}, counting`,
			sides: SLOW,
			figures: slowFigures(toUntraced(SLOW), toPeers(SLOW)),
		},
		{
			workload: `${PIPE}, with times`,
			sides: SLOW_L,
			figures: slowFigures(toUntraced(SLOW_L), toPeers(SLOW_L)),
		},
		{
			workload: 'start-up, to the first line',
			sides: START,
			figures: [startFigure(START)],
		},
	],
	guarded: [
		startUp(OURS),
		...[OURS, OURS_P, OURS_L].map((each) => cost(each, 'system call', CALLS_PER_SWITCH)),
		slowDown(OURS),
		slowDown(OURS_L),
	],
};
