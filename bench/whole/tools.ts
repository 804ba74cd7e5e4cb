/** tstrace and its peers, for one process: how each is run, and read. */
import type { Command } from '../shared/children.js';
import { bpftrace, libbpfTool, newestLibbpfTool, type Peer, perf } from '../shared/peers.js';
import { TSTRACE } from '../shared/tracer.js';
import type { PrintedStack } from './stacks.js';
import { ofBpftrace, ofMemleak, ofOffcputime, ofPerf, ofTstrace } from './stacks.js';

export const SECONDS = Number(process.env.SECONDS || 5);

/** Of perf's own choice, and the most that it takes. */
const DWARF_BYTES = [8192, 65_528];

/** What is counted, and by whom. */
export interface Tool {
	/** Short, for files. */
	readonly key: string;
	/** Of its column. */
	readonly title: string;
	readonly version?: string;
	readonly missing?: string;
	/** It traces the C library's heap. */
	readonly heap?: true;
	/** What it writes goes to `file` or to standard output. */
	command(pid: number, file: string): Command;
	report?(file: string): Command;
	read(text: string): PrintedStack[] | { stacks: PrintedStack[]; cut_share: number };
}

function ofPeer({ version, missing }: Peer): Pick<Tool, 'version' | 'missing'> {
	return missing === undefined ? { version: version ?? 'unknown' } : { missing };
}

/** With a row for each thread. */
function tstrace(name: string, title: string, duration: Command): Tool {
	return {
		...{ key: `tstrace-${name}`, title, version: 'this one', read: ofTstrace },
		command: (pid) => [TSTRACE, name, '-L', '--json', '-p', `${pid}`, ...duration],
	};
}

/** By the user stack as the thread leaves its CPU: the way without kprobes, which not all kernels have. */
const OFF_CPU = `tracepoint:sched:sched_switch {
	$next = args->next_pid;
	if (@from[$next]) { @[@stack[$next], $next] = sum(nsecs - @from[$next]); delete(@from[$next]); }
	if (pid == PID) { @from[tid] = nsecs; @stack[tid] = ustack(127); }
} END { clear(@from); clear(@stack); }`;
const ON_CPU = 'profile:hz:99 /pid == PID/ { @[ustack(127), tid] = count(); }';

function bpftraceTool(key: string, script: string): Tool {
	const end = `interval:s:${SECONDS} { exit(); }`;
	const text = (pid: number) => `${script.replaceAll('PID', `${pid}`)} ${end}`;
	return {
		...{ key: `bpftrace-${key}`, title: 'bpftrace', read: ofBpftrace },
		...ofPeer(bpftrace()),
		command: (pid) => ['bpftrace', '-f', 'json', '-e', text(pid)],
	};
}

function perfTool(key: string, title: string, how: string): Tool {
	return {
		...{ key: `perf-${key}`, title, read: ofPerf },
		...ofPeer(perf()),
		command: (pid, file) => [
			...['perf', 'record', '-q', '-F', '99', '--call-graph', how, '-p', `${pid}`, '-o', file],
			...['--', 'sleep', `${SECONDS}`],
		],
		// Without the files' inlined functions, which take addr2line minutes.
		report: (file) => ['perf', 'script', '-i', file, '--no-inline', '-F', 'tid,ip,sym'],
	};
}

const newest = newestLibbpfTool('memleak');

/** Those of a run work at the same time. */
export const RUNS: readonly (readonly Tool[])[] = [
	[
		tstrace('offcputime', 'off-CPU time: tstrace', [`${SECONDS}`]),
		{
			...{ key: 'libbpf-offcputime', title: 'libbpf-tools', read: ofOffcputime },
			...ofPeer(libbpfTool('offcputime')),
			command: (pid) => ['/usr/sbin/offcputime', '-p', `${pid}`, `${SECONDS}`],
		},
		bpftraceTool('offcpu', OFF_CPU),
	],
	[
		tstrace('profile', 'CPU samples: tstrace', [`${SECONDS}`]),
		bpftraceTool('profile', ON_CPU),
		perfTool('fp', 'perf, fp', 'fp'),
		...DWARF_BYTES.map((bytes) =>
			perfTool(`dwarf-${bytes}`, `perf, dwarf ${bytes}`, `dwarf,${bytes}`),
		),
	],
	[
		{ ...tstrace('memleak', 'memory: tstrace', [`${SECONDS}`, '1']), heap: true },
		{
			...{ key: 'libbpf-memleak', title: 'libbpf-tools', heap: true, read: ofMemleak },
			...ofPeer(newest),
			command: (pid) => [...newest.command, '-p', `${pid}`, '-T', '1000', `${SECONDS}`, '1'],
		},
	],
];
