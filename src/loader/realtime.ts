/**
 * What a PREEMPT_RT kernel forbids programs at tracepoints, probes and samples. There spinlock_t can sleep, and
 * these programs must not: a thread that sleeps while it holds the run queue's lock, a raw_spinlock_t, freezes
 * the machine.
 */
import { version } from 'node:os';
import { TstraceError } from '../errors.js';
import { textOf } from '../text-of.js';
import type { Btf } from './btf.js';
import { kernelBtf } from './kernel.js';

/** What tells a PREEMPT_RT kernel. */
export interface KernelSigns {
	/** `uname -v`: "#1 SMP PREEMPT_RT Debian 6.1.4-1". */
	readonly version: string;
	/** /sys/kernel/realtime; undefined: there is none. */
	readonly realtime: string | undefined;
	readonly btf: Btf;
}

/** The first kernels whose ring buffer has a lock that never sleeps. */
export const RING_BUFFER_SINCE = "6.12, 6.6.83, or Debian's 6.1.192";

/** Whether spinlock_t can sleep. One sign is enough: not every kernel shows every one. */
export function isRealtime({ version, realtime, btf }: KernelSigns): boolean {
	if (/\bPREEMPT[_ ]RT\b/.test(version) || realtime?.trim() === '1') return true;
	// include/linux/spinlock_types.h: an rt_mutex_base (an rt_mutex before 5.15) instead of a union with
	// a raw_spinlock in it.
	return btf.hasField('spinlock', 'lock') && !btf.hasField('spinlock', 'rlock');
}

/**
 * What keeps programs from reserving room in a ring buffer; undefined: nothing. The ring's own lock was a spinlock_t, then (8b62645b09f8) a raw_spinlock_t, and an rqspinlock_t since 6.15.
 */
export function ringBufferForbidden(signs: KernelSigns): string | undefined {
	if (!isRealtime(signs)) return undefined;
	const lock = signs.btf.fieldType('bpf_ringbuf', 'spinlock');
	if (lock === undefined)
		return "this kernel is PREEMPT_RT, and its BTF does not show the ring buffer's lock";
	return lock === 'spinlock'
		? "this kernel is PREEMPT_RT, and its ring buffer's lock can sleep"
		: undefined;
}

/** Of the running kernel. */
export function kernelSigns(): KernelSigns {
	// Only PREEMPT_RT kernels have the file, and not all of them.
	return { version: version(), realtime: textOf('/sys/kernel/realtime'), btf: kernelBtf() };
}

let missing: { readonly why: string | undefined } | undefined;

/** What keeps programs from reserving room in a ring buffer on the running kernel; undefined: nothing. */
export function ringBufferMissing(): string | undefined {
	missing ??= { why: ringBufferForbidden(kernelSigns()) };
	return missing.why;
}

/** Throws TstraceError where programs that write to a ring buffer could freeze the machine. */
export function requireRingBuffer(what: string, instead: string): void {
	const why = ringBufferMissing();
	if (why === undefined) return;
	throw new TstraceError(
		`${what} could freeze the machine: ${why}; use ${instead}, or a newer kernel (${RING_BUFFER_SINCE})`,
	);
}
