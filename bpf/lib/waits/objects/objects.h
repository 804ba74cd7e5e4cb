/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What a thread waited for: the file, pipe or socket that its system call works on, the file that a
 * page fault reads, the address of a futex, a child. Of waits that were chosen only, as the thread
 * resumes. An object is kept once, by a hash of what tells it from others.
 *
 * The programs look which system call the thread entered the kernel with. Whether it waited in that
 * call at all, or for memory meanwhile, its kernel stack says: user space looks.
 */
#ifndef TSTRACE_WAITS_OBJECTS_OBJECTS_H
#define TSTRACE_WAITS_OBJECTS_OBJECTS_H

#include "../../compat.h"
#include "../../kernel.h"
#include "../../loss.h"
#include "../../registers.h"
#include "../../stacks/stacks.h"
#include "child.h"
#include "ends.h"
#include "file.h"
#include "gil.h"
#include "../../objects/kernel_files.h"
#include "../../objects/path.h"
#include "../../objects/record.h"
#include "stack.h"

/* By number of a system call, how to find its object: enum object_way; user space fills it in. */
#define OBJECT_CALLS 512
const volatile u8 object_ways[OBJECT_CALLS] = {};
/* What registers have instead of a number: the thread came by an exception. */
#define NO_CALL ((u32) - 1)

enum object_way {
	WAY_NONE,
	WAY_DESCRIPTOR, /* the first argument */
	WAY_EPOLL,
	WAY_POLL,
	WAY_SELECT,
	WAY_FUTEX,
	WAY_CHILD,    /* the first argument is its number */
	WAY_CHILD_BY, /* the second argument is, if the first says so */
};

EXPORT_TYPE(enum object_way, object_way);

const volatile bool find_objects = false;

/* User space makes room where objects are wanted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct wait_object);
} wait_objects SEC(".maps");

/* Whether `here->file` is one of those that poll waits for; else how many there are. */
static __always_inline bool is_polled(struct object_search *here, u32 place, u64 count)
{
	here->object.type = OBJECT_SEVERAL;
	here->object.address = count;
	if (!polled_file(here, place))
		return false;
	here->object.address = 0;
	return true;
}

__noinline int hash_object(u32 place)
{
	struct object_search *here = search_at(place);
	u64 hash = stack_seed;
	u64 *words;

	if (!here)
		return 0;
	words = (u64 *)&here->object;
	for (u32 i = 0; i < OBJECT_KEY_WORDS; i++)
		hash = hashed(hash, words[i]);
	here->hash = hash ? hash : 1;
	return 0;
}

static __always_inline bool is_in_heap(struct object_search *here)
{
	struct task_struct___held *task = (void *)here->task;
	struct mm_struct___held *mm = BPF_CORE_READ(task, mm);
	u64 address = here->object.address;

	return address >= BPF_CORE_READ(mm, start_brk) && address < BPF_CORE_READ(mm, brk);
}

/* Makes sure that `here->object` can be found by its hash. */
__noinline int keep_object(u32 place)
{
	struct object_search *here = search_at(place);
	struct pt_regs___held *registers;
	struct dentry___held *dentry;
	u64 hash;

	if (!here)
		return 0;
	dentry = (void *)here->object.dentry;
	if (dentry && BPF_CORE_READ(dentry, d_hash.pprev) == NULL)
		here->object.flags |= OBJECT_DELETED;
	hash_object(place);
	hash = here->hash;
	if (bpf_map_lookup_elem(&wait_objects, &hash))
		return 0;
	if (here->object.holder && gil_holders >= MOST_GIL_HOLDERS) {
		here->object.holder = 0;
		here->object.flags &= ~OBJECT_HOLDER_OURS;
		hash_object(place);
		hash = here->hash;
		if (bpf_map_lookup_elem(&wait_objects, &hash))
			return 0;
	} else if (here->object.holder) {
		__sync_fetch_and_add(&gil_holders, 1);
	}
	if (dentry)
		copy_path(here, place);
	if (here->object.type == OBJECT_FUTEX && is_in_heap(here))
		here->object.flags |= OBJECT_IN_HEAP;
	registers = (void *)here->registers;
	here->object.first_ns = bpf_ktime_get_ns();
	here->object.user_sp = BPF_CORE_READ(registers, sp);
	want_ends(here, place);
	bpf_map_update_elem(&wait_objects, &hash, &here->object, BPF_NOEXIST);
	if (bpf_map_lookup_elem(&wait_objects, &hash))
		return 0;
	here->hash = 0;
	count_loss(LOSS_OBJECTS_FULL);
	return 0;
}

