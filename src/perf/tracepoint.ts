/** perf's tracepoints, as hooks for BPF programs. */
import { existsSync, readFileSync } from 'node:fs';
import { TstraceError } from '../errors.js';
import { perf_type_id } from '../generated/uapi.js';
import { textOf } from '../text-of.js';
import { onlineCpus } from './cpus.js';
import { openPerfEvent, type PerfEvent } from './open.js';

/** Where tracefs is mounted; debugfs has it too. */
const TRACEFS = ['/sys/kernel/tracing', '/sys/kernel/debug/tracing'] as const;

export const MOUNT_TRACEFS = 'mount -t tracefs tracefs /sys/kernel/tracing';

/**
 * A tracepoint such as "raw_syscalls", "sys_exit", to give a program to (PerfEvent.setBpf). That runs on all
 * CPUs though the event is one CPU's and stays disabled, so that perf itself has nothing to do there
 * (include/trace/perf.h; kernel/events/core.c, perf_trace_run_bpf_submit). Throws TstraceError.
 */
export function openTracepoint(category: string, name: string): PerfEvent {
	const config = BigInt(tracepointId(category, name));
	const [cpu = 0] = onlineCpus();
	const attributes = {
		type: perf_type_id.PERF_TYPE_TRACEPOINT,
		config,
		flags: ['disabled'] as const,
	};
	return openPerfEvent(attributes, { pid: -1, cpu });
}

/** A file of tracefs; undefined: there is none, or it may not be read. */
export function tracefsText(path: string): string | undefined {
	for (const folder of TRACEFS) {
		const text = textOf(`${folder}/${path}`);
		if (text !== undefined) return text;
	}
	return undefined;
}

/**
 * The number by which perf_event_open knows a tracepoint. Throws TstraceError: tracefs is not mounted, or may not
 * be read, or has no such tracepoint.
 */
export function tracepointId(category: string, name: string): number {
	const id = inTracefs((folder) => readFileSync(`${folder}/events/${category}/${name}/id`, 'utf8'));
	if (id !== undefined) return Number(id);
	throw new TstraceError(`this kernel has no tracepoint ${category}:${name}`);
}

/** All tracepoints, as "sched:sched_switch". Throws TstraceError where tracefs may not be read. */
export function tracepointNames(): string[] {
	const names = inTracefs((folder) => readFileSync(`${folder}/available_events`, 'utf8'));
	return names?.trim().split('\n').sort() ?? [];
}

/** What `read` returns of the first folder that has it; undefined: tracefs is there, and does not have it. */
function inTracefs(read: (folder: string) => string): string | undefined {
	let why = `tracefs is not mounted: ${MOUNT_TRACEFS}`;
	for (const folder of TRACEFS) {
		try {
			return read(folder);
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			if (code === 'EACCES' || code === 'EPERM')
				why = `${folder} may not be read: run tstrace as root`;
			// In the other folder is the same, which need not be readable there.
			else if (existsSync(`${folder}/events`)) return undefined;
		}
	}
	throw new TstraceError(why);
}
