/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * When did the wait begin that ends now? By the scheduler's own books, read at sched_switch just
 * before it closes them: no hook at wake-up, no time stamps. They need CONFIG_SCHED_INFO and
 * CONFIG_FAIR_GROUP_SCHED; where these are missing: stamped_waits.h.
 */
#ifndef TSTRACE_WAITS_H
#define TSTRACE_WAITS_H

#include "kernel.h"
#include "loss.h"
#include "moved_asleep.h"
#include "throttle.h"

enum wait_kind {
	WAIT_WAKEUP,	   /* it had slept, or is new */
	WAIT_PREEMPTED,	   /* it was taken off the CPU while it could have gone on */
	WAIT_SINCE_BEFORE, /* it waited already when tracing began */
	WAIT_UNKNOWN,	   /* the task's last turn is not known, see LOSS_WAIT_START_UNKNOWN */
	WAIT_THROTTLED,	   /* the part of any wait in which its group had no quota */
	WAIT_KINDS,
	WAIT_WITH_SLEEP = WAIT_KINDS, /* never counted, see sched_info_moved_asleep */
};

EXPORT_TYPE(enum wait_kind, wait_kind);

/*
 * sched_info.last_queued is when the task joined *this* run queue. A task that waits on one CPU
 * and is then moved to another (just what happens to long waits) starts anew there; what it had
 * waited before is in run_delay. So we remember run_delay as of the task's last turn. A table
 * by thread number does it in a nanosecond or two where task storage takes 25; the entry is used
 * only if it is the task's own (pid) and of its last turn (pcount).
 */
#define SLICE_SETS (1 << 15)
#define SLICE_WAYS 2

struct last_slice {
	u32 pid;
	u32 pcount;
	u64 run_delay;
	u32 nivcsw; /* changes when the task is preempted */
	bool seeded_waiting;
	bool moved_asleep;  /* see sched_info_moved_asleep */
	u16 left_throttled; /* see throttle_begins */
};

struct last_slice last_slices[SLICE_SETS * SLICE_WAYS] SEC(".bss.last_slices");

/* Set when the turns of tasks that were there before tracing began are all known. */
bool slices_seeded;

/* A wait that ends as the task is given this CPU. */
struct wait {
	u64 delay_ns;
	u64 throttled_ns; /* of them */
	u32 kind;
	/* Turns before this one that no event told of: some kernels do not trace every switch. */
	u32 unseen;
};

/* The entry for a thread: its own, or else one to take; two threads of a set get along. */
static __always_inline struct last_slice *last_slice_of(u32 pid)
{
	struct last_slice *set = &last_slices[pid % SLICE_SETS * SLICE_WAYS];

	if (set[0].pid != pid && (set[1].pid == pid || !set[1].pid))
		return &set[1];
	return set;
}

/*
 * `task` gets this CPU and was not queued by the books: it was preempted half-way to sleep, and is
 * not counted by the kernel either; only its number of preemptions has changed.
 */
static __always_inline void sched_info_no_wait(struct task_struct *task)
{
	struct last_slice *last;

	if (!task->pid)
		return;
	last = last_slice_of(task->pid);
	if (last->pid == (u32)task->pid)
		last->nivcsw = task->nivcsw;
}

/* A thread is moved, maybe asleep: the next wait is then for the most part none; not counted. */
static __always_inline void sched_info_moved_asleep(struct task_struct *task)
{
	struct last_slice *last;

	if (!is_moved_asleep(task))
		return;
	last = last_slice_of(task->pid);
	if (last->pid == (u32)task->pid)
		last->moved_asleep = true;
}

/* `task` leaves its CPU. */
static __always_inline void sched_info_slice_ends(struct task_struct *task)
{
	u16 left = throttle_begins(task);
	struct last_slice *last;

	if (!left)
		return;
	last = last_slice_of(task->pid);
	if (last->pid == (u32)task->pid)
		last->left_throttled = left;
}

