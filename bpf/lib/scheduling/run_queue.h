/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * When did the wait begin that ends now? By sched_info, read at sched_switch just before
 * the kernel updates it: no hook at wake-up, no time stamps. It needs CONFIG_SCHED_INFO and
 * CONFIG_FAIR_GROUP_SCHED; stamped_run_queue.h is for kernels without them.
 */
#ifndef TSTRACE_SCHEDULING_RUN_QUEUE_H
#define TSTRACE_SCHEDULING_RUN_QUEUE_H

#include "../filter.h"
#include "../kernel.h"
#include "../loss.h"
#include "../merged.h"
#include "moved_asleep.h"
#include "throttle.h"

/*
 * How a thread came to wait for a CPU: what runqlat's --split shows apart. What blocked threads
 * wait for is another thing: src/aggregate/wait-kinds.ts.
 */
enum run_queue_kind {
	QUEUED_WAKEUP,	     /* it had slept, or is new */
	QUEUED_PREEMPTED,    /* it was taken off the CPU while it could have gone on */
	QUEUED_SINCE_BEFORE, /* it waited already when tracing began */
	QUEUED_UNKNOWN, /* the thread's last time slice is not known, see LOSS_WAIT_START_UNKNOWN */
	QUEUED_THROTTLED, /* the part of any wait in which its group had no quota */
	QUEUED_KINDS,
	QUEUED_WITH_SLEEP = QUEUED_KINDS, /* never counted, see sched_info_moved_asleep */
};

EXPORT_TYPE(enum run_queue_kind, run_queue_kind);

/*
 * sched_info.last_queued is when the thread joined *this* run queue. A thread that waits on one CPU
 * and is then moved to another (as happens in long waits) starts anew there; run_delay has what it
 * waited before. So we keep the run_delay of the thread's last time slice. A table by thread number
 * takes a nanosecond or two for it, task storage 25. An entry is used only if it is the thread's
 * own (pid) and of its last time slice (pcount).
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

/* Set when the last time slices of all threads older than tracing are known. */
bool slices_seeded;

/* How long a thread was on run queues, as it gets this CPU. */
struct queued {
	u64 latency_ns;
	u64 throttled_ns; /* of them */
	u32 kind;
	/* Time slices just before this one without an event: some kernels do not trace all
	 * switches. */
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
 * `task` gets this CPU, and sched_info says that it was not queued: it was preempted on its way to
 * sleep. The kernel does not count such a wait either; only the number of preemptions changed.
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

/* A thread is moved. If it sleeps, its next wait would be mostly sleep, and is not counted. */
static __always_inline void sched_info_moved_asleep(struct task_struct *task)
{
	struct last_slice *last;

	if (!is_moved_asleep(task))
		return;
	last = last_slice_of(task->pid);
	if (last->pid == (u32)task->pid)
		last->moved_asleep = true;
}

/* `task` leaves its CPU; `queue`: its own, by queue_of(). */
static __always_inline void sched_info_slice_ends(struct task_struct *task, struct cfs_rq *queue)
{
	u16 left = throttle_begins(task, queue);
	struct last_slice *last;

	if (!left)
		return;
	last = last_slice_of(task->pid);
	if (last->pid == (u32)task->pid)
		last->left_throttled = left;
}

/* The wait of the queued `task`, which the scheduler is about to give this CPU. */
static __always_inline void sched_info_wait(struct task_struct *task, struct cfs_rq *queue,
					    struct queued *queued)
{
	u64 run_delay = task->sched_info.run_delay;
	u32 pcount = task->sched_info.pcount, pid = task->pid, nivcsw = task->nivcsw;
	struct last_slice *last = last_slice_of(pid);
	/* kernel/sched/stats.h, sched_info_arrive: rq_clock(rq) - last_queued, in a moment. */
	u64 clock = queue->rq->clock;
	u64 here = clock - task->sched_info.last_queued;
	u64 before = 0;
	u16 left = 0;

	if ((s64)here < 0)
		here = 0;
	queued->unseen = 0;
	if (last->pid == pid && last->moved_asleep) {
		queued->kind = QUEUED_WITH_SLEEP;
	} else if (last->pid == pid && last->pcount == pcount) {
		left = last->left_throttled;
		before = run_delay - last->run_delay;
		/* Two CPUs wrote the entry at once; better a part of the wait than nonsense. */
		if ((s64)before < 0)
			before = 0;
		if (last->seeded_waiting)
			queued->kind = QUEUED_SINCE_BEFORE;
		else
			queued->kind = last->nivcsw != nivcsw ? QUEUED_PREEMPTED : QUEUED_WAKEUP;
	} else if (pcount == 0) {
		before = run_delay;
		queued->kind = QUEUED_WAKEUP;
	} else if (!slices_seeded) {
		queued->kind = QUEUED_SINCE_BEFORE;
	} else {
		/* Its time slices were not traced, or another thread has the entry. */
		queued->kind = QUEUED_UNKNOWN;
		if (last->pid == pid && pcount > last->pcount)
			queued->unseen = pcount - last->pcount;
	}
	last->pid = pid;
	last->pcount = pcount + 1;
	barrier();
	last->run_delay = run_delay + here;
	last->nivcsw = nivcsw;
	last->seeded_waiting = false;
	last->moved_asleep = false;
	last->left_throttled = 0;
	queued->latency_ns = before + here;
	queued->throttled_ns = merged(throttled_part(task, queue, left, queued->latency_ns, clock));
	queued->kind = merged(queued->kind);
	queued->unseen = merged(queued->unseen);
}

/*
 * The wait of `task`, which gets this CPU, if it waited; `queue`: its own, by queue_of(). The idle
 * thread is never queued. Call this for every thread, so that its last time slice is known when the
 * filter lets it in. Where it cannot, as the thread is another process's, the wait is not looked
 * at.
 */
static __always_inline bool sched_info_wait_ends(struct task_struct *task, struct cfs_rq *queue,
						 struct queued *queued)
{
	if (filter_never_has(task))
		return false;
	if (!task->sched_info.last_queued) {
		sched_info_no_wait(task);
		return false;
	}
	sched_info_wait(task, queue, queued);
	return true;
}

/* Says what is not certain about a wait; returns whether to count it. */
static __always_inline bool queued_counts(struct queued *queued)
{
	if (queued->kind == QUEUED_WITH_SLEEP) {
		count_loss(LOSS_WAITS_MISBOOKED);
		return false;
	}
	if (queued->unseen)
		count_losses(LOSS_WAITS_UNSEEN, queued->unseen);
	else if (queued->kind == QUEUED_UNKNOWN)
		count_loss(LOSS_WAIT_START_UNKNOWN);
	return true;
}

/*
 * Run once, as soon as switch programs are attached: the last time slices of threads that exist. A
 * thread that runs meanwhile has written its own entry, or loses it at the end of this program;
 * then the start of its next wait is unknown.
 */
SEC("iter/task")
int seed_slices(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct last_slice *last;
	struct cfs_rq *queue;
	u32 pid, pcount;

	if (!task) {
		slices_seeded = true;
		return 0;
	}
	queue = queue_of(task);
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
	last->left_throttled = throttle_begins(task, queue);
	last->pid = pid;
	last->pcount = pcount;
	barrier();
	if (task->sched_info.pcount != pcount)
		last->pid = 0;
	return 0;
}

#endif
