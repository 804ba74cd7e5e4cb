/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which part of the time that a thread was off the CPU was what.
 *
 * A wait is *blocked* until the thread is woken, then *run queue* until it gets a CPU; a thread
 * that was taken off the CPU while it could have gone on is *preempted* all the time. Of either,
 * what its control group had no quota for is *throttled*; then it is in the run queue (throttle.h).
 */
#ifndef TSTRACE_SCHEDULING_OFF_CPU_PARTS_H
#define TSTRACE_SCHEDULING_OFF_CPU_PARTS_H

#include "../kernel.h"
#include "../loss.h"
#include "../merged.h"
#include "clock.h"
#include "moved_asleep.h"
#include "off_cpu.h"
#include "throttle.h"

enum offcpu_part {
	OFFCPU_BLOCKED,
	OFFCPU_RUN_QUEUE,
	OFFCPU_PREEMPTED,
	OFFCPU_THROTTLED,
	OFFCPU_PARTS,
};

EXPORT_TYPE(enum offcpu_part, offcpu_part);

struct offcpu_parts {
	u64 ns[OFFCPU_PARTS];
};

/* How long the task has been on run queues since it left the CPU; `clock` is the run queue's. */
static __always_inline u64 queued_ns(struct task_struct *task, struct off_cpu *off, u64 clock)
{
	u64 queued = task->sched_info.run_delay - off->run_delay;
	u64 last_queued = task->sched_info.last_queued;

	if (last_queued && (s64)(clock - last_queued) > 0)
		queued += clock - last_queued;
	return queued;
}

/* Of the last `waited_ns`, in which a thread could have run: splits off the throttled part. */
static __always_inline void split_throttled(struct task_struct *task, struct cfs_rq *queue,
					    struct off_cpu *off, u64 waited_ns, u64 clock,
					    struct offcpu_parts *parts)
{
	enum offcpu_part part = off->preempted ? OFFCPU_PREEMPTED : OFFCPU_RUN_QUEUE;
	u64 throttled_ns;

	if (!throttle_exists())
		return;
	barrier();
	throttled_ns = merged(throttled_part(task, queue, off->left_throttled, waited_ns,
					     has_sched_info ? clock : clock_of(queue)));
	barrier();
	if (!throttled_ns)
		return;
	parts->ns[part] = 0;
	/* It was not preempted: its group had no quota, and then it had to queue up again. */
	if (off->left_throttled)
		part = OFFCPU_RUN_QUEUE;
	parts->ns[part] = waited_ns - throttled_ns;
	parts->ns[OFFCPU_THROTTLED] = throttled_ns;
}

/* Splits a wait. Whatever sched_info says, the parts add up to the duration. */
static __always_inline void offcpu_split(struct task_struct *task, struct cfs_rq *queue,
					 struct off_cpu *off, u64 duration_ns, u64 clock,
					 struct offcpu_parts *parts)
{
	u64 queued = 0;

	parts->ns[OFFCPU_BLOCKED] = 0;
	parts->ns[OFFCPU_RUN_QUEUE] = 0;
	parts->ns[OFFCPU_PREEMPTED] = 0;
	parts->ns[OFFCPU_THROTTLED] = 0;
	if (off->preempted) {
		parts->ns[OFFCPU_PREEMPTED] = duration_ns;
		split_throttled(task, queue, off, duration_ns, clock, parts);
		return;
	}
	if (!has_sched_info) {
		barrier();
		/* It may have been woken after tracing ended, up to where this wait is counted. */
		if (off->woken_ns && off->woken_ns < off->since_ns + duration_ns)
			queued = off->since_ns + duration_ns - off->woken_ns;
		barrier();
	} else if (off->moved_asleep) {
		/* One that sleeps still did so all the time. */
		if (!is_queued_asleep(task))
			count_loss(LOSS_WAITS_MISBOOKED);
	} else {
		barrier();
		queued = queued_ns(task, off, clock);
		barrier();
	}
	if (queued > duration_ns)
		queued = duration_ns;
	parts->ns[OFFCPU_RUN_QUEUE] = queued;
	parts->ns[OFFCPU_BLOCKED] = duration_ns - queued;
	if (queued)
		split_throttled(task, queue, off, queued, clock, parts);
}

/* A new thread's first wait for a CPU, which it had before it could be seen to leave one. */
static __always_inline bool offcpu_first_wait(struct task_struct *task, struct cfs_rq *queue,
					      struct offcpu_parts *parts, u64 *duration_ns)
{
	u64 last_queued, clock;

	if (!has_sched_info)
		return false;
	barrier();
	last_queued = task->sched_info.last_queued;
	if (task->sched_info.pcount || !last_queued) {
		if (offcpu_seeded && last_queued)
			count_loss(LOSS_WAIT_START_UNKNOWN);
		return false;
	}
	clock = clock_of(queue);
	*duration_ns = task->sched_info.run_delay;
	if ((s64)(clock - last_queued) > 0)
		*duration_ns += clock - last_queued;
	barrier();
	parts->ns[OFFCPU_BLOCKED] = 0;
	parts->ns[OFFCPU_RUN_QUEUE] = *duration_ns;
	parts->ns[OFFCPU_PREEMPTED] = 0;
	parts->ns[OFFCPU_THROTTLED] = 0;
	return true;
}

#endif
