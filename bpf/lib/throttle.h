/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Throttling: a thread could run, but its control group has used up its CPU quota. Which part of a
 * wait was that?
 *
 * It lasts from when the thread left its CPU until the group's queue on that CPU (a cfs_rq) has
 * quota again; what the thread waits after that is the run queue. Nothing tells of the end as it
 * happens. But the kernel adds up for each queue for how long it was throttled, whenever such a
 * period ends, so the end is known at the next switch: it began then, and this much has been added.
 *
 * Since 6.18 (e1fad12dcb66) a thread is throttled by itself, as it returns to its program, and has
 * a flag. Before, all threads of the queue are, also those that were waiting, and that are woken.
 */
#ifndef TSTRACE_THROTTLE_H
#define TSTRACE_THROTTLE_H

#include "kernel.h"

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

struct task_group___throttle {
	struct cfs_rq___throttle **cfs_rq; /* by CPU */
};

struct task_struct___throttle {
	bool throttled;
	struct task_group___throttle *sched_task_group;
};

#pragma clang attribute pop

/* include/linux/sched/prio.h: below it are real-time threads, which have no such quota. */
#define THROTTLE_MAX_RT_PRIO 100
/* By how much two readings of a clock may differ, of two CPUs or converted from another clock. */
#define THROTTLE_SLACK_NS 1000000

/* A queue's last period, times by the run queue's clock. */
struct throttle {
	u64 begin;
	u64 end;	  /* 0: it was not over as somebody last looked */
	u64 earlier_end;  /* of the one before */
	u64 throttled_ns; /* by the queue's own account: before this period if it is not over */
	u64 lag_ns;	  /* then, of the clock of that account behind the run queue's */
};

