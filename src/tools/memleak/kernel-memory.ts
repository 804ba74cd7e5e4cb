/** The kernel's own allocators: which of bpf/lib/memleak/kernel_memory.h's programs suit this kernel, and how. */
import type { memleak as layout } from '../../generated/memleak.js';
import { kernelHasTracepoint, tracepointArguments } from '../../loader/kernel.js';
import { possibleCpus } from '../../loader/map.js';

type Program = (typeof layout)['programs'][number];

/** Tracepoints and their programs; two of them went with 6.1. */
const PROGRAMS: Readonly<Record<string, Program>> = {
	kmalloc: 'memleak_kmalloc',
	kmalloc_node: 'memleak_kmalloc_node',
	kmem_cache_alloc: 'memleak_cache_alloc',
	kmem_cache_alloc_node: 'memleak_cache_alloc_node',
	kfree: 'memleak_kfree',
	kmem_cache_free: 'memleak_cache_free',
	mm_page_alloc: 'memleak_page_alloc',
	mm_page_free: 'memleak_page_free',
	percpu_alloc_percpu: 'memleak_percpu_alloc',
	percpu_free_percpu: 'memleak_percpu_free',
};

/** The programs for the tracepoints that there are: frees first, so that none is missed. */
export function kernelMemoryPrograms(): Program[] {
	const names = Object.keys(PROGRAMS).filter((name) => kernelHasTracepoint(name));
	const frees = (name: string) => (/free/.test(name) ? 0 : 1);
	return names.sort((a, b) => frees(a) - frees(b)).map((name) => PROGRAMS[name] as Program);
}

/**
 * Where the tracepoints have their sizes. include/trace/events/kmem.h: until 5.18 (call_site, ptr,
 * bytes_req, bytes_alloc, gfp_flags), until 6.0 with the cache after ptr; since 6.1 kmem_cache_alloc
 * has (call_site, ptr, cache, gfp_flags, node), and kmalloc a node at its end.
 */
export function kernelMemoryConstants() {
	const cacheArguments = tracepointArguments('kmem_cache_alloc');
	const withCache = cacheArguments === 6;
	const since_6_1 = !withCache && tracepointArguments('kmalloc') === 6;
	return {
		kmalloc_size_at: withCache ? 4 : 3,
		cache_size_at: withCache ? 4 : since_6_1 ? 0 : 3,
		percpu_has_caller: tracepointArguments('percpu_alloc_percpu') > 7,
		possible_cpus: possibleCpus(),
	};
}
