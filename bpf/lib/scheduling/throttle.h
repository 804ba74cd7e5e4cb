/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Throttling: a thread could run, but its control group has used up its CPU quota. Which part of a
 * wait was that?
 *
 * It lasts from when the thread left its CPU until the group's queue on that CPU (a cfs_rq) has
 * quota again; what the thread waits after that is the run queue. Nothing tells of the end as it
 * happens. But the kernel adds up for each queue for how long it was throttled, whenever such a
 * period ends, so the end is known at the next switch: it began then, and this much has been added.
 */
#ifndef TSTRACE_SCHEDULING_THROTTLE_H
#define TSTRACE_SCHEDULING_THROTTLE_H

#include "../kernel.h"
#include "throttle_account.h"

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
 * and 1. `own`: the thread's queue, by queue_of().
 */
static __always_inline u16 throttle_begins(struct task_struct *task, struct cfs_rq *own)
{
	struct cfs_rq___throttle *queue = (void *)own;
	u16 cpu = 0;

	if (!is_throttled(task, own))
		return 0;
	barrier();
	throttle_period(queue, queue->rq->clock);
	throttle_keep_run_queue(queue);
	cpu = queue->rq->cpu + 1;
	barrier();
	return cpu;
}

/*
 * Of a thread that left its CPU throttled at `from`: until when it was. If it was moved to another
 * CPU before its quota came back, until then.
 */
static __always_inline u64 throttled_until(struct task_struct *task, struct cfs_rq *own,
					   struct throttle *last, u64 from, u64 clock)
{
	u64 last_queued = task->sched_info.last_queued;

	/* Not one load for whatever is returned: the verifier wants one type at each. */
	barrier_var(last_queued);
	if ((s64)(from - last->begin) < -THROTTLE_SLACK_NS)
		return last->earlier_end;
	if (last->end)
		return last->end;
	return is_throttled(task, own) ? clock : last_queued;
}

/* A function of its own: it is hardly ever called, and at several places. */
static __noinline u64 throttled_part_of(struct task_struct *task, struct cfs_rq *own, u16 left,
					u64 waited_ns, u64 clock)
{
	struct cfs_rq___throttle *queue = (void *)own;
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
		until = throttled_until(task, own, last, from, clock);
	} else if (throttle_has_flag() && !begin_unseen) {
		return 0;
	} else {
		until = last->end ? last->end : is_throttled(task, own) ? clock : from;
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
	return throttled_part_of(task, queue, left, waited_ns, clock);
}

#endif
