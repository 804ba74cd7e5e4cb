/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The way down the maple tree in which the kernel keeps a process's mappings, Linux 6.1 on. */
#ifndef TSTRACE_UNWIND_MAPLE_H
#define TSTRACE_UNWIND_MAPLE_H

#include "../kernel.h"
#include "../stacks/stacks.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct maple_tree {
	void *ma_root;
};

struct mm_struct___maple {
	struct maple_tree mm_mt;
};

#pragma clang attribute pop

/*
 * A node of a maple tree: include/linux/maple_tree.h. A leaf and a node in the middle of other
 * trees (maple_range_64): the parent, 15 pivots, 16 slots; of this tree (maple_arange_64): the
 * parent, 9 pivots, 10 slots, 10 gaps, and the index of the last slot.
 */
#define MAPLE_WORDS	   32
#define MAPLE_PIVOTS	   1
#define MAPLE_NODE_MASK	   255UL
#define MAPLE_TYPE_SHIFT   3
#define MAPLE_TYPE_MASK	   15
#define MAPLE_RANGE	   2
#define MAPLE_ARANGE	   3
#define MAPLE_RANGE_SLOTS  16 /* in words: where they begin */
#define MAPLE_RANGE_LAST   15
#define MAPLE_RANGE_END	   31 /* a byte there is the last slot's index, unless all pivots are used */
#define MAPLE_ARANGE_SLOTS 10
#define MAPLE_ARANGE_LAST  9
#define MAPLE_ARANGE_END   30
/* Of 10 slots each; user space has at most 2^31 mappings. */
#define MAPLE_LEVELS 10
#define XA_INTERNAL  2

/*
 * The slot for an address. Without branches, whose every combination the verifier would follow:
 * pivots are the last addresses of slots, ascending, so those below the address are counted.
 */
static __always_inline u32 maple_slot(const u64 *node, u64 address, u32 last)
{
	u64 half = address >> 1;
	u32 slot = 0;

	/* The last address of a mapping is odd; halves compare as wholes do, and cannot overflow.
	 */
#pragma unroll
	for (u32 i = 0; i < MAPLE_RANGE_LAST; i++) {
		u64 below = (node[MAPLE_PIVOTS + i] >> 1) - half, used = (u64)i - last;

		/* Negative or not; or clang makes branches of it after all. */
		below &= used;
		barrier_var(below);
		slot += below >> 63;
	}
	return slot;
}

/* The way down a tree, on one CPU. */
struct maple_cursor {
	u64 entry; /* the node to look at, with its type; below a leaf: the mapping */
	u64 node[MAPLE_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, u32);
	__type(value, struct maple_cursor);
} maple_cursors SEC(".maps");

enum maple_found {
	MAPLE_NOTHING,
	MAPLE_NODE,
	MAPLE_VMA,
};

/* One level down. A function of its own, which the verifier follows once, and not for each level.
 */
__noinline int maple_down(u32 index, u64 address)
{
	struct maple_cursor *at = bpf_map_lookup_elem(&maple_cursors, &index);
	u32 type, last, slot;

	if (!at || bpf_probe_read_kernel(at->node, sizeof(at->node),
					 (void *)(at->entry & ~MAPLE_NODE_MASK)))
		return MAPLE_NOTHING;
	type = at->entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;
	if (type == MAPLE_ARANGE) {
		last = at->node[MAPLE_ARANGE_END] & 0xff;
		if (last > MAPLE_ARANGE_LAST)
			return MAPLE_NOTHING;
		slot = MAPLE_ARANGE_SLOTS + maple_slot(at->node, address, last);
	} else {
		last = at->node[MAPLE_RANGE_LAST] ? MAPLE_RANGE_LAST
						  : at->node[MAPLE_RANGE_END] & 0xff;
		slot = MAPLE_RANGE_SLOTS + maple_slot(at->node, address, last);
	}
	at->entry = at->node[slot & (MAPLE_WORDS - 1)];
	if (!at->entry)
		return MAPLE_NOTHING;
	return type < MAPLE_RANGE ? MAPLE_VMA : MAPLE_NODE;
}

/* NULL: none. `index`: of this CPU's scratch places. */
static __always_inline struct vm_area_struct *vma_in_maple(struct mm_struct *mm, u64 address,
							   u32 index)
{
	struct maple_cursor *at = bpf_map_lookup_elem(&maple_cursors, &index);
	struct mm_struct___maple *of = (void *)mm;
	int found = MAPLE_NODE;

	if (!at)
		return NULL;
	at->entry = (u64)BPF_CORE_READ(of, mm_mt.ma_root);
	if (!(at->entry & XA_INTERNAL))
		return NULL;
	for (u32 level = 0; level < MAPLE_LEVELS && found == MAPLE_NODE; level++)
		found = maple_down(index, address);
	return found == MAPLE_VMA ? (void *)at->entry : NULL;
}

#endif
