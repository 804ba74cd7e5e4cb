/** What perf events report besides counts. Source: include/uapi/linux/perf_event.h. */
import type { Address } from '../loader/signed-address.js';

/** CLOCK_MONOTONIC; process and thread numbers are those of this process's PID namespace. */
interface Stamped {
	readonly time_ns: number;
	readonly pid: number;
	readonly tid: number;
}

/** PERF_RECORD_MMAP2: something executable was mapped. */
export interface MmapRecord extends Stamped {
	readonly type: 'mmap';
	readonly start: Address;
	readonly end: Address;
	/** Where in the file `start` is. */
	readonly fileOffset: number;
	readonly major: number;
	readonly minor: number;
	readonly inode: number;
	/** As the process sees it: "/usr/lib/libc.so.6", "//anon", "[vdso]". */
	readonly path: string;
}

/** PERF_RECORD_COMM: a thread got a new name; `exec`: because it runs another program now. */
interface CommRecord extends Stamped {
	readonly type: 'comm';
	readonly comm: string;
	readonly exec: boolean;
}

/** PERF_RECORD_FORK: `pid` differs from `parentPid` for a process, not for a thread. */
interface ForkRecord extends Stamped {
	readonly type: 'fork';
	readonly parentPid: number;
}

/** PERF_RECORD_EXIT of a thread. */
interface ExitRecord extends Stamped {
	readonly type: 'exit';
}

export type SidebandRecord = MmapRecord | CommRecord | ForkRecord | ExitRecord;

/** PERF_RECORD_SAMPLE: where a thread was as the event overflowed. */
export interface SampleRecord extends Stamped {
	readonly type: 'sample';
	readonly cpu: number;
	/** Which event it is of: PERF_EVENT_IOC_ID tells each event's own. */
	readonly id: number;
	/** Events since the sample before, which this one stands for; ns for the clocks. */
	readonly period: number;
	/** Leaf first; empty if the thread was in user space or the kernel is left out. */
	readonly kernel: readonly Address[];
	/** Leaf first. */
	readonly user: readonly Address[];
}
