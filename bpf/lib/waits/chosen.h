/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Which waits of off_cpu.bpf.c count, and what they count as. */
#ifndef TSTRACE_WAITS_CHOSEN_H
#define TSTRACE_WAITS_CHOSEN_H

#include "../filter.h"
#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"
#include "../sampling.h"
#include "../stacks/stacks.h"
#include "../stacks/sums.h"
#include "entry.h"
#include "records.h"
#include "wakers.h"
#include "wanted.h"

#include "../scheduling/off_cpu_parts.h"

_Static_assert((int)OFFCPU_PARTS == (int)STACK_PARTS, "a sum has room for the parts of a wait");

/* 0: every wait. User space may raise it while tracing. */
volatile u64 period_ns;

/* Instead of a user stack's hash: the thread stopped before tracing began. */
#define NOT_WALKED (~0ULL)

/* When programs began to look for threads that wait already; 0: they have not. */
u64 begun_ns;

/* When tracing ended; 0: it goes on. Waits that are open then are counted up to there. */
u64 ended_ns;

/* A wait that was chosen, on the CPU where its thread resumes in a moment. */
struct chosen {
	u32 pid; /* the kernel's; 0: none */
	bool first_wait;
	bool counts; /* see struct wait_record */
	bool preempted;
	bool traced;
	u64 begin_ns;
	u64 woken_ns;
	struct offcpu_parts parts;
	struct sampled sampled;
	struct stack_key key;
	struct waker waker;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct chosen);
} chosen_here SEC(".maps");

