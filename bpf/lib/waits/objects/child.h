/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Which child a thread waited for: see objects.h. */
#ifndef TSTRACE_WAITS_OBJECTS_CHILD_H
#define TSTRACE_WAITS_OBJECTS_CHILD_H

#include "../../kernel.h"
#include "../../pidns.h"
#include "../../objects/kernel_files.h"
#include "../../objects/record.h"

/* Of a thread, so many are looked at. */
#define MOST_CHILDREN	 32
#define CHILDREN_AT_ONCE 8

/* The number of a process in the caller's PID namespace. A function of its own, which the verifier
 * follows once. */
__noinline int process_number(u64 address)
{
	struct task_struct *task = (void *)address;
	struct pid *pid;

	if (!pidns_inum)
		return BPF_CORE_READ(task, tgid);
	pid = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
	return pid_nr_of(pid, BPF_CORE_READ(pid, level));
}

/* The number of a process in its own PID namespace, where its parent most often is, too. */
static __always_inline u32 own_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	struct upid upid;

	if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]))
		return 0;
	return upid.nr;
}

/* What is_awaited() says of a child. */
enum child_found {
	CHILD_OTHER,
	CHILD_AWAITED,
	CHILD_NONE, /* there is no further one */
};

/* Goes on to the next child in `here->next_child`: the one of that number, or one that has ended? A
 * function of its own, which the verifier follows once. */
__noinline int is_awaited(u32 place, s32 number)
{
	struct object_search *here = search_at(place);
	struct list_head___held *each;
	struct task_struct *child;
	bool found;

	if (!here)
		return CHILD_NONE;
	each = (void *)here->next_child;
	each = BPF_CORE_READ(each, next);
	here->next_child = (u64)each;
	if (!each || here->next_child == here->last_child)
		return CHILD_NONE;
	child = (void *)each - bpf_core_field_offset(struct task_struct___held, sibling);
	here->chosen = (u64)child;
	here->children++;
	found = number > 0 ? own_number(child) == (u32)number
			   : (BPF_CORE_READ(child, exit_state) & EXIT_ZOMBIE) != 0;
	return found ? CHILD_AWAITED : CHILD_OTHER;
}

/* As is_awaited(). The verifier goes through each turn of a loop: of two that are one in the other,
 * through fewer. */
__noinline int are_awaited(u32 place, s32 number)
{
	int found = CHILD_OTHER;

	for (u32 i = 0; i < CHILDREN_AT_ONCE && found == CHILD_OTHER; i++)
		found = is_awaited(place, number);
	return found;
}

/* The child of that number; 0: the one that has ended, or the only one. */
__noinline int describe_child(u32 place, s32 number)
{
	struct object_search *here = search_at(place);
	struct task_struct *child;
	int found = CHILD_OTHER;

	if (!here)
		return 0;
	here->chosen = 0;
	here->last_child = here->task + bpf_core_field_offset(struct task_struct___held, children);
	here->next_child = here->last_child;
	here->children = 0;
	for (u32 i = 0; i < MOST_CHILDREN / CHILDREN_AT_ONCE && found == CHILD_OTHER; i++)
		found = are_awaited(place, number);
	/* One was looked at, and there was no more. */
	if (found != CHILD_AWAITED && !(number <= 0 && found == CHILD_NONE && here->children == 1))
		here->chosen = 0;
	child = (void *)here->chosen;
	here->object.type = child ? OBJECT_CHILD : number > 0 ? OBJECT_NONE : OBJECT_SEVERAL;
	if (!child)
		return 0;
	here->object.pid = process_number((u64)child);
	here->object.address = BPF_CORE_READ(child, start_time);
	bpf_core_read(here->object.text, TASK_COMM_LEN, &child->comm);
	here->object.text_bytes = TASK_COMM_LEN;
	return 0;
}

#endif
