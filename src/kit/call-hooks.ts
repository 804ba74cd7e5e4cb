/** Which kind of tracepoint tells of system calls: raw ones, or perf's. */
import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { kernelHasHelper, versionOf } from '../loader/kernel.js';
import { type Chosen, chooseWay, type Way } from './ways.js';

export type CallHook = 'raw' | 'perf';

/** Where tracefs is mounted, or debugfs with it, as libbpf looks for it. */
const TRACEFS = ['/sys/kernel/tracing', '/sys/kernel/debug/tracing'] as const;

const RAW: Way<CallHook> = { name: 'raw', missing: () => undefined };
const PERF: Way<CallHook> = { name: 'perf', missing: perfHookMissing };

/** Throws as chooseWay does. */
export function chooseCallHook(): Chosen<CallHook> {
	return rawCanBePreempted(release())
		? chooseWay([PERF, RAW], 'a thread that is preempted at a raw one hides the calls of others')
		: chooseWay([RAW, PERF], 'these cost least');
}

/**
 * Whether a thread can be preempted in a program at a raw tracepoint: since 7.0 (include/linux/tracepoint.h,
 * __DECLARE_TRACE). Until it goes on the kernel runs that program for nobody else on its CPU
 * (kernel/trace/bpf_trace.c, __bpf_trace_run), so that their calls are missed, a time slice's at once.
 * perf's tracepoints keep preemption off (include/trace/perf.h) and cost more. Of this the kernel's types say
 * nothing, so that it goes by the version.
 */
export function rawCanBePreempted(kernel: string): boolean {
	return versionOf(kernel)[0] >= 7;
}

/** What is lacking for programs at perf's tracepoints. */
export function perfHookMissing(): string | undefined {
	// perf's tracepoints do not hand over the registers of a call.
	if (!kernelHasHelper('task_pt_regs')) return 'the kernel has no bpf_task_pt_regs (5.15)';
	const found = TRACEFS.some((folder) => existsSync(`${folder}/events/raw_syscalls/sys_exit/id`));
	return found ? undefined : 'tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing';
}
