/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which mapping of the current process an address is in, from the kernel's own tree of mappings, as
 * it is at that moment. The tree is read without its lock, since where interrupts are off nobody
 * may wait for it: bpf_find_vma refuses every second call there. RCU keeps the nodes of a maple
 * tree while a program runs. If another thread changes the mappings meanwhile, the walk may miss
 * one. It takes no wrong one: the mapping has to hold the address, and to be the same when it is
 * read a second time (the kernel may use the memory of a mapping again at once).
 */
#ifndef TSTRACE_UNWIND_VMA_H
#define TSTRACE_UNWIND_VMA_H

#include "../kernel.h"
#include "maple.h"

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

/* Since 6.13; from 6.4 on it is a number that changes only when mappings have been changed. */
struct mm_struct___counted {
	struct {
		u32 sequence;
	} mm_lock_seq;
};

struct mm_struct___vdso {
	struct {
		void *vdso;
	} context;
};

#pragma clang attribute pop

/* Since 6.13 the kernel keeps a flag there, too (I_CTIME_QUERIED). */
#define CTIME_NSEC_MASK 0x7fffffff

/* When a file was last changed, its contents or what is known of it. */
static __always_inline void read_change_time(struct inode *inode, s64 *sec, u32 *nsec)
{
	if (bpf_core_field_exists(inode->i_ctime_sec)) {
		*sec = BPF_CORE_READ(inode, i_ctime_sec);
		*nsec = BPF_CORE_READ(inode, i_ctime_nsec) & CTIME_NSEC_MASK;
	} else if (bpf_core_field_exists(((struct inode___until_6_11 *)0)->__i_ctime)) {
		struct inode___until_6_11 *older = (void *)inode;

		*sec = BPF_CORE_READ(older, __i_ctime.tv_sec);
		*nsec = BPF_CORE_READ(older, __i_ctime.tv_nsec);
	} else {
		struct inode___until_6_6 *oldest = (void *)inode;

		*sec = BPF_CORE_READ(oldest, i_ctime.tv_sec);
		*nsec = BPF_CORE_READ(oldest, i_ctime.tv_nsec);
	}
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

/*
 * The version of a process's mappings: the same even number means that they are the same. Odd:
 * somebody is changing them (mmap_write_lock(), include/linux/mmap_lock.h), or this kernel does not
 * count.
 */
static __always_inline u32 mappings_version(struct mm_struct *mm)
{
	struct mm_struct___counted *of = (void *)mm;

	return bpf_core_field_exists(of->mm_lock_seq.sequence)
		       ? BPF_CORE_READ(of, mm_lock_seq.sequence)
		       : 1;
}

/* Where the kernel's own code lies in this address space; 0: nowhere. */
static __always_inline u64 vdso_start(struct mm_struct *mm)
{
	struct mm_struct___vdso *of = (void *)mm;

	return bpf_core_field_exists(of->context.vdso) ? (u64)BPF_CORE_READ(of, context.vdso) : 0;
}

#endif
