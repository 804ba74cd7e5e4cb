/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Time slices of timehist: kept by CPU from the switch at which one begins to that at which it
 * ends, and then sent, with what came before it.
 */
#ifndef TSTRACE_TIMEHIST_SLICES_H
#define TSTRACE_TIMEHIST_SLICES_H

#include "../filter.h"
#include "../kernel.h"
#include "../loss.h"
#include "../scheduling/clock.h"
#include "../scheduling/off_cpu.h"
#include "../scheduling/off_cpu_parts.h"
#include "../scheduling/throttle.h"
#include "events.h"

/* The current time slice on this CPU. */
struct slice {
	u64 since_ns;
	u64 wait_ns;
	u64 latency_ns;
	u64 throttled_ns; /* neither in latency_ns nor asleep */
	u32 pid;	  /* the kernel's; 0: no thread that was chosen */
	u32 flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct slice);
} slices SEC(".maps");

/* include/linux/sched/prio.h: below it are real-time tasks. */
#define MAX_RT_PRIO 100

/* Takes what `task` was throttled of the last `waited_ns` out of its latency. */
static __always_inline void take_throttled(struct slice *slice, struct task_struct *task,
					   struct cfs_rq *queue, u16 left, u64 waited_ns)
{
	slice->throttled_ns = throttled_part(task, queue, left, waited_ns, clock_of(queue));
	if (slice->throttled_ns > slice->latency_ns)
		slice->throttled_ns = slice->latency_ns;
	slice->latency_ns -= slice->throttled_ns;
}

/*
 * `prev` leaves this CPU, and the kernel did not trace how it got it (in sandboxes that hide
 * threads, the thread after a hidden one). The kernel has counted how long it ran and waited.
 */
static __always_inline void slice_by_sched_info(struct slice *slice, struct task_struct *prev,
						struct cfs_rq *queue, u64 now_ns)
{
	struct off_cpu *off = off_cpu_of(prev);
	u64 run_ns, away_ns;

	slice->since_ns = now_ns;
	slice->wait_ns = 0;
	slice->latency_ns = 0;
	slice->throttled_ns = 0;
	slice->flags = TIMEHIST_ALL_UNKNOWN;
	if (!has_sched_info || !off || !off->since_ns || prev->prio < MAX_RT_PRIO)
		return;
	barrier();
	run_ns = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;
	away_ns = now_ns - off->since_ns;
	if (run_ns <= away_ns) {
		slice->flags = 0;
		slice->since_ns = now_ns - run_ns;
		slice->wait_ns = away_ns - run_ns;
		slice->latency_ns = prev->sched_info.run_delay - off->run_delay;
		if (slice->latency_ns > slice->wait_ns)
			slice->latency_ns = slice->wait_ns;
		if (off->left_throttled)
			take_throttled(slice, prev, queue, off->left_throttled, away_ns);
		/* Known after all: not a wait that was lost. */
		off->since_ns = 0;
	}
	barrier();
}

/* `prev` leaves this CPU, and is one that was chosen. */
static __always_inline void slice_ends(void *ctx, struct slice *slice, struct task_struct *prev,
				       struct task_struct *next, u32 state, u64 now_ns)
{
	struct timehist_event *event = reserve_event();

	if (!event)
		return;
	event->time_ns = now_ns;
	event->type = TIMEHIST_SWITCH;
	event->flags = slice->flags;
	event->wait_ns = slice->wait_ns;
	event->latency_ns = slice->latency_ns;
	/* What is known of the clocks' distance may have been corrected meanwhile: clock.h. */
	event->run_ns = (s64)(now_ns - slice->since_ns) < 0 ? 0 : now_ns - slice->since_ns;
	event->state = state;
	about(event, prev);
	if (with_other || with_stack)
		about_other(event, next);
	if (with_stack) {
		/*
		 * kernel/bpf/stackmap.c, __bpf_get_stack (4.18): what is not filled, or all of it
		 * if it fails, becomes 0. User space reads up to the first 0.
		 */
		if (bpf_get_stack(ctx, event->frames, sizeof(event->frames), 0) < 0)
			count_loss(LOSS_STACK_WALK_FAILED);
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* `next` gets this CPU: what it did before. `queue`: its own, by queue_of(). */
static __always_inline void slice_begins(struct slice *slice, struct task_struct *next,
					 struct cfs_rq *queue, u64 now_ns)
{
	struct off_cpu *off = off_cpu_of(next);
	struct offcpu_parts parts;

	slice->wait_ns = 0;
	slice->latency_ns = 0;
	slice->throttled_ns = 0;
	slice->flags = 0;
	if (off && off->since_ns) {
		slice->wait_ns = now_ns - off->since_ns;
		if ((s64)slice->wait_ns < 0)
			slice->wait_ns = 0;
		offcpu_split(next, queue, off, slice->wait_ns, kept_clock_of(queue), &parts);
		slice->latency_ns = parts.ns[OFFCPU_RUN_QUEUE] + parts.ns[OFFCPU_PREEMPTED];
		slice->throttled_ns = parts.ns[OFFCPU_THROTTLED];
		off_cpu_ends(next, off);
		return;
	}
	if (offcpu_first_wait(next, queue, &parts, &slice->latency_ns)) {
		slice->wait_ns = slice->latency_ns;
		return;
	}
	slice->flags = TIMEHIST_WAIT_UNKNOWN;
	if (off && off->moved_asleep) {
		off->moved_asleep = false;
		count_loss(LOSS_WAITS_MISBOOKED);
		slice->flags |= TIMEHIST_LATENCY_UNKNOWN;
		return;
	}
	if (!has_sched_info) {
		slice->flags |= TIMEHIST_LATENCY_UNKNOWN;
		return;
	}
	barrier();
	/* In this queue, at least. */
	if (next->sched_info.last_queued)
		slice->latency_ns = clock_of(queue) - next->sched_info.last_queued;
	if ((s64)slice->latency_ns < 0)
		slice->latency_ns = 0;
	take_throttled(slice, next, queue, off ? off->left_throttled : 0, slice->latency_ns);
	barrier();
}

/* `next` gets this CPU at `now_ns`; without its quota it would have had one earlier. */
static __always_inline void report_throttled(struct task_struct *next, u64 throttled_ns, u64 now_ns)
{
	struct timehist_event *event;

	if (!throttled_ns || (filter_by_cpu && !filter_has_cpu(bpf_get_smp_processor_id())))
		return;
	event = reserve_event();
	if (!event)
		return;
	event->time_ns = now_ns;
	event->type = TIMEHIST_THROTTLED;
	event->flags = 0;
	event->wait_ns = 0;
	event->latency_ns = throttled_ns;
	event->run_ns = 0;
	event->state = 0;
	about(event, next);
	if (with_stack)
		event->frames[0] = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
