/** One perf event: opened, switched, closed. Source: man 2 perf_event_open. */
import { closeSync, readSync } from 'node:fs';
import { TstraceError } from '../errors.js';
import { uapi } from '../generated/uapi.js';
import { failure, libc } from '../loader/ffi.js';
import { textOf } from '../text-of.js';
import { encodeAttributes, type PerfEventAttributes } from './attributes.js';
import type { Count } from './count.js';
import { eventName } from './names.js';

/** arch/x86/entry/syscalls/syscall_64.tbl; scripts/syscall.tbl for arm64. */
const SYSCALL_NUMBER = process.arch === 'arm64' ? 241 : 298;

/** Where an event is opened. */
export interface Target {
	/** A thread; 0: the one that calls; -1: all, on `cpu`. */
	readonly pid: number;
	/** -1: wherever the thread runs. */
	readonly cpu: number;
	/** PERF_FLAG_*; close-on-exec is always set. */
	readonly flags?: number;
	/** The first event of a group, which counts only while all of it does. */
	readonly leader?: PerfEvent | undefined;
}

/** An event could not be opened; `errno` is its name: "EACCES". */
export class PerfOpenError extends TstraceError {
	constructor(
		message: string,
		readonly errno: string,
	) {
		super(message, `perf_event_open: ${errno}`);
	}
}

/** Why an event cannot be opened: its errno, and in words. */
export type Refusal = Pick<PerfOpenError, 'errno' | 'message'>;

/** An open event; it holds a file descriptor until it is closed. */
export class PerfEvent {
	#fd: number;

	constructor(fd: number) {
		this.#fd = fd;
	}

	/** -1 once it is closed. */
	get fd(): number {
		return this.#fd;
	}

	/** Counts from now on, in threads and children that inherited it too. */
	enable(): void {
		this.#ioctl('IOC_ENABLE');
	}

	/** Runs a program of type BPF_PROG_TYPE_PERF_EVENT at each overflow. */
	setBpf(programFd: number): void {
		this.#ioctl('IOC_SET_BPF', programFd);
	}

	/** Writes what it records to the ring of another event on the same CPU. */
	setOutput(other: PerfEvent): void {
		this.#ioctl('IOC_SET_OUTPUT', other.fd);
	}

	/** How many of its records found no room, in all. For events with `countLost` only. */
	lost(): number {
		const values = new BigUint64Array(2); // the count, the lost
		readSync(this.#fd, values);
		return Number(values[1]);
	}

	/** What it has counted, with all that inherited it. For events with `readTimes` only. */
	count(): Count {
		const values = new BigUint64Array(3);
		readSync(this.#fd, values);
		const [value = 0n, enabled_ns = 0n, running_ns = 0n] = values;
		return { value, enabled_ns, running_ns };
	}

	/** Twice is once. */
	close(): void {
		const fd = this.#fd;
		this.#fd = -1;
		if (fd >= 0) closeSync(fd);
	}

	#ioctl(name: Extract<keyof typeof uapi, `IOC_${string}`>, argument = 0): void {
		if (libc().ioctl(this.#fd, uapi[name], argument) >= 0) return;
		const errno = failure();
		throw new TstraceError(`cannot set up a perf event (${name}): ${errno}`, errno);
	}
}

/**
 * Opens an event on a thread or a CPU. Throws PerfOpenError, which says what to do: EACCES and
 * EPERM (not allowed), ENOENT and EOPNOTSUPP (not on this machine), EMFILE, ESRCH (no such
 * process), ENODEV (CPU offline), EINVAL.
 */
export function openPerfEvent(attributes: PerfEventAttributes, target: Target): PerfEvent {
	const { pid, cpu, leader } = target;
	const bytes = encodeAttributes(attributes);
	const group = leader?.fd ?? -1;
	const flags = (target.flags ?? 0) | uapi.FLAG_CLOEXEC;
	const fd = libc().perf_event_open(SYSCALL_NUMBER, bytes, pid, cpu, group, flags);
	if (fd >= 0) return new PerfEvent(fd);
	const errno = failure();
	throw new PerfOpenError(why(errno, attributes, target), errno);
}

function why(errno: string, attributes: PerfEventAttributes, target: Target): string {
	const { pid, cpu } = target;
	const event = eventName(attributes);
	switch (errno) {
		case 'EACCES':
		case 'EPERM':
			return notAllowed(attributes, target);
		case 'ENOENT':
		case 'EOPNOTSUPP':
		case 'ENXIO':
			return (
				`this machine cannot count ${event}: it has no such hardware event (virtual machines ` +
				'often have none); use cpu-clock, or a machine with hardware counters'
			);
		case 'EMFILE':
			return (
				'too many open files: each thread needs a perf event on each CPU; allow more ' +
				'(ulimit -n), or choose fewer processes'
			);
		case 'ENFILE':
			return 'too many open files on this machine: raise /proc/sys/fs/file-max';
		case 'ESRCH':
			return `process or thread ${pid} has ended`;
		case 'ENODEV':
			return `CPU ${cpu} is offline: choose CPUs that are online`;
		case 'EBUSY':
			return `${event}: a watchdog or another profiler uses the counters; end it first`;
		case 'EOVERFLOW':
			return (
				`stacks of ${attributes.maxStack} frames are too deep: the limit is ` +
				`${setting('perf_event_max_stack')}; sysctl kernel.perf_event_max_stack=` +
				`${attributes.maxStack} raises it`
			);
		case 'EINVAL':
			return invalid(event, attributes);
		default:
			return `cannot open the perf event ${event}: ${errno}`;
	}
}

function invalid(event: string, { frequency_hz }: PerfEventAttributes): string {
	const maximum_hz = setting('perf_event_max_sample_rate');
	if (frequency_hz !== undefined && frequency_hz > maximum_hz) {
		return (
			`cannot sample ${frequency_hz} times a second: the limit is ${maximum_hz} ` +
			`(kernel.perf_event_max_sample_rate); use ${maximum_hz} or less`
		);
	}
	return `this kernel refuses the perf event ${event} with these options (EINVAL)`;
}

/** The remedy depends on what was asked for: Documentation/admin-guide/perf-security.rst. */
function notAllowed({ flags = [] }: PerfEventAttributes, target: Target): string {
	const paranoid = setting('perf_event_paranoid');
	const { pid } = target;
	// Of a cgroup too, what is counted is all that runs on a CPU, of whomever.
	const isOfCpu = pid === -1 || ((target.flags ?? 0) & uapi.FLAG_PID_CGROUP) !== 0;
	const needed = isOfCpu ? 0 : flags.includes('exclude_kernel') ? 2 : 1;
	const what = {
		0: 'observe the whole machine',
		1: 'observe the kernel',
		2: `observe process ${pid}`,
	}[needed];
	const fix =
		paranoid > needed
			? `kernel.perf_event_paranoid is ${paranoid}: run tstrace as root, give it CAP_PERFMON, or ` +
				`allow this to all users: sysctl kernel.perf_event_paranoid=${needed}`
			: `kernel.perf_event_paranoid is ${paranoid}, which allows this; so the process belongs to another ` +
				'user, or a container forbids it: run tstrace as root, or give it CAP_PERFMON';
	return `not allowed to ${what}: ${fix}`;
}

/** One of /proc/sys/kernel; NaN where the kernel has none. */
function setting(name: string): number {
	return Number(textOf(`/proc/sys/kernel/${name}`));
}