static __always_inline void record_wait(u32 pid, struct chosen *wait)
{
	struct wait_record *record;

	if (!keep_stacks_of(&wait->key) && wait->counts)
		count_loss(LOSS_STACKS_FULL);
	record = reserve_record(pid, WAIT_BLOCKED);
	if (!record)
		return;
	record->begin_ns = wait->begin_ns;
	record->end_ns = wait->woken_ns;
	record->counts = wait->counts;
	record->waker_pid = wait->waker.known ? wait->waker.pid : 0;
	record->waker_born_ns = wait->waker.born_ns;
	weigh_record(record, &wait->sampled);
	record->key = wait->key;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* When a thread that gets a CPU began to wait for it; 0: it is not known. */
static __always_inline u64 queued_since(struct task_struct *task, struct cfs_rq *queue,
					struct off_cpu *off, u64 now_ns)
{
	u64 queued = 0;

	if (off->preempted)
		return off->since_ns;
	if (off->woken_ns)
		return off->woken_ns;
	/* Nobody was seen to wake it. */
	if (has_sched_info && !off->moved_asleep) {
		barrier();
		queued = queued_ns(task, off, kept_clock_of(queue));
		barrier();
	}
	return queued && queued < now_ns - off->since_ns ? now_ns - queued : 0;
}

/*
 * Of the `waited_ns` since a thread was woken: how long it was not on a run queue yet. The waker
 * sends an interrupt to the thread's CPU, and an idle one has to wake up before it puts the thread
 * on its run queue (kernel/sched/core.c, ttwu_queue_wakelist). The kernel's run_delay begins there.
 */
static __always_inline u64 waking_part(struct task_struct *task, struct cfs_rq *queue,
				       struct off_cpu *off, u64 waited_ns)
{
	u64 queued, last_queued;

	if (!has_sched_info || off->preempted || off->moved_asleep || !off->woken_ns)
		return 0;
	barrier();
	last_queued = task->sched_info.last_queued;
	/* Often 0: what wakes a thread on an idle CPU switches to it by the same reading of the
	 * clock. */
	queued = queued_ns(task, off, kept_clock_of(queue));
	barrier();
	return last_queued && queued < waited_ns ? waited_ns - queued : 0;
}

/*
 * The thread waited for a CPU until now; `begin_ns` 0: nobody knows since when. Why it did, the
 * parts in `chosen_here` say. A function of its own: the verifier goes through it once.
 */
__noinline int record_wait_for_cpu(u32 pid, u64 begin_ns, u64 now_ns, u64 waking_ns)
{
	u32 zero = 0;
	struct chosen *wait = bpf_map_lookup_elem(&chosen_here, &zero);
	struct wait_record *record;
	struct sampled sampled;

	if (!wait || !begin_ns || begin_ns >= now_ns ||
	    !sample_by_duration(now_ns - begin_ns, period_ns, &sampled))
		return 0;
	record = reserve_record(pid, WAIT_FOR_CPU);
	if (!record)
		return 0;
	record->begin_ns = begin_ns;
	record->end_ns = now_ns;
	record->throttled_ns = wait->parts.ns[OFFCPU_THROTTLED];
	record->waking_ns = waking_ns;
	record->preempted = wait->preempted;
	record->counts = wait->traced;
	weigh_record(record, &sampled);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Counts the wait in `chosen_here`; `pid`: of its thread, as the kernel has it. A function of its
 * own: what comes behind a walk the verifier follows many times.
 */
__noinline int add_wait(u32 pid)
{
	u32 zero = 0;
	struct chosen *wait = bpf_map_lookup_elem(&chosen_here, &zero);
	struct stack_sum *sum;

	if (!wait)
		return 0;
	if (with_wakers)
		wait->key.waker = kept_waker(&wait->waker);
	if (followed_wakers) {
		record_wait(pid, wait);
		return 0;
	}
	sum = sum_of(&wait->key);
	if (!sum)
		return 0;
	add_to(&sum->count, wait->sampled.count);
	add_to(&sum->doubt, wait->sampled.doubt);
	for (int i = 0; i < OFFCPU_PARTS; i++)
		add_to(&sum->parts[i], wait->parts.ns[i]);
	return 0;
}

/* A weighed wait keeps the proportions of its parts. */
static __always_inline void weigh_parts(struct offcpu_parts *parts, u64 duration_ns,
					struct sampled *sampled)
{
	if (!sampled->doubt)
		return;
	for (int i = 0; i < OFFCPU_PARTS; i++)
		parts->ns[i] = parts->ns[i] * sampled->weighed_ns / duration_ns;
}

static __always_inline void only_blocked(struct offcpu_parts *parts)
{
	parts->ns[OFFCPU_RUN_QUEUE] = 0;
	parts->ns[OFFCPU_PREEMPTED] = 0;
	parts->ns[OFFCPU_THROTTLED] = 0;
}

/*
 * Of a wait, with walk_wakers: whether it is chosen. That was decided as the thread was woken;
 * else, where nobody was seen to do that, it is now, of a wait that is over. `blocked_ns` gets how
 * long it was.
 */
static __always_inline bool choose_blocked(struct task_struct *task, struct cfs_rq *queue,
					   struct off_cpu *off, u64 duration_ns, u64 clock,
					   struct offcpu_parts *parts, struct sampled *sampled,
					   u64 *blocked_ns)
{
	if (off->waker.known) {
		parts->ns[OFFCPU_BLOCKED] = off->blocked.weighed_ns;
		only_blocked(parts);
		*sampled = off->blocked;
		*blocked_ns = off->woken_ns > off->since_ns ? off->woken_ns - off->since_ns : 0;
		return off->blocked.count;
	}
	offcpu_split(task, queue, off, duration_ns, clock, parts);
	only_blocked(parts);
	*blocked_ns = parts->ns[OFFCPU_BLOCKED];
	if (!*blocked_ns || !blocked_wanted(off, *blocked_ns) ||
	    !sample_by_duration(*blocked_ns, ended_ns ? 0 : period_ns, sampled))
		return false;
	parts->ns[OFFCPU_BLOCKED] = sampled->weighed_ns;
	return true;
}

/* From when to when it was blocked, for its record. */
static __always_inline void note_times(struct task_struct *task, struct off_cpu *off,
				       struct chosen *wait, u64 blocked_ns)
{
	wait->begin_ns = off->since_ns;
	wait->woken_ns = off->since_ns + blocked_ns;
	wait->counts =
		filter_has(task) && (edges_count || !off->is_edge) && wait_wanted(off, blocked_ns);
}

/*
 * `next` gets this CPU after a wait; returns whether the wait was chosen, and is in `wait`.
 * `queue`: the thread's, by queue_of().
 */
static __always_inline bool choose_wait(struct task_struct *next, struct cfs_rq *queue, u64 now_ns,
					struct chosen *wait)
{
	struct off_cpu *off = off_cpu_of(next);
	u64 duration_ns, blocked_ns = 0;

	wait->preempted = false;
	wait->traced = followed_wakers && filter_has(next);
	wait->parts.ns[OFFCPU_THROTTLED] = 0;
	if (!off || !off->since_ns) {
		if (followed_wakers && offcpu_first_wait(next, queue, &wait->parts, &duration_ns))
			record_wait_for_cpu(look(next, pid), now_ns - duration_ns, now_ns, 0);
		if (walk_wakers || !filter_has(next) ||
		    !offcpu_first_wait(next, queue, &wait->parts, &duration_ns) ||
		    (state_mask && !(state_mask & OFFCPU_RUNNABLE)) || duration_ns < shortest_ns ||
		    (longest_ns && duration_ns > longest_ns) ||
		    !sample_by_duration(duration_ns, period_ns, &wait->sampled))
			return false;
	} else {
		duration_ns = now_ns - off->since_ns;
		if ((s64)duration_ns < 0)
			duration_ns = 0;
		/* The filter last: it takes the longest, and most waits are not sampled. */
		if (!(walk_wakers ||
		      (wait_wanted(off, duration_ns) &&
		       sample_by_duration(duration_ns, period_ns, &wait->sampled))) ||
		    !(followed_wakers || filter_has(next))) {
			wait_ends(next, off);
			return false;
		}
		if (followed_wakers) {
			u64 begin_ns = queued_since(next, queue, off, now_ns);
			u64 waking_ns = 0;

			wait->preempted = off->preempted;
			if (begin_ns && begin_ns < now_ns) {
				split_throttled(next, queue, off, now_ns - begin_ns,
						kept_clock_of(queue), &wait->parts);
				waking_ns = waking_part(next, queue, off, now_ns - begin_ns);
			}
			record_wait_for_cpu(look(next, pid), begin_ns, now_ns, waking_ns);
		}
	}
	if (walk_wakers && !choose_blocked(next, queue, off, duration_ns, kept_clock_of(queue),
					   &wait->parts, &wait->sampled, &blocked_ns)) {
		wait_ends(next, off);
		return false;
	}
	stack_key_of(next, &wait->key);
	wait->first_wait = !off || !off->since_ns;
	if (followed_wakers && off)
		note_times(next, off, wait, blocked_ns);
	if (with_wakers) {
		wait->waker.known = false;
		if (off && !off->preempted)
			wait->waker = off->waker;
	}
	if (off && off->since_ns) {
		if (!walk_wakers)
			offcpu_split(next, queue, off, duration_ns, kept_clock_of(queue),
				     &wait->parts);
		wait->key.user = off->user_stack;
		if (off->user_stack == NOT_WALKED) {
			wait->key.user = LOST_STACK;
			count_loss(LOSS_STACK_WALK_FAILED);
		}
		wait_ends(next, off);
	}
	if (!walk_wakers)
		weigh_parts(&wait->parts, duration_ns, &wait->sampled);
	return true;
}

#endif
