/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Each wait that was chosen, by itself and not in a sum: so that user space can tell what a waker
 * did while others waited for it (src/aggregate/chains.ts).
 *
 * A record is written as its thread resumes, before the thread can wake anybody. So whatever
 * happened before a wake-up is in the ring before the record of the wait that this one ended.
 */
#ifndef TSTRACE_WAIT_RECORDS_H
#define TSTRACE_WAIT_RECORDS_H

#include "filter.h"
#include "kernel.h"
#include "loss.h"
#include "offcpu.h"
#include "sampling.h"
#include "stacks.h"

/* Of how many wakers is told what they did; 0: of none, and waits are summed up here. */
const volatile u32 followed_wakers = 0;

enum wait_record_type {
	WAIT_BLOCKED,
	WAIT_FOR_CPU,
	/* Not a wait: from begin_ns on there are records of this thread, too. */
	WAIT_JOINED,
};

EXPORT_TYPE(enum wait_record_type, wait_record_type);

struct wait_record {
	u64 begin_ns; /* CLOCK_MONOTONIC */
	u64 end_ns;
	u64 weighed_ns; /* as in struct sampled */
	u64 count;
	u64 doubt;
	u32 pid;       /* the kernel's */
	u32 waker_pid; /* the kernel's; 0: it was no thread */
	u8 type;
	/* Whether the user asked for it; else it only tells what a waker did. */
	bool counts;
	struct stack_key key; /* of WAIT_BLOCKED */
};

EXPORT_TYPE(struct wait_record, wait_record);

/* User space sets the size before loading, and looks by itself now and then: no record wakes it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wait_records SEC(".maps");

/* Threads that the filter leaves out, by the kernel's PID: how many wake-ups away one is from a
 * thread that it has. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} joined SEC(".maps");

/* A record to be filled in and submitted; NULL: there is no room, which is counted. */
static __always_inline struct wait_record *reserve_record(struct task_struct *task,
							  enum wait_record_type type)
{
	struct wait_record *record = bpf_ringbuf_reserve(&wait_records, sizeof(*record), 0);

	if (!record) {
		count_loss(LOSS_EVENTS_RING_FULL);
		return NULL;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->pid = look(task, pid);
	record->type = type;
	return record;
}

static __always_inline void weigh_record(struct wait_record *record, struct sampled *sampled)
{
	record->weighed_ns = sampled->weighed_ns;
	record->count = sampled->count;
	record->doubt = sampled->doubt;
}

/* Whether the thread is followed though the filter leaves it out. */
static __always_inline bool has_joined(struct task_struct *task)
{
	u32 pid = look(task, pid);

	return followed_wakers && filter_is_set() && bpf_map_lookup_elem(&joined, &pid);
}

static __always_inline void leave(struct task_struct *task)
{
	u32 pid = look(task, pid);

	if (followed_wakers && filter_is_set())
		bpf_map_delete_elem(&joined, &pid);
}

/* `waker` has ended a wait of `woken` that is kept. */
static __always_inline void join(struct task_struct *waker, struct task_struct *woken)
{
	u32 pid = look(waker, pid), woken_pid = look(woken, pid), hops = 1;
	struct wait_record *record;
	u32 *away;

	if (!followed_wakers || !filter_is_set() || !pid)
		return;
	away = bpf_map_lookup_elem(&joined, &woken_pid);
	if (away && !filter_has_task(woken))
		hops = *away + 1;
	if (hops > followed_wakers)
		return;
	away = bpf_map_lookup_elem(&joined, &pid);
	if (away) {
		if (hops < *away)
			*away = hops;
		return;
	}
	if (filter_has_task(waker))
		return;
	if (bpf_map_update_elem(&joined, &pid, &hops, BPF_ANY)) {
		count_loss(LOSS_WAKERS_FULL);
		return;
	}
	record = reserve_record(waker, WAIT_JOINED);
	if (!record)
		return;
	record->begin_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

#endif
