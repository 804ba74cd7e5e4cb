/** perf's tracepoints, as hooks for BPF programs. */
import { readFileSync } from 'node:fs';
import { perf_type_id } from '../generated/uapi.js';
import { TstraceError } from '../loader/errors.js';
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

function tracepointId(category: string, name: string): number {
	let why = `tracefs is not mounted: ${MOUNT_TRACEFS}`;
	for (const folder of TRACEFS) {
		try {
			return Number(readFileSync(`${folder}/events/${category}/${name}/id`, 'utf8'));
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			if (code === 'EACCES' || code === 'EPERM')
				why = `${folder} may not be read: run tstrace as root`;
		}
	}
	throw new TstraceError(why);
}
