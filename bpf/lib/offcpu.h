/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Threads off the CPU: since when, why, and which part of the time was what.
 *
 * A wait is *blocked* until the thread is woken, then *run queue* until it gets a CPU; a thread
 * that was taken off the CPU while it could have gone on is *preempted* all the time. Of either,
 * what its control group had no quota for is *throttled*; then it is in the run queue (throttle.h).
 */
#ifndef TSTRACE_OFFCPU_H
#define TSTRACE_OFFCPU_H

#include "clock.h"
#include "kernel.h"
#include "loss.h"
#include "moved_asleep.h"
#include "throttle.h"

enum offcpu_part {
	OFFCPU_BLOCKED,
	OFFCPU_RUN_QUEUE,
	OFFCPU_PREEMPTED,
	OFFCPU_THROTTLED,
	OFFCPU_PARTS,
};

EXPORT_TYPE(enum offcpu_part, offcpu_part);

/* Where local storage cannot be made at a switch (before 6.4), threads are kept in a hash. */
const volatile bool threads_in_hash = false;
/* Waits in these states only: TASK_* bits, or OFFCPU_RUNNABLE; 0: all. */
const volatile u32 state_mask = 0;
/* A state is one letter: an idle kernel thread (I) is not also uninterruptible (D). */
const volatile bool state_exclusive = false;

/* Since 5.18 (fa2c3254d7cf) the tracepoint says in which state a thread stopped. */
const volatile bool switch_has_state = false;

/* A bit of state_mask that the kernel has no bit for: TASK_RUNNING is 0. */
#define OFFCPU_RUNNABLE	     (1U << 31)
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_NOLOAD	     0x0400

struct offcpu_parts {
	u64 ns[OFFCPU_PARTS];
};

struct off_cpu {
	u64 since_ns;	/* CLOCK_MONOTONIC; 0: it is on a CPU, or was never seen */
	u64 run_delay;	/* of sched_info, then */
	u64 woken_ns;	/* where the kernel keeps no sched_info */
	u64 user_stack; /* a hash, if it was walked then */
	u32 state;	/* TASK_*, as of then */
	bool preempted;
	bool moved_asleep;  /* see moved_asleep.h */
	u16 left_throttled; /* see throttle_begins */
};

/* Set when the threads that waited before tracing began are all known. */
bool offcpu_seeded;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct off_cpu);
} off_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, struct off_cpu);
} off_cpus_by_pid SEC(".maps");

/* The entry of a task; NULL when there is none. */
static __always_inline struct off_cpu *off_cpu_of(struct task_struct *task)
{
	u32 pid;

	if (!threads_in_hash)
		return bpf_task_storage_get(&off_cpus, task, NULL, 0);
	pid = task->pid;
	return bpf_map_lookup_elem(&off_cpus_by_pid, &pid);
}

/* The entry of a task, a new one if need be; NULL when there is no room, which is counted. */
static __always_inline struct off_cpu *off_cpu_new(struct task_struct *task)
{
	struct off_cpu *off, none = {};
	u32 pid;

	if (!threads_in_hash) {
		off = bpf_task_storage_get(&off_cpus, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	} else {
		pid = task->pid;
		bpf_map_update_elem(&off_cpus_by_pid, &pid, &none, BPF_NOEXIST);
		off = bpf_map_lookup_elem(&off_cpus_by_pid, &pid);
	}
	if (!off)
		count_loss(LOSS_WAIT_TABLE_FULL);
	return off;
}

/* The wait is over. The hash holds only threads that wait now. */
static __always_inline void off_cpu_ends(struct task_struct *task, struct off_cpu *off)
{
	u32 pid = task->pid;

	off->since_ns = 0;
	if (threads_in_hash)
		bpf_map_delete_elem(&off_cpus_by_pid, &pid);
}

/*
 * The state in which `prev` stopped. Its own field may have changed by now, if another CPU wakes
 * it.
 */
static __always_inline u32 stopped_state(unsigned long long *ctx, struct task_struct *prev)
{
	u32 state;

	if (!switch_has_state)
		return task_state(prev);
	barrier();
	state = ctx[3];
	barrier();
	return state;
}

/*
 * `prev` leaves this CPU; `left` is what throttle_begins() says of it. A thread that has ended
 * never comes back.
 */
static __always_inline void off_cpu_begins(struct task_struct *prev, bool preempt, u32 state,
					   u16 left, u64 now_ns, u64 user_stack)
{
	bool dead = state & TASK_DEAD && !preempt;
	struct off_cpu *off;

	off = dead ? off_cpu_of(prev) : off_cpu_new(prev);
	if (!off)
		return;
	if (off->since_ns)
		count_loss(LOSS_WAITS_UNSEEN);
	if (dead) {
		off_cpu_ends(prev, off);
		return;
	}
	off->since_ns = now_ns;
	/* include/trace/events/sched.h, __trace_sched_switch_state: preempted means runnable. */
	off->preempted = preempt || state == 0;
	off->state = off->preempted ? OFFCPU_RUNNABLE : state;
	off->user_stack = user_stack;
	off->woken_ns = 0;
	off->moved_asleep = false;
	off->left_throttled = off->preempted ? left : 0;
	if (has_sched_info) {
		barrier();
		off->run_delay = prev->sched_info.run_delay;
		barrier();
	}
}

/* A thread that is off the CPU as tracing begins waits from then on. */
static __always_inline void off_cpu_seed(struct task_struct *task, u64 user_stack)
{
	u64 switches = task->nvcsw + task->nivcsw;
	struct off_cpu *off;
	u32 state;

	if (task->on_cpu || task->exit_state)
		return;
	off = off_cpu_new(task);
	if (!off || off->since_ns)
		return;
	state = task_state(task);
	/* What is on a run queue may have been woken or preempted; sched_info does not say which.
	 */
	off->preempted = state == 0 && !has_sched_info;
	off->state = state ? state : OFFCPU_RUNNABLE;
	off->user_stack = user_stack;
	off->left_throttled = state == TASK_RUNNING ? throttle_begins(task) : 0;
	if (has_sched_info) {
		barrier();
		off->run_delay = task->sched_info.run_delay;
		off->moved_asleep = is_queued_asleep(task);
		barrier();
	}
	off->since_ns = bpf_ktime_get_ns();
	barrier();
	/* It may have got a CPU meanwhile, and be on it. */
	if (task->on_cpu || task->nvcsw + task->nivcsw != switches)
		off->since_ns = 0;
}

static __always_inline bool offcpu_state_wanted(struct off_cpu *off)
{
	u32 state = off->state;

	if (!state_mask)
		return true;
	if (state_exclusive && state & TASK_NOLOAD)
		state &= ~TASK_UNINTERRUPTIBLE;
	return state & state_mask;
}

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
	throttled_ns = throttled_part(task, queue, off->left_throttled, waited_ns,
				      has_sched_info ? clock : clock_of(queue));
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

SEC("tp_btf/sched_wakeup")
int BPF_PROG(offcpu_wakeup, struct task_struct *task)
{
	struct off_cpu *off = off_cpu_of(task);

	if (off && off->since_ns && !off->woken_ns)
		off->woken_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(offcpu_migrate, struct task_struct *task)
{
	struct off_cpu *off;

	if (!is_moved_asleep(task))
		return 0;
	off = off_cpu_of(task);
	if (off)
		off->moved_asleep = true;
	return 0;
}

#endif
