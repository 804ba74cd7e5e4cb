/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sleep that the kernel counts as waiting. Since 6.12 (152e11f6df29) a thread that sleeps can stay
 * on the run queue for a while ("delayed dequeue"). If it is then moved to another CPU,
 * enqueue_task() counts it as queued from then on, all the time that it sleeps (6.18 does;
 * psi_enqueue() knows better).
 */
#ifndef TSTRACE_SCHEDULING_MOVED_ASLEEP_H
#define TSTRACE_SCHEDULING_MOVED_ASLEEP_H

#include "../kernel.h"

#define TASK_WAKING 0x0200

/* The kernel moves a thread that sleeps, and counts it as queued from now on. */
static __always_inline bool is_moved_asleep(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed;
}

/* A thread sleeps and the kernel counts it as queued: it was moved before tracing began. */
static __always_inline bool is_queued_asleep(struct task_struct *task)
{
	u32 state = task_state(task);

	if (!bpf_core_field_exists(task->se.sched_delayed) || !task->sched_info.last_queued)
		return false;
	/* A thread preempted on its way to sleep really is queued. */
	return state != TASK_RUNNING && !(state & TASK_WAKING) &&
	       (!is_on_queue(task) || task->se.sched_delayed);
}

#endif
