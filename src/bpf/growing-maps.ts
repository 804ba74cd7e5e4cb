/** Whether BPF programs can add elements to a map that has no memory for them yet. */
import { isRealtime, type KernelSigns, kernelSigns } from '../loader/realtime.js';

/**
 * Of programs that run in threads, with interrupts on. Since 6.1 (7c8199e24fa0, fba1a1c6c912) elements come from a list
 * of each CPU, which an interrupt fills up at once; under PREEMPT_RT a thread does, which is too late. Before, they
 * came from kmalloc.
 */
export function mapsCanGrow(kernel: KernelSigns = kernelSigns()): boolean {
	return kernel.btf.hasField('bpf_mem_alloc', 'caches') && !isRealtime(kernel);
}
