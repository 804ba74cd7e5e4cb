/** What all CPUs of the machine did since it was started. Source: man 5 proc_stat. */
import { textOf } from '../text-of.js';

export interface CpuTime {
	/** Programs and the kernel in their name, all CPUs together; without interrupts. */
	readonly busy_ns: number;
	/** The hypervisor ran something else while a CPU of this machine had work. */
	readonly stolen_ns: number;
}

/** USER_HZ: of this file on every architecture that tstrace runs on. */
const TICK_NS = 1e7;

/** Zeros where the kernel does not tell. */
export function cpuTime(): CpuTime {
	return cpuTimeIn(textOf('/proc/stat') ?? '');
}

export function cpuTimeIn(stat: string): CpuTime {
	const line = /^cpu +(.*)$/m.exec(stat)?.[1] ?? '';
	// user, nice, system, idle, iowait, irq, softirq, steal; the rest is in user already.
	const ticks = line.split(' ').map(Number);
	const ns = (at: number) => (ticks[at] || 0) * TICK_NS;
	return { busy_ns: ns(0) + ns(1) + ns(2), stolen_ns: ns(7) };
}
