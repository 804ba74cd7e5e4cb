/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The kernel's own account of CPU quotas, read as each kernel keeps it: whether a thread is
 * throttled now, and for how long a queue has been, up to its last period that is over.
 * throttle.h says which part of a wait that was.
 *
 * Since 6.18 (e1fad12dcb66) a thread is throttled by itself, as it returns to its program, and has
 * a flag. Before, all threads of the queue are, also those that were waiting, and that are woken.
 */
#ifndef TSTRACE_SCHEDULING_THROTTLE_ACCOUNT_H
#define TSTRACE_SCHEDULING_THROTTLE_ACCOUNT_H

#include "../kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq___throttle {
	u64 clock;
	u64 clock_task;
	u64 clock_pelt;
	u64 lost_idle_time;
	int cpu;
};

struct cfs_rq___throttle {
	struct rq___throttle *rq;
	int throttle_count; /* the group's own, and those of groups above it */
	/* For how long, by rq->clock, and since when; 6.6 (677ea015f231) */
	u64 throttled_clock_self_time;
	u64 throttled_clock_self;
	/* The same by another clock, 5.19 (64eaf50731ac), and before that by clock_task. */
	u64 throttled_clock_pelt_time;
	u64 throttled_clock_task_time;
};

/*
 * In 7.2 (not in 6.18) a group's queues are no array any more, but variables of each CPU. The array
 * of the group's entities has gone with that of its queues: by its absence one knows.
 */
struct task_group___until_7 {
	void **se;
	struct cfs_rq___throttle **cfs_rq; /* by CPU */
};

struct task_struct___throttle {
	bool throttled;
	struct task_group___until_7 *sched_task_group;
};

#pragma clang attribute pop

/* As many CPUs as filter.h knows. */
#define THROTTLE_CPUS 8192

/* Run queues, where throttled threads have left their CPUs: those of variables of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THROTTLE_CPUS);
	__type(key, u32);
	__type(value, u64);
} throttle_run_queues SEC(".maps");

/* include/linux/sched/prio.h: below it are real-time threads, which have no such quota. */
#define THROTTLE_MAX_RT_PRIO 100

/* A queue's account as read at one moment. */
struct throttle_reading {
	u64 throttled_ns;
	u64 lag_ns;
};

static __always_inline bool throttle_has_flag(void)
{
	return bpf_core_field_exists(((struct task_struct___throttle *)0)->throttled);
}

/* Without it (CONFIG_CFS_BANDWIDTH) no group has a quota. */
static __always_inline bool throttle_exists(void)
{
	return bpf_core_field_exists(((struct cfs_rq___throttle *)0)->throttle_count);
}

/*
 * Whether a thread that could run and is on no CPU, or is about to leave it, is throttled. `own`:
 * its queue, by queue_of().
 */
static __always_inline bool is_throttled(struct task_struct *task, struct cfs_rq *own)
{
	struct cfs_rq___throttle *queue = (void *)own;
	bool throttled = false;

	if (throttle_has_flag()) {
		barrier();
		throttled = ((struct task_struct___throttle *)task)->throttled;
		barrier();
	} else if (throttle_exists()) {
		barrier();
		throttled = queue->throttle_count > 0 && task->prio >= THROTTLE_MAX_RT_PRIO;
		barrier();
	}
	return throttled;
}

/* `queue` is on the CPU that is left; throttle_queue_on() may have to find it from another one. */
static __always_inline void throttle_keep_run_queue(struct cfs_rq___throttle *queue)
{
	u64 rq = (u64)queue->rq;
	u32 cpu = queue->rq->cpu;

	if (!bpf_core_field_exists(struct task_group___until_7, se))
		bpf_map_update_elem(&throttle_run_queues, &cpu, &rq, BPF_ANY);
}

/* The queue that `task` has on a CPU that it left throttled. */
static __always_inline struct cfs_rq___throttle *throttle_queue_on(struct task_struct *task,
								   u32 cpu)
{
	struct task_struct___throttle *other = (void *)task;
	struct cfs_rq___throttle **queues, *queue = NULL;
	u64 here = 0, rq = 0, *there;

	if (bpf_core_field_exists(struct task_group___until_7, se)) {
		BPF_CORE_READ_INTO(&queues, other, sched_task_group, cfs_rq);
		bpf_probe_read_kernel(&queue, sizeof(queue), &queues[cpu]);
		return queue;
	}
	there = bpf_map_lookup_elem(&throttle_run_queues, &cpu);
	if (!there)
		return NULL;
	/* Variables of two CPUs are all as far from each other as the run queues are. */
	BPF_CORE_READ_INTO(&here, task, se.cfs_rq);
	BPF_CORE_READ_INTO(&rq, (struct cfs_rq___throttle *)here, rq);
	return (void *)(here + (*there - rq));
}

/*
 * Before 6.6 a queue's account is by a clock that stands still for interrupts and other guests, or
 * goes slower with the CPU's frequency until it is idle: how far it is behind has to be added.
 */
static __always_inline void throttle_read(struct cfs_rq___throttle *queue,
					  struct throttle_reading *reading)
{
	u64 clock = 0, other = 0, lost = 0;

	reading->lag_ns = 0;
	if (bpf_core_field_exists(queue->throttled_clock_self_time)) {
		barrier();
		BPF_CORE_READ_INTO(&reading->throttled_ns, queue, throttled_clock_self_time);
		barrier();
		return;
	}
	BPF_CORE_READ_INTO(&clock, queue, rq, clock);
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time)) {
		barrier();
		BPF_CORE_READ_INTO(&reading->throttled_ns, queue, throttled_clock_pelt_time);
		BPF_CORE_READ_INTO(&other, queue, rq, clock_pelt);
		BPF_CORE_READ_INTO(&lost, queue, rq, lost_idle_time);
		barrier();
	} else {
		barrier();
		BPF_CORE_READ_INTO(&reading->throttled_ns, queue, throttled_clock_task_time);
		BPF_CORE_READ_INTO(&other, queue, rq, clock_task);
		barrier();
	}
	reading->lag_ns = clock - (other - lost);
}

/*
 * Whether `queue`, which is that of `task`, was ever throttled. With no more than a few loads,
 * since this is asked whenever a wait ends.
 */
static __always_inline bool throttle_possible(struct task_struct *task,
					      struct cfs_rq___throttle *queue)
{
	u64 throttled_ns = 0;

	if (bpf_core_field_exists(queue->throttled_clock_self_time)) {
		barrier();
		throttled_ns = queue->throttled_clock_self_time;
		barrier();
	} else if (bpf_core_field_exists(queue->throttled_clock_pelt_time)) {
		barrier();
		throttled_ns = queue->throttled_clock_pelt_time;
		barrier();
	} else {
		barrier();
		throttled_ns = queue->throttled_clock_task_time;
		barrier();
	}
	return throttled_ns && task->prio >= THROTTLE_MAX_RT_PRIO;
}

#endif