/* The wait of the queued `task`, which the scheduler is about to give this CPU. */
static __always_inline void sched_info_wait(struct task_struct *task, struct wait *wait)
{
	u64 run_delay = task->sched_info.run_delay;
	u32 pcount = task->sched_info.pcount, pid = task->pid, nivcsw = task->nivcsw;
	struct last_slice *last = last_slice_of(pid);
	/* kernel/sched/stats.h, sched_info_arrive: rq_clock(rq) - last_queued, in a moment. */
	u64 clock = task->se.cfs_rq->rq->clock;
	u64 here = clock - task->sched_info.last_queued;
	u64 before = 0;
	u16 left = 0;

	if ((s64)here < 0)
		here = 0;
	wait->unseen = 0;
	if (last->pid == pid && last->moved_asleep) {
		wait->kind = WAIT_WITH_SLEEP;
	} else if (last->pid == pid && last->pcount == pcount) {
		left = last->left_throttled;
		before = run_delay - last->run_delay;
		/* Two CPUs wrote the entry at once; better a part of the wait than nonsense. */
		if ((s64)before < 0)
			before = 0;
		if (last->seeded_waiting)
			wait->kind = WAIT_SINCE_BEFORE;
		else
			wait->kind = last->nivcsw != nivcsw ? WAIT_PREEMPTED : WAIT_WAKEUP;
	} else if (pcount == 0) {
		before = run_delay;
		wait->kind = WAIT_WAKEUP;
	} else if (!slices_seeded) {
		wait->kind = WAIT_SINCE_BEFORE;
	} else {
		/* Turns that were not traced, or another thread's turn is in the way. */
		wait->kind = WAIT_UNKNOWN;
		if (last->pid == pid && pcount > last->pcount)
			wait->unseen = pcount - last->pcount;
	}
	last->pid = pid;
	last->pcount = pcount + 1;
	barrier();
	last->run_delay = run_delay + here;
	last->nivcsw = nivcsw;
	last->seeded_waiting = false;
	last->moved_asleep = false;
	last->left_throttled = 0;
	wait->delay_ns = before + here;
	wait->throttled_ns = throttled_part(task, left, wait->delay_ns, clock);
}

/*
 * The wait of `task`, which gets this CPU, if it had one: the scheduler keeps no books for the idle
 * task, which is never queued. To be called for every task, so that its last turn is known when
 * the filter lets it in.
 */
static __always_inline bool sched_info_wait_ends(struct task_struct *task, struct wait *wait)
{
	if (!task->sched_info.last_queued) {
		sched_info_no_wait(task);
		return false;
	}
	sched_info_wait(task, wait);
	return true;
}

/* Says what is not certain about a wait; returns whether to count it. */
static __always_inline bool wait_counts(struct wait *wait)
{
	if (wait->kind == WAIT_WITH_SLEEP) {
		count_loss(LOSS_WAITS_MISBOOKED);
		return false;
	}
	if (wait->unseen)
		count_losses(LOSS_WAITS_UNSEEN, wait->unseen);
	else if (wait->kind == WAIT_UNKNOWN)
		count_loss(LOSS_WAIT_START_UNKNOWN);
	return true;
}

/*
 * Run once, as soon as switch programs are attached: the last turns of tasks that exist already.
 * A task that has a turn meanwhile has an entry of its own, or loses it again at the end; its next
 * wait is then one of unknown start.
 */
SEC("iter/task")
int seed_slices(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct last_slice *last;
	u32 pid, pcount;

	if (!task) {
		slices_seeded = true;
		return 0;
	}
	pid = task->pid;
	last = last_slice_of(pid);
	if (last->pid == pid)
		return 0;
	pcount = task->sched_info.pcount;
	barrier();
	last->run_delay = task->sched_info.run_delay;
	last->nivcsw = task->nivcsw;
	last->seeded_waiting = task->sched_info.last_queued != 0;
	last->moved_asleep = is_queued_asleep(task);
	last->left_throttled = throttle_begins(task);
	last->pid = pid;
	last->pcount = pcount;
	barrier();
	if (task->sched_info.pcount != pcount)
		last->pid = 0;
	return 0;
}

#endif
