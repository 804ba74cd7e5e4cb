/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Threads off the CPU: since when, and why. What the time was: off_cpu_parts.h.
 */
#ifndef TSTRACE_SCHEDULING_OFF_CPU_H
#define TSTRACE_SCHEDULING_OFF_CPU_H

#include "../kernel.h"
#include "../loss.h"
#include "clock.h"
#include "moved_asleep.h"
#include "throttle.h"

/* Where local storage cannot be made at a switch (before 6.4), threads are kept in a hash. */
const volatile bool threads_in_hash = false;

/* Since 5.18 (fa2c3254d7cf) the tracepoint says in which state a thread stopped. */
const volatile bool switch_has_state = false;

/* A state that the kernel has no bit for: TASK_RUNNING is 0. */
#define OFFCPU_RUNNABLE (1U << 31)

struct off_cpu {
	u64 since_ns;	/* CLOCK_MONOTONIC; 0: it is on a CPU, or was never seen */
	u64 run_delay;	/* of sched_info, then */
	u64 woken_ns;	/* where the kernel keeps no sched_info */
	u64 user_stack; /* a hash, if it was walked then */
	u32 state;	/* TASK_*, as of then */
	bool preempted;
	bool moved_asleep;  /* see moved_asleep.h */
	bool is_edge;	    /* the wait began before tracing did */
	u16 left_throttled; /* see throttle_begins */
#ifdef OFF_CPU_MORE
	/* What the tools of waits keep beyond that: waits/entry.h. */
	OFF_CPU_MORE
#endif
};

/* Not on a program's stack, of which there are 512 bytes in all. */
const struct off_cpu no_off_cpu = {};

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
	struct off_cpu *off;
	u32 pid;

	if (!threads_in_hash) {
		off = bpf_task_storage_get(&off_cpus, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	} else {
		pid = task->pid;
		bpf_map_update_elem(&off_cpus_by_pid, &pid, &no_off_cpu, BPF_NOEXIST);
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
	/* include/trace/events/sched.h, __trace_sched_switch_state: preempted means runnable. */
	off->preempted = preempt || state == 0;
	off->state = off->preempted ? OFFCPU_RUNNABLE : state;
	off->user_stack = user_stack;
	off->woken_ns = 0;
	off->moved_asleep = false;
	off->is_edge = false;
	off->left_throttled = off->preempted ? left : 0;
	if (has_sched_info) {
		barrier();
		off->run_delay = prev->sched_info.run_delay;
		barrier();
	}
	/* Last: who sees this on another CPU may set what else is kept of the wait. */
	barrier();
	off->since_ns = now_ns;
}

/* A thread that is off the CPU, and was not seen to stop, waits from when tracing began. */
static __always_inline void off_cpu_seed(struct task_struct *task, u64 user_stack, u64 begun_ns)
{
	u64 switches = task->nvcsw + task->nivcsw, since_ns = begun_ns;
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
	off->is_edge = true;
	off->left_throttled = state == TASK_RUNNING ? throttle_begins(task, queue_of(task)) : 0;
	if (has_sched_info) {
		barrier();
		off->run_delay = task->sched_info.run_delay;
		off->moved_asleep = is_queued_asleep(task);
		barrier();
	}
	if (task->start_time > since_ns)
		since_ns = task->start_time;
	/* It may have been blocked until now. */
	if (!state)
		since_ns = bpf_ktime_get_ns();
	off->since_ns = since_ns;
	barrier();
	/* It may have got a CPU meanwhile, and be on it. */
	if (task->on_cpu || task->nvcsw + task->nivcsw != switches)
		off->since_ns = 0;
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
