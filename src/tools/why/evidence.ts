/** What `why` knows of a window of time before it says anything of it. Pure values: no I/O, no kernel. */
import type { Histogram } from '../../aggregate/histogram.js';
import type { Key } from '../../aggregate/row-key.js';
import type { StackRow } from '../../aggregate/stack-rows.js';
import type { Machine } from './machine.js';

/** A thread within the window. */
export interface ThreadTime {
	readonly pid: number;
	readonly tid: number;
	readonly comm: string;
	/** From when it was there, or the window began, to when it ended, or the window did. */
	readonly life_ns: number;
	readonly run_ns: number;
}

/** Why a thread that could run did not. */
export type RunnableKind = 'run queue' | 'preempted' | 'CPU quota' | 'CPU wake-up';

/** Waits of one thread for a CPU. */
export interface CpuWaits {
	readonly tid: number;
	readonly pid: number;
	readonly comm: string;
	readonly kind: RunnableKind;
	readonly value_ns: number;
	readonly count: number;
	readonly variance: number;
	readonly durations: Histogram;
}

/** Blocked time of one thread: where, for what, who ended it, and what that one did. */
export interface BlockedTime {
	/** Its frames, objects and wakers; its value is in ns. */
	readonly row: StackRow;
	/** Of all waits that it is a part of; several rows may be parts of the same waits, and share them. */
	readonly durations: readonly Histogram[];
	/** It went on as the window ended. */
	readonly open: boolean;
}

export interface Evidence {
	/** Whether a process is there still. */
	readonly isThere: (pid: number) => boolean;
	/** Who had the file lock that a process waited for, by the number of that process. */
	readonly lockHolders: ReadonlyMap<number, { readonly pid: number; readonly comm: string }>;
	readonly machine: Machine;
	/** How the threads were chosen, as words of a command: "-p 1234"; '': all of the machine. */
	readonly target: string;
	readonly window_ns: number;
	readonly threads: readonly ThreadTime[];
	readonly blocked: readonly BlockedTime[];
	readonly forCpu: readonly CpuWaits[];
	/** Of threads that ran: a count of one is a sample. */
	readonly samples: readonly StackRow[];
}

/** Whether a thread is one of these, by its process and number. */
export function isAmong(threads: readonly ThreadTime[]): (key: Key) => boolean {
	const traced = new Set(threads.map(({ pid, tid }) => `${pid} ${tid}`));
	return ({ pid, tid }) => traced.has(`${pid} ${tid}`);
}
