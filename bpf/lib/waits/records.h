/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Each wait that was chosen, by itself and not in a sum: so that user space can tell what a waker
 * did while others waited for it (src/aggregate/chains.ts). These are waits of all threads, as
 * nobody knows who will have been a waker.
 *
 * A record is written as its thread resumes, before the thread can wake anybody. So whatever
 * happened before a wake-up is in the ring before the record of the wait that this one ended.
 */
#ifndef TSTRACE_WAITS_RECORDS_H
#define TSTRACE_WAITS_RECORDS_H

#include "../filter.h"
#include "../kernel.h"
#include "../loss.h"
#include "../sampling.h"
#include "../stacks/stacks.h"

/* Of how many wakers is told what they did; 0: of none, and waits are summed up here. */
const volatile u32 followed_wakers = 0;
/* Whether waits count that began before tracing did; what wakers did then is told in any case. */
const volatile bool edges_count = true;

enum wait_record_type {
	WAIT_BLOCKED,
	WAIT_FOR_CPU,
};

EXPORT_TYPE(enum wait_record_type, wait_record_type);

struct wait_record {
	u64 begin_ns; /* CLOCK_MONOTONIC */
	u64 end_ns;
	u64 weighed_ns; /* as in struct sampled */
	u64 count;
	u64 doubt;
	u64 waker_born_ns;
	u64 throttled_ns; /* of WAIT_FOR_CPU: what its group had no quota for, of all of it */
	u64 waking_ns;	  /* of WAIT_FOR_CPU: before it was on a run queue; see waking_part() */
	u32 pid;	  /* the kernel's */
	u32 waker_pid;	  /* the kernel's; 0: it was no thread */
	u8 type;
	/* Whether the user asked for it; else it only tells what a waker did. */
	bool counts;
	bool preempted;	      /* of WAIT_FOR_CPU: it was taken off its CPU */
	struct stack_key key; /* of WAIT_BLOCKED; others end before it */
};

EXPORT_TYPE(struct wait_record, wait_record);

/* User space sets the size before loading, and looks by itself now and then: no record wakes it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wait_records SEC(".maps");

/* A record to be filled in and submitted; NULL: there is no room, which is counted. */
static __always_inline struct wait_record *reserve_record(u32 pid, enum wait_record_type type)
{
	const u64 bytes = type == WAIT_BLOCKED ? sizeof(struct wait_record)
					       : __builtin_offsetof(struct wait_record, key);
	struct wait_record *record = bpf_ringbuf_reserve(&wait_records, bytes, 0);

	if (!record) {
		count_loss(LOSS_WAITS_RING_FULL);
		return NULL;
	}
	__builtin_memset(record, 0, bytes);
	record->pid = pid;
	record->type = type;
	return record;
}

static __always_inline void weigh_record(struct wait_record *record, struct sampled *sampled)
{
	record->weighed_ns = sampled->weighed_ns;
	record->count = sampled->count;
	record->doubt = sampled->doubt;
}

/* Whether the waits of a task are followed: a waker may be anybody. */
static __always_inline bool is_followed(struct task_struct *task)
{
	return followed_wakers || filter_has_task(task);
}

#endif
