/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sleep that the kernel books as waiting. Since 6.12 (152e11f6df29) a thread that sleeps can stay
 * on the run queue for a while ("delayed dequeue"). If it is then moved to another CPU,
 * enqueue_task() books it as queued from there on, through all of its sleep (6.18 does;
 * psi_enqueue() knows better).
 */
#ifndef TSTRACE_MOVED_ASLEEP_H
#define TSTRACE_MOVED_ASLEEP_H

#include "kernel.h"

#define TASK_WAKING 0x0200

/* Whether a thread that is being moved sleeps, and is booked as queued from now on. */
static __always_inline bool is_moved_asleep(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed;
}

/* Whether a thread sleeps now, and is booked as queued: it was moved before anybody looked. */
static __always_inline bool is_queued_asleep(struct task_struct *task)
{
	u32 state = task_state(task);

	if (!bpf_core_field_exists(task->se.sched_delayed) || !task->sched_info.last_queued)
		return false;
	/* One that is half-way to sleep was preempted there, and is queued in truth. */
	return state != TASK_RUNNING && !(state & TASK_WAKING) &&
	       (!task->on_rq || task->se.sched_delayed);
}

#endif
