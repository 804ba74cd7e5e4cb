/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which mapping of the current process an address is in, from the kernel's own tree of mappings, as
 * it is at that moment. The tree is read without its lock, since where interrupts are off nobody
 * may wait for it: bpf_find_vma refuses every second call there. RCU keeps the nodes of a maple
 * tree while a program runs. If another thread changes the mappings meanwhile, the walk may miss
 * one. It takes no wrong one: the mapping has to hold the address, and to be the same when it is
 * read a second time (the kernel may use the memory of a mapping again at once).
 */
#ifndef TSTRACE_VMA_H
#define TSTRACE_VMA_H

#include "kernel.h"
#include "stacks.h"

#define VM_EXEC 0x4

/* Offsets into files are in pages; arm64 has pages of 16 and 64 KiB, too. */
const volatile u32 page_bits = 12;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	s64 i_ctime_sec;
	u32 i_ctime_nsec;
};

struct inode___until_6_6 {
	struct timespec64 i_ctime;
};

struct inode___until_6_11 {
	struct timespec64 __i_ctime;
};

struct file {
	struct inode *f_inode;
};

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct mm_struct *vm_mm;
	struct file *vm_file;
};

struct vm_area_struct___until_6_1 {
	struct rb_node vm_rb;
};

struct mm_struct___until_6_1 {
	struct rb_root mm_rb;
};

struct maple_tree {
	void *ma_root;
};

struct mm_struct___maple {
	struct maple_tree mm_mt;
};

struct mm_struct___vdso {
	struct {
		void *vdso;
	} context;
};

#pragma clang attribute pop

/* Since 6.13 the kernel keeps a flag there, too (I_CTIME_QUERIED). */
#define CTIME_NSEC_MASK 0x7fffffff

struct change_time {
	s64 sec;
	u32 nsec;
};

/* When a file was last changed, its contents or what is known of it. */
static __always_inline void read_change_time(struct inode *inode, struct change_time *time)
{
	if (bpf_core_field_exists(inode->i_ctime_sec)) {
		time->sec = BPF_CORE_READ(inode, i_ctime_sec);
		time->nsec = BPF_CORE_READ(inode, i_ctime_nsec) & CTIME_NSEC_MASK;
	} else if (bpf_core_field_exists(((struct inode___until_6_11 *)0)->__i_ctime)) {
		struct inode___until_6_11 *older = (void *)inode;

		time->sec = BPF_CORE_READ(older, __i_ctime.tv_sec);
		time->nsec = BPF_CORE_READ(older, __i_ctime.tv_nsec);
	} else {
		struct inode___until_6_6 *oldest = (void *)inode;

		time->sec = BPF_CORE_READ(oldest, i_ctime.tv_sec);
		time->nsec = BPF_CORE_READ(oldest, i_ctime.tv_nsec);
	}
}

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

/* A balanced tree of that depth would hold more mappings than there can be. */
#define RB_LEVELS 48

static __always_inline struct vm_area_struct *vma_in_rb_tree(struct mm_struct *mm, u64 address)
{
	struct mm_struct___until_6_1 *of = (void *)mm;
	struct rb_node *node = BPF_CORE_READ(of, mm_rb.rb_node);

	for (u32 level = 0; level < RB_LEVELS && node; level++) {
		struct vm_area_struct *vma =
			(void *)node -
			bpf_core_field_offset(struct vm_area_struct___until_6_1, vm_rb);

		if (BPF_CORE_READ(vma, vm_end) <= address)
			node = BPF_CORE_READ(node, rb_right);
		else if (BPF_CORE_READ(vma, vm_start) > address)
			node = BPF_CORE_READ(node, rb_left);
		else
			return vma;
	}
	return NULL;
}

/* What lies around an address, if it is code. */
struct vma_bounds {
	struct vm_area_struct *vma;
	struct file *file;
	u64 start;
	u64 end;
	u64 file_offset;     /* of `start` */
	struct inode *inode; /* NULL: no file is behind it */
};

/* False: no code is there. `index`: of this CPU's scratch places. */
static __always_inline bool read_vma(struct mm_struct *mm, u64 address, u32 index,
				     struct vma_bounds *found)
{
	struct mm_struct___maple *maple = (void *)mm;
	struct vm_area_struct *vma;
	struct file *file;

	if (bpf_core_field_exists(maple->mm_mt))
		vma = vma_in_maple(mm, address, index);
	else
		vma = vma_in_rb_tree(mm, address);
	if (!vma)
		return false;
	found->start = BPF_CORE_READ(vma, vm_start);
	found->end = BPF_CORE_READ(vma, vm_end);
	if (address < found->start || address >= found->end ||
	    !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return false;
	found->vma = vma;
	found->file_offset = (u64)BPF_CORE_READ(vma, vm_pgoff) << page_bits;
	file = BPF_CORE_READ(vma, vm_file);
	found->file = file;
	found->inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	return true;
}

/* Whether a mapping still is what was read of it; to be asked when its file has been read, too. */
static __always_inline bool is_still_mapped(struct mm_struct *mm, struct vma_bounds *found)
{
	struct vm_area_struct *vma = found->vma;

	return BPF_CORE_READ(vma, vm_mm) == mm && BPF_CORE_READ(vma, vm_start) == found->start &&
	       BPF_CORE_READ(vma, vm_end) == found->end &&
	       (u64)BPF_CORE_READ(vma, vm_pgoff) << page_bits == found->file_offset &&
	       BPF_CORE_READ(vma, vm_file) == found->file;
}

/* Where the kernel's own code lies in this address space; 0: nowhere. */
static __always_inline u64 vdso_start(struct mm_struct *mm)
{
	struct mm_struct___vdso *of = (void *)mm;

	return bpf_core_field_exists(of->context.vdso) ? (u64)BPF_CORE_READ(of, context.vdso) : 0;
}

#endif
