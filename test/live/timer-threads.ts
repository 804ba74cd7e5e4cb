/** Threads of the kernel's that do what elsewhere interrupts of timers do. */
import { isRealtime, kernelSigns } from '../../src/loader/realtime.js';

/**
 * Real-time kernels let most timers expire in a thread: kernel/softirq.c, ktimers/N; before that came, in ksoftirqd/N.
 */
const isThere = isRealtime(kernelSigns());

export const isTimerThread = ({ comm }: { readonly comm?: unknown }): boolean =>
	isThere && /^(ktimers|ksoftirqd)\//.test(`${comm}`);
