/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What is allocated and not yet freed, and sums of it by stack.
 *
 * A site is a stack of somebody that allocates. Its sums only ever grow, what was allocated there
 * and what of it was freed, so that they can be read at any time; the difference is outstanding.
 */
#ifndef TSTRACE_MEMLEAK_ALLOCATIONS_H
#define TSTRACE_MEMLEAK_ALLOCATIONS_H

#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"
#include "../stacks/stacks.h"
#include "byte_sampling.h"

/* include/uapi/asm-generic/errno-base.h */
#define ENOMEM 12
#define EEXIST 17

/* An address can be one of several kinds at once: a mapping, and the first block in it. */
enum allocation_kind {
	ALLOCATION_HEAP,
	ALLOCATION_MAPPING,
	ALLOCATION_SLAB,
	ALLOCATION_PAGES,
	ALLOCATION_PERCPU,
	/* Of growth.h: nothing that is freed by its address. */
	GROWTH_FAULTS,
	GROWTH_BRK,
	GROWTH_MMAP,
};

struct allocation_key {
	u64 address;
	u32 tgid; /* 0: the kernel's own */
	u32 kind; /* enum allocation_kind */
};

_Static_assert(sizeof(struct allocation_key) == 16, "no padding: the key is hashed byte by byte");

struct allocation {
	u64 size; /* bytes that were asked for */
	struct weight weight;
	u64 site;
	u64 born_ns; /* CLOCK_MONOTONIC */
	u32 tid;     /* in the caller's PID namespace */
	u32 unused_padding;
};

struct site {
	struct stack_key owner;
	u32 kind; /* enum allocation_kind */
	u32 unused_padding;
	u64 first_ns; /* CLOCK_MONOTONIC */
	/* Bytes and counts as they are weighed, counts in 1/ONE. */
	u64 allocated_bytes;
	u64 allocated_count;
	u64 freed_bytes;
	u64 freed_count;
};

EXPORT_TYPE(enum allocation_kind, allocation_kind);
EXPORT_TYPE(struct allocation_key, allocation_key);
EXPORT_TYPE(struct allocation, allocation);
EXPORT_TYPE(struct site, site);

/* User space says how large a page is: on arm64 it is 64 KiB, too. */
const volatile u64 page_bytes = 4096;
const volatile u64 smallest_bytes = 0;
const volatile u64 largest_bytes = ~0ULL;

/* Whether all allocations are kept, so that a free of one that is not there says something. */
volatile bool sees_all;
/* Frees, while that is so, of what was never seen to be allocated. */
u64 unseen_frees;

/* User space sets the sizes before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct allocation_key);
	__type(value, struct allocation);
} allocations SEC(".maps");

/* By a hash of the owner; user space puts in 0, for those that have no room of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct site);
} sites SEC(".maps");

/* Whether an allocation of that size is to be kept, and what it counts as. */
static __always_inline bool size_wanted(u64 size, struct weight *weight)
{
	return size >= smallest_bytes && size <= largest_bytes && sample_by_bytes(size, weight);
}

static __always_inline u64 owner_hash(struct stack_key *owner, u32 kind)
{
	u64 *words = (u64 *)owner, hash = stack_seed ^ kind;

	for (u32 i = 0; i < sizeof(*owner) / sizeof(u64); i++)
		hash = hashed(hash, words[i]);
	return hash ? hash : 1;
}

/* A site that is there for certain: a new one with the stacks just walked, or the one for others.
 */
static __always_inline struct site *site_of(struct scratch *here, struct stack_key *owner, u32 kind,
					    u64 *id)
{
	struct site fresh = {}, *site;
	u64 kernel = owner->kernel, user = owner->user;

	*id = owner_hash(owner, kind);
	site = bpf_map_lookup_elem(&sites, id);
	if (!site) {
		fresh.owner = *owner;
		fresh.kind = kind;
		fresh.owner.kernel = keep_stack(here, &here->kernel, kernel);
		fresh.owner.user = keep_stack(here, &here->user, user);
		fresh.first_ns = bpf_ktime_get_ns();
		bpf_map_update_elem(&sites, id, &fresh, BPF_NOEXIST);
		site = bpf_map_lookup_elem(&sites, id);
	}
	/* Each of those that have no stack, not only the first. */
	if (!site || site->owner.kernel != kernel || site->owner.user != user)
		count_loss(LOSS_STACKS_FULL);
	if (site)
		return site;
	*id = 0;
	return bpf_map_lookup_elem(&sites, id);
}

/* Counts `allocation` as freed, at the site that allocated it. */
static __always_inline void settle_freed(struct allocation *allocation)
{
	struct site *site = bpf_map_lookup_elem(&sites, &allocation->site);

	if (!site)
		return;
	__sync_fetch_and_add(&site->freed_bytes, allocation->weight.bytes);
	__sync_fetch_and_add(&site->freed_count, allocation->weight.count);
}

/* Takes an allocation out of the map; whether it was there. It is still to be settled. */
static __always_inline bool take_allocation(struct allocation_key *key, struct allocation *taken)
{
	struct allocation *found = bpf_map_lookup_elem(&allocations, key);

	if (!found)
		return false;
	*taken = *found;
	/* Of two that free the same, one. */
	return bpf_map_delete_elem(&allocations, key) == 0;
}

static __always_inline void count_unseen(struct allocation_key *key)
{
	/* Programs are mapped without mmap: of mappings, many are unseen. */
	if (sees_all && key->kind != ALLOCATION_MAPPING)
		__sync_fetch_and_add(&unseen_frees, 1);
}

static __always_inline void free_allocation(struct allocation_key *key)
{
	struct allocation taken;

	if (take_allocation(key, &taken))
		settle_freed(&taken);
	else
		count_unseen(key);
}

/* Puts an allocation in the map that its site has counted already. */
static __always_inline void put_allocation(struct allocation_key *key,
					   struct allocation *allocation)
{
	struct allocation before;
	long error = bpf_map_update_elem(&allocations, key, allocation, BPF_NOEXIST);

	/* An address is given out twice where a free was missed. */
	if (error == -EEXIST) {
		if (take_allocation(key, &before)) {
			settle_freed(&before);
			if (key->kind != ALLOCATION_MAPPING)
				count_loss(LOSS_FREES_UNSEEN);
		}
		error = bpf_map_update_elem(&allocations, key, allocation, BPF_NOEXIST);
	}
	/* The kernel fills its list of free elements up meanwhile. */
	if (error == -ENOMEM)
		error = bpf_map_update_elem(&allocations, key, allocation, BPF_NOEXIST);
	if (error) {
		count_loss(LOSS_ALLOCATIONS_FULL);
		settle_freed(allocation);
	}
}

/* Counts what was just allocated there. `owner` has its stacks, walked in `here`. */
static __always_inline void add_allocation(struct scratch *here, struct stack_key *owner,
					   struct allocation_key *key, u64 size,
					   struct weight *weight)
{
	struct allocation allocation = {.size = size, .weight = *weight};
	struct site *site = site_of(here, owner, key->kind, &allocation.site);

	if (!site)
		return;
	allocation.born_ns = bpf_ktime_get_ns();
	allocation.tid = task_tid(current_task());
	__sync_fetch_and_add(&site->allocated_bytes, weight->bytes);
	__sync_fetch_and_add(&site->allocated_count, weight->count);
	put_allocation(key, &allocation);
}

#endif
