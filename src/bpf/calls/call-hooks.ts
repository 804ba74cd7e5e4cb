/** Which kind of tracepoint tells of system calls: raw ones, or perf's. */
import { release } from 'node:os';
import { TstraceError } from '../../errors.js';
import { kernelHasHelper, versionOf } from '../../loader/kernel.js';
import type { PerfEvent } from '../../perf/open.js';
import { openTracepoint } from '../../perf/tracepoint.js';
import { type Chosen, chooseWay, type Way } from '../fallback.js';

export type CallHook = 'raw' | 'perf';

/**
 * What the kernel takes at a perf tracepoint besides the program: raw_syscalls' record, made for nobody. By
 * `perf bench sched pipe` with either hook.
 */
export const PERF_HOOK_NS = 113;

const RAW: Way<CallHook> = { name: 'raw', missing: () => undefined };
const PERF: Way<CallHook> = { name: 'perf', missing: perfHookMissing };

/** Throws as chooseWay does. */
export function chooseCallHook(): Chosen<CallHook> {
	return rawCanBePreempted(release())
		? chooseWay([PERF, RAW], 'raw ones miss calls while a thread is preempted')
		: chooseWay([RAW, PERF], 'these cost least');
}

/**
 * Whether a thread can be preempted in a program at a raw tracepoint of system calls (include/trace/bpf_probe.h):
 * not on 6.18, but on 7.2; 7.0 is taken for the first, which costs time at the worst. Until it goes on the kernel
 * runs that program for nobody else on its CPU (kernel/trace/bpf_trace.c, __bpf_trace_run), so that their calls are
 * missed, a time slice's at once. perf's tracepoints keep preemption off (include/trace/perf.h) and cost more. They
 * miss calls while somebody who reads or writes a map by bpf(2) is preempted there (bpf_disable_instrumentation);
 * before 6.7 nobody counts these. Of all this the kernel's types say nothing, so that it goes by the version.
 */
export function rawCanBePreempted(kernel: string): boolean {
	return versionOf(kernel)[0] >= 7;
}

/** What is lacking for programs at perf's tracepoints. */
export function perfHookMissing(): string | undefined {
	// perf's tracepoints do not hand over the registers of a call.
	if (!kernelHasHelper('task_pt_regs'))
		return 'the kernel has no bpf_task_pt_regs (Linux 5.15 has it)';
	try {
		openTracepoint('raw_syscalls', 'sys_exit').close();
		return undefined;
	} catch (error) {
		if (error instanceof TstraceError) return error.message;
		throw error;
	}
}

/** Programs at perf's tracepoints of system calls, which the reader of a tool attaches itself. */
export class PerfCallHooks {
	readonly #events: PerfEvent[] = [];

	/** Attaches those that are wanted, each to the tracepoint of raw_syscalls that stands beside it. */
	attach<Name extends string>(
		object: { program(name: Name): { readonly wanted: boolean; readonly fd: number } },
		programs: ReadonlyArray<readonly [program: Name, tracepoint: 'sys_enter' | 'sys_exit']>,
	): void {
		for (const [name, tracepoint] of programs) {
			const program = object.program(name);
			if (!program.wanted) continue;
			const event = openTracepoint('raw_syscalls', tracepoint);
			this.#events.push(event);
			event.setBpf(program.fd);
		}
	}

	/** Attaches them no more; twice is once. */
	close(): void {
		// The last first: with it counting ends at once, and to close one takes some 50 ms.
		for (const event of this.#events.toReversed()) event.close();
	}
}
