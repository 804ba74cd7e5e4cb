/** Whether the scheduler's BPF programs can keep data with each thread: task storage, which off_cpu.h uses. */
import { readFileSync } from 'node:fs';
import { isRealtime, type KernelSigns, kernelSigns } from '../../loader/realtime.js';

const MAP = 'bpf_local_storage_map';

/**
 * What is missing so that a program can make an entry while it holds a run queue's lock; undefined: nothing.
 * Where the kernel takes the memory for it from decides.
 */
export function taskStorageMissing(
	kernel: KernelSigns = kernelSigns(),
	cpuInfo: string = readFileSync('/proc/cpuinfo', 'utf8'),
): string | undefined {
	const { btf } = kernel;
	// Local storage for tracing programs came with this field (a10787e6d58c, 5.12).
	if (!btf.hasField('task_struct', 'bpf_storage'))
		return "the kernel's BTF has no task_struct.bpf_storage";
	// 6.4 (08a7ce384e33): memory of its own.
	if (btf.hasField(MAP, 'selem_ma')) return undefined;
	// Until then from kmalloc, which may wake a thread, and need the same lock. The field above went in
	// 6.19, when sched_exit_tp (6.14) had come.
	if (!btf.hasTypedef('btf_trace_sched_exit_tp')) return 'task storage needs kmalloc (before 6.4)';
	// 6.19 (f484f4a3e058): from kmalloc_nolock (mm/slub.c). At first, while the map had this field, that gave
	// nothing with preemption off under PREEMPT_RT.
	if (isRealtime(kernel) && btf.hasField(MAP, 'use_kmalloc_nolock'))
		return 'this kernel is PREEMPT_RT, and task storage gets no memory in the scheduler';
	return cpuHasWideExchange(cpuInfo)
		? undefined
		: 'this CPU has no compare-and-exchange of 16 bytes, which task storage needs since 6.19';
}

/** x86-64: all but the very first; arm64: since 8.1. Source: man 5 proc_cpuinfo. */
function cpuHasWideExchange(cpuInfo: string): boolean {
	return /^(flags|Features)\s*:.*\b(cx16|atomics)\b/m.test(cpuInfo);
}