/* Finds the object of `here->task`; its hash is then in `here->hash`, 0 if there is none. */
__noinline int find_object(u32 place)
{
	struct object_search *here = search_at(place);
	struct pt_regs___held *registers;
	u64 first, second;
	u32 number, way;
	bool is_file;

	if (!here)
		return 0;
	registers = (void *)here->registers;
	__builtin_memset(&here->object, 0, OBJECT_KEY_BYTES);
	here->object.text_bytes = 0;
	here->hash = 0;
#ifdef __TARGET_ARCH_arm64
	number = BPF_CORE_READ(registers, syscallno);
	first = BPF_CORE_READ(registers, orig_x0);
	second = BPF_CORE_READ(registers, regs[1]);
#else
	number = BPF_CORE_READ(registers, orig_ax);
	first = BPF_CORE_READ(registers, di);
	second = BPF_CORE_READ(registers, si);
#endif
	way = number < OBJECT_CALLS ? object_ways[number] : WAY_NONE;
	if (way == WAY_DESCRIPTOR)
		is_file = find_held_file(place, first);
	else if (way == WAY_EPOLL)
		is_file = find_held_file(place, first) && find_ready_file(place);
	else if (way == WAY_POLL || way == WAY_SELECT)
		is_file = is_polled(here, place, way == WAY_POLL ? second : 0);
	else
		is_file = number == NO_CALL && faulting_file(here, place);
	if (is_file) {
		here->object.type = OBJECT_NONE;
		describe_file(place);
		if (number == NO_CALL && here->object.type == OBJECT_FILE)
			here->object.type = OBJECT_MAPPED;
	} else if (way == WAY_CHILD || (way == WAY_CHILD_BY && first == P_PID)) {
		describe_child(place, way == WAY_CHILD ? first : second);
	} else if (way == WAY_CHILD_BY) {
		describe_child(place, 0);
	} else if (way == WAY_FUTEX) {
		here->object.type = OBJECT_FUTEX;
		here->object.address = first;
		here->object.pid = process_number(here->task);
		find_gil(place);
	}
	if (here->object.type)
		keep_object(place);
	return 0;
}

/*
 * The hash of what a thread was blocked for; 0: nothing, or it is not known. `ctx`: of the program,
 * where the thread is the current one, and comes back from the wait; else NULL, and it is off the
 * CPU.
 */
static __always_inline u64 object_of(struct task_struct *task, u64 blocked_ns, void *ctx, u32 place)
{
	struct task_struct___held *saved = (void *)task;
	struct object_search *here = search_at(place);

	if (!find_objects || !blocked_ns || !here || look(task, flags) & PF_KTHREAD ||
	    is_compat(task))
		return 0;
	here->task = (u64)task;
	here->registers = (u64)saved_registers(task);
	/* What lies below is this program's own. */
	here->lowest = (u64)ctx;
#ifdef __TARGET_ARCH_arm64
	if (!ctx)
		here->lowest = BPF_CORE_READ(saved, thread.cpu_context.sp);
#else
	if (!ctx)
		here->lowest = BPF_CORE_READ(saved, thread.sp);
#endif
	find_object(place);
	return here->hash;
}

#endif