/* By the queue's address. Of queues that are gone nothing is needed: those least used are out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct throttle);
} throttles SEC(".maps");

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

/* Whether a thread that could run and is on no CPU, or is about to leave it, is throttled. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct cfs_rq___throttle *queue;
	bool throttled = false;

	if (throttle_has_flag()) {
		barrier();
		throttled = ((struct task_struct___throttle *)task)->throttled;
		barrier();
	} else if (throttle_exists()) {
		barrier();
		queue = (void *)task->se.cfs_rq;
		throttled = queue->throttle_count > 0 && task->prio >= THROTTLE_MAX_RT_PRIO;
		barrier();
	}
	return throttled;
}

/* The queue that `task` has on a CPU where it was before. */
static __always_inline struct cfs_rq___throttle *throttle_queue_on(struct task_struct *task,
								   u32 cpu)
{
	struct task_struct___throttle *other = (void *)task;
	struct cfs_rq___throttle **queues, *queue = NULL;

	BPF_CORE_READ_INTO(&queues, other, sched_task_group, cfs_rq);
	bpf_probe_read_kernel(&queue, sizeof(queue), &queues[cpu]);
	return queue;
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

/* When the period ended that was not over before `reading`. */
static __always_inline u64 throttle_end(struct throttle *last, struct throttle_reading *reading)
{
	s64 ns = reading->throttled_ns - last->throttled_ns + reading->lag_ns - last->lag_ns;

	return last->begin + (ns > 0 ? ns : 0);
}

/* The queue of `task` is throttled, since now if that is not known already. */
static __noinline void throttle_period(struct cfs_rq___throttle *queue, u64 clock)
{
	struct throttle period = {.begin = clock}, *last;
	struct throttle_reading reading;
	u64 key = (u64)queue, since = 0;

	throttle_read(queue, &reading);
	last = bpf_map_lookup_elem(&throttles, &key);
	if (last && !last->end && last->throttled_ns == reading.throttled_ns)
		return;
	if (last)
		period.earlier_end = last->end ? last->end : throttle_end(last, &reading);
	if (bpf_core_field_exists(queue->throttled_clock_self)) {
		barrier();
		BPF_CORE_READ_INTO(&since, queue, throttled_clock_self);
		barrier();
	}
	if (since)
		period.begin = since;
	period.throttled_ns = reading.throttled_ns;
	period.lag_ns = reading.lag_ns;
	bpf_map_update_elem(&throttles, &key, &period, BPF_ANY);
}

/*
 * `task` leaves its CPU, or is found without one. Returns 0 if that is not because of a quota;
 * otherwise what throttled_part() is to be told when the wait is over: the number of the CPU,
 * and 1.
 */
static __always_inline u16 throttle_begins(struct task_struct *task)
{
	struct cfs_rq___throttle *queue;
	u16 cpu = 0;

	if (!is_throttled(task))
		return 0;
	barrier();
	queue = (void *)task->se.cfs_rq;
	throttle_period(queue, queue->rq->clock);
	cpu = queue->rq->cpu + 1;
	barrier();
	return cpu;
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

/*
 * Of a thread that left its CPU throttled at `from`: until when it was. If it was moved to another
 * CPU before its quota came back, until then.
 */
static __always_inline u64 throttled_until(struct task_struct *task, struct throttle *last,
					   u64 from, u64 clock)
{
	u64 last_queued = task->sched_info.last_queued;

	/* Not one load for whatever is returned: the verifier wants one type at each. */
	barrier_var(last_queued);
	if ((s64)(from - last->begin) < -THROTTLE_SLACK_NS)
		return last->earlier_end;
	if (last->end)
		return last->end;
	return is_throttled(task) ? clock : last_queued;
}

/* A function of its own: it is hardly ever called, and at several places. */
static __noinline u64 throttled_part_of(struct task_struct *task, struct cfs_rq___throttle *queue,
					u16 left, u64 waited_ns, u64 clock)
{
	u64 from = clock - waited_ns, until, key;
	struct throttle_reading reading;
	bool begin_unseen = false;
	struct throttle *last;

	if (left)
		queue = throttle_queue_on(task, left - 1);
	key = (u64)queue;
	throttle_read(queue, &reading);
	last = bpf_map_lookup_elem(&throttles, &key);
	if (!last) {
		/* The next period is then known to be the next one. */
		struct throttle none = {.begin = from, .end = from};

		none.throttled_ns = reading.throttled_ns;
		none.lag_ns = reading.lag_ns;
		bpf_map_update_elem(&throttles, &key, &none, BPF_ANY);
		return 0;
	}
	if (last->throttled_ns != reading.throttled_ns) {
		/*
		 * Nobody was seen to leave the CPU as it began. Before 6.18 the group may have had
		 * nobody there until it woke this one; or the kernel did not trace the switch.
		 */
		begin_unseen = last->end != 0;
		if (begin_unseen) {
			last->earlier_end = last->end;
			last->begin = from;
		}
		last->end = throttle_end(last, &reading);
		last->throttled_ns = reading.throttled_ns;
		last->lag_ns = reading.lag_ns;
	}
	if (left) {
		until = throttled_until(task, last, from, clock);
	} else if (throttle_has_flag() && !begin_unseen) {
		return 0;
	} else {
		until = last->end ? last->end : is_throttled(task) ? clock : from;
		if ((s64)(last->begin - from) > 0)
			from = last->begin;
	}
	if ((s64)(until - clock) > 0)
		until = clock;
	return (s64)(until - from) > 0 ? until - from : 0;
}

/*
 * How much of the last `waited_ns` up to `clock` (the run queue's), in which `task` could have run,
 * it was throttled. `queue`: the task's, by queue_of(). `left`: what throttle_begins() said when it
 * left its CPU.
 */
static __always_inline u64 throttled_part(struct task_struct *task, struct cfs_rq *queue, u16 left,
					  u64 waited_ns, u64 clock)
{
	/* The verifier does not know that `left` is 0 there, too. */
	if (!throttle_exists() || (!left && !throttle_possible(task, (void *)queue)))
		return 0;
	return throttled_part_of(task, (void *)queue, left, waited_ns, clock);
}

#endif
