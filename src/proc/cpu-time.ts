/** What all CPUs of the machine did since it was started. Source: man 5 proc_stat. */
import { textOf } from '../text-of.js';

export interface CpuTime {
	/** Of all CPUs together, whatever they did. */
	readonly all_ns: number;
	/** Without work, or until a disk has answered. */
	readonly idle_ns: number;
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
	const times_ns = line
		.split(' ')
		.slice(0, 8)
		.map((ticks) => (Number(ticks) || 0) * TICK_NS);
	const ns = (...at: readonly number[]) => at.reduce((sum, each) => sum + (times_ns[each] ?? 0), 0);
	return {
		all_ns: ns(...times_ns.keys()),
		idle_ns: ns(3, 4),
		busy_ns: ns(0, 1, 2),
		stolen_ns: ns(7),
	};
}

/** From then to now. */
export function cpuTimeSince(before: CpuTime, now: CpuTime): CpuTime {
	return {
		all_ns: now.all_ns - before.all_ns,
		idle_ns: now.idle_ns - before.idle_ns,
		busy_ns: now.busy_ns - before.busy_ns,
		stolen_ns: now.stolen_ns - before.stolen_ns,
	};
}

/** Of all CPUs, from 0 to 1: for how much of the time they were not idle; undefined where that is not known. */
export function busyShare({ all_ns, idle_ns }: CpuTime): number | undefined {
	return all_ns > 0 ? Math.min(1, Math.max(0, 1 - idle_ns / all_ns)) : undefined;
}
