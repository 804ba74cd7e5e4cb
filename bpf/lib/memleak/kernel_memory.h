/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The kernel's own allocations, by the tracepoints of its allocators. Sources:
 * include/trace/events/ kmem.h and percpu.h; the order of their arguments changed in 5.19 and 6.1,
 * see user space's src/tools/memleak/kernel-memory.ts.
 */
#ifndef TSTRACE_MEMLEAK_KERNEL_MEMORY_H
#define TSTRACE_MEMLEAK_KERNEL_MEMORY_H

#include "../filter.h"
#include "../kernel.h"
#include "../stacks/walk.h"
#include "allocations.h"

/* Which argument of kmalloc and kmem_cache_alloc is the size in bytes; 0: the cache knows it. */
const volatile u32 kmalloc_size_at = 3;
const volatile u32 cache_size_at = 3;
/* percpu_alloc_percpu: 5.19 put the caller in front. */
const volatile bool percpu_has_caller = false;
const volatile u32 possible_cpus = 1;

/* Volatile: the verifier takes arguments only at constant places, which clang would calculate. */
#define ARGUMENT(ctx, index) (((volatile u64 *)(ctx))[index])

static __always_inline void kernel_allocated(void *ctx, enum allocation_kind kind, u64 address,
					     u64 size)
{
	struct allocation_key key = {.address = address, .kind = kind};
	struct task_struct *task = current_task();
	struct stack_key owner = {.comm = "kernel"};
	struct weight weight;
	struct scratch *here;

	if (!address || (filter_is_set() && !filter_has(task)) || !size_wanted(size, &weight))
		return;
	here = take_scratch();
	if (!here) {
		count_loss(LOSS_ALLOCATIONS_NESTED);
		return;
	}
	owner.kernel = current_kernel_stack(ctx, here);
	add_allocation(here, &owner, &key, size, &weight);
	give_scratch(here);
}

static __always_inline void kernel_freed(enum allocation_kind kind, u64 address)
{
	struct allocation_key key = {.address = address, .kind = kind};

	if (address)
		free_allocation(&key);
}

static __always_inline u64 slab_size(void *ctx, u32 size_at)
{
	/* All kernels have both. */
	u64 third = ARGUMENT(ctx, 3), fourth = ARGUMENT(ctx, 4);

	return size_at == 3 ? third : fourth;
}

SEC("tp_btf/kmalloc")
int memleak_kmalloc(void *ctx)
{
	kernel_allocated(ctx, ALLOCATION_SLAB, ARGUMENT(ctx, 1), slab_size(ctx, kmalloc_size_at));
	return 0;
}

SEC("tp_btf/kmalloc_node")
int memleak_kmalloc_node(void *ctx)
{
	kernel_allocated(ctx, ALLOCATION_SLAB, ARGUMENT(ctx, 1), slab_size(ctx, kmalloc_size_at));
	return 0;
}

static __always_inline u64 cache_size(void *ctx)
{
	struct kmem_cache *cache;

	if (cache_size_at)
		return slab_size(ctx, cache_size_at);
	cache = (void *)ARGUMENT(ctx, 2);
	return BPF_CORE_READ(cache, size);
}

SEC("tp_btf/kmem_cache_alloc")
int memleak_cache_alloc(void *ctx)
{
	kernel_allocated(ctx, ALLOCATION_SLAB, ARGUMENT(ctx, 1), cache_size(ctx));
	return 0;
}

SEC("tp_btf/kmem_cache_alloc_node")
int memleak_cache_alloc_node(void *ctx)
{
	kernel_allocated(ctx, ALLOCATION_SLAB, ARGUMENT(ctx, 1), cache_size(ctx));
	return 0;
}

SEC("tp_btf/kfree")
int memleak_kfree(void *ctx)
{
	kernel_freed(ALLOCATION_SLAB, ARGUMENT(ctx, 1));
	return 0;
}

SEC("tp_btf/kmem_cache_free")
int memleak_cache_free(void *ctx)
{
	kernel_freed(ALLOCATION_SLAB, ARGUMENT(ctx, 1));
	return 0;
}

/* A page is known by its descriptor. */
SEC("tp_btf/mm_page_alloc")
int memleak_page_alloc(void *ctx)
{
	u32 order = ARGUMENT(ctx, 1);

	kernel_allocated(ctx, ALLOCATION_PAGES, ARGUMENT(ctx, 0), page_bytes << (order & 31));
	return 0;
}

SEC("tp_btf/mm_page_free")
int memleak_page_free(void *ctx)
{
	kernel_freed(ALLOCATION_PAGES, ARGUMENT(ctx, 0));
	return 0;
}

SEC("tp_btf/percpu_alloc_percpu")
int memleak_percpu_alloc(void *ctx)
{
	u64 size, address;

	/* With different barriers, so that clang does not make one load of two. */
	if (percpu_has_caller) {
		size = ARGUMENT(ctx, 3);
		address = ARGUMENT(ctx, 7);
		barrier_var(size);
	} else {
		size = ARGUMENT(ctx, 2);
		address = ARGUMENT(ctx, 6);
		barrier_var(address);
	}
	kernel_allocated(ctx, ALLOCATION_PERCPU, address, size * possible_cpus);
	return 0;
}

SEC("tp_btf/percpu_free_percpu")
int memleak_percpu_free(void *ctx)
{
	kernel_freed(ALLOCATION_PERCPU, ARGUMENT(ctx, 2));
	return 0;
}

#endif
