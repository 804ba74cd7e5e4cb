/** What the kernel has of what programs are attached to and read. */
import { closeSync, statSync } from 'node:fs';
import { arch, release } from 'node:os';
import { schedInfoMissing } from '../bpf/scheduling/run-queue.js';
import { taskStorageMissing } from '../bpf/scheduling/task-storage.js';
import { tracepoints } from '../generated/tracepoints.js';
import { failure, libbpf } from '../loader/ffi.js';
import { BTF_PATH, BTF_SINCE, kernelHasTracepoint, versionOf } from '../loader/kernel.js';
import { RING_BUFFER_SINCE, ringBufferMissing } from '../loader/realtime.js';
import { quietCpus } from '../perf/cpus.js';
import { attempt, type Check, missing, NEWER_KERNEL, ok, warn } from './check.js';

/** Not on every kernel, and not missed there: tools say themselves what they do without. */
const OPTIONAL: readonly (typeof tracepoints)[number][] = [
	'sched_exit_tp',
	'kmalloc_node',
	'kmem_cache_alloc_node',
];
/** All that any tool attaches to by BTF. */
const TRACEPOINTS = tracepoints.filter((name) => !OPTIONAL.includes(name));

export function kernel(): Check[] {
	const lacking = () => TRACEPOINTS.filter((name) => !kernelHasTracepoint(name));
	return [
		judgeRelease(release(), arch()),
		attempt('BTF', () => judgeBtf(statSync(BTF_PATH, { throwIfNoEntry: false })?.size)),
		attempt('tracepoints', () => judgeTracepoints(lacking())),
		attempt('sched_info', () => judgeSchedInfo(schedInfoMissing())),
		attempt('task storage', () => judgeTaskStorage(taskStorageMissing())),
		attempt('ring buffer', () => judgeRingBuffer(ringBufferMissing())),
		attempt('BPF statistics', () => judgeStatistics(quietCpus())),
	];
}

export function judgeRelease(version: string, machine: string): Check {
	const found = `Linux ${version} ${machine}`;
	const [major, minor] = versionOf(version);
	if (major > 5 || (major === 5 && minor >= 10)) return ok('kernel', found);
	return warn(
		'kernel',
		found,
		'tstrace is tested on Linux 5.10 and newer only',
		'Linux 5.10 or newer',
	);
}

export function judgeBtf(bytes: number | undefined): Check {
	if (bytes !== undefined) return ok('BTF', `${BTF_PATH}, ${(bytes / 1e6).toFixed(1)} MB`);
	return missing(
		'BTF',
		`no ${BTF_PATH}`,
		'tstrace cannot fit its BPF programs to this kernel: no tool runs',
		`a kernel with CONFIG_DEBUG_INFO_BTF=y: ${BTF_SINCE} or newer`,
	);
}

export function judgeTracepoints(lacking: readonly string[]): Check {
	if (lacking.length === 0) return ok('tracepoints', `all ${TRACEPOINTS.length} are in BTF`);
	return missing(
		'tracepoints',
		`no ${lacking.join(', ')}`,
		'tools that attach to them cannot run, or see less',
		lacking.every((name) => name.startsWith('sys_'))
			? 'a kernel with CONFIG_FTRACE_SYSCALLS=y'
			: 'a kernel with CONFIG_TRACEPOINTS=y whose BTF has them',
	);
}

/** `lacks`: what is missing for them. */
export function judgeSchedInfo(lacks: string | undefined): Check {
	if (lacks === undefined) return ok('sched_info', 'the kernel itself measures run queue latency');
	return missing(
		'sched_info',
		lacks,
		'run queue latency takes a time stamp at each wake-up, which costs more; some tools cannot run',
		'a kernel with CONFIG_SCHEDSTATS=y and CONFIG_FAIR_GROUP_SCHED=y',
	);
}

export function judgeTaskStorage(lacks: string | undefined): Check {
	if (lacks === undefined)
		return ok('task storage', 'bpf_task_storage: BPF programs can keep data with each thread');
	return warn(
		'task storage',
		lacks,
		'BPF programs keep data of threads in a hash table, which is slower and can fill up',
		`Linux 6.4: ${NEWER_KERNEL}`,
	);
}

/** `forbidden`: why programs of the scheduler's tracepoints may not write to one. */
export function judgeRingBuffer(forbidden: string | undefined): Check {
	if (forbidden === undefined)
		return ok('ring buffer', 'safe to use in any program: its lock never sleeps');
	return missing(
		'ring buffer',
		forbidden,
		'what shows single events could freeze the machine, and refuses to run; stacks: by frame pointers',
		`Linux ${RING_BUFFER_SINCE}: ${NEWER_KERNEL}`,
	);
}

/** Turns them on and off again; returns why it could not. */
function tryStatistics(): string | undefined {
	const fd = libbpf().bpf_enable_stats(0);
	if (fd < 0) return failure(fd);
	closeSync(fd);
	return undefined;
}

/** `quiet`: CPUs that are isolated; `attempt`: turns them on and off, and returns why it could not. */
export function judgeStatistics(quiet: readonly number[], attempt = tryStatistics): Check {
	const costs = 'results do not say what tracing cost';
	if (quiet.length > 0)
		return warn(
			'BPF statistics',
			`not used: turning them on interrupts all CPUs, and some are isolated (${quiet.join(',')})`,
			costs,
			'--max-overhead PCT measures the cost in any case',
		);
	const errno = attempt();
	if (errno === undefined) return ok('BPF statistics', 'tstrace can turn them on');
	return errno === 'EPERM'
		? warn('BPF statistics', 'not allowed: no CAP_SYS_ADMIN', costs, 'sudo tstrace …')
		: warn('BPF statistics', errno, costs, `Linux 5.8: ${NEWER_KERNEL}`);
}
