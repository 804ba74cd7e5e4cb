/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * When did the wait begin that ends now, where the kernel keeps no sched_info (run_queue.h)? A time
 * stamp is taken as it begins, and kept in a hash by thread number.
 */
#ifndef TSTRACE_SCHEDULING_STAMPED_RUN_QUEUE_H
#define TSTRACE_SCHEDULING_STAMPED_RUN_QUEUE_H

#include "../kernel.h"
#include "../loss.h"
#include "run_queue.h"

struct wait_start {
	u64 ns; /* CLOCK_MONOTONIC; 0: not waiting */
	u16 kind;
	u16 left_throttled; /* see throttle_begins */
	u32 unused_padding;
};

/*
 * sched_wakeup also fires for a task that is on its CPU still (it is not waiting), and for one
 * that was preempted half-way to sleep (it waits already, and goes on waiting). Any other wait
 * that is still open has ended unseen.
 */
static __always_inline void wait_begins(struct task_struct *task, struct wait_start *start,
					enum run_queue_kind kind)
{
	if (kind == QUEUED_WAKEUP &&
	    (task->on_cpu || (start->ns && start->kind == QUEUED_PREEMPTED)))
		return;
	if (start->ns)
		count_loss(LOSS_WAITS_UNSEEN);
	start->kind = kind;
	start->left_throttled =
		kind == QUEUED_PREEMPTED ? throttle_begins(task, queue_of(task)) : 0;
	start->ns = bpf_ktime_get_ns();
}

/* The wait of `task` that began then, and ends now. */
static __always_inline void stamped_wait(struct task_struct *task, struct wait_start *start,
					 struct queued *queued)
{
	queued->latency_ns = bpf_ktime_get_ns() - start->ns;
	queued->throttled_ns = 0;
	queued->kind = start->kind;
	queued->unseen = 0;
	if (throttle_exists()) {
		struct cfs_rq *queue = queue_of(task);

		barrier();
		queued->throttled_ns = throttled_part(task, queue, start->left_throttled,
						      queued->latency_ns, queue->rq->clock);
		barrier();
	}
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct wait_start);
} hash_waits SEC(".maps");

/* kernel/sched/core.c, __schedule: a thread that leaves its CPU and does not block waits again. */
static __always_inline bool waits_again(bool preempt, struct task_struct *prev)
{
	return (preempt || task_state(prev) == TASK_RUNNING) && prev->pid;
}

static __always_inline void stamp_wait_begins(struct task_struct *task, enum run_queue_kind kind)
{
	struct wait_start none = {}, *start;
	u32 pid = task->pid;

	start = bpf_map_lookup_elem(&hash_waits, &pid);
	if (!start) {
		bpf_map_update_elem(&hash_waits, &pid, &none, BPF_NOEXIST);
		start = bpf_map_lookup_elem(&hash_waits, &pid);
	}
	if (start)
		wait_begins(task, start, kind);
	else
		count_loss(LOSS_WAIT_TABLE_FULL);
}

static __always_inline bool stamp_wait_ends(struct task_struct *task, struct queued *queued)
{
	u32 pid = task->pid;
	struct wait_start *start = bpf_map_lookup_elem(&hash_waits, &pid);

	if (!start || !start->ns)
		return false;
	stamped_wait(task, start, queued);
	/* The table holds only threads that wait now. */
	bpf_map_delete_elem(&hash_waits, &pid);
	return true;
}

#endif
