/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Every way to lose something has a counter; user space reads the names from BTF. */
#ifndef TSTRACE_LOSS_H
#define TSTRACE_LOSS_H

#include "kernel.h"

/* LOSS_X is reported as "x": what was lost, then why. */
enum loss {
	LOSS_GROUPS_FULL,
	LOSS_EVENTS_RING_FULL,
	LOSS_WAITS_RING_FULL,
	LOSS_WAIT_TABLE_FULL,
	LOSS_WAIT_START_UNKNOWN,
	LOSS_WAITS_UNSEEN,
	LOSS_WAITS_MISBOOKED,
	LOSS_FILTER_FULL,
	LOSS_STACKS_FULL,
	LOSS_STACKS_TRUNCATED,
	LOSS_STACK_WALK_FAILED,
	LOSS_CALL_START_UNKNOWN,
	LOSS_THREADS_FULL,
	LOSS_ENDED_THREADS_FULL,
	LOSS_ALLOCATIONS_FULL,
	LOSS_ALLOCATIONS_NESTED,
	LOSS_ALLOCATIONS_ENDLESS,
	LOSS_ALLOCATING_THREADS_FULL,
	LOSS_FREES_UNSEEN,
	LOSS_FAILURES_FULL,
	LOSS_OBJECTS_FULL,
	LOSS_CALLS_RING_FULL,
	LOSS_CAUSES,
};

EXPORT_TYPE(enum loss, loss);

/* A map of its own, not a per-tool one, so that every tool reports loss the same way. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_CAUSES);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

static __always_inline void count_losses(enum loss cause, u64 times)
{
	u32 key = cause;
	u64 *count = bpf_map_lookup_elem(&losses, &key);

	if (count)
		*count += times;
}

static __always_inline void count_loss(enum loss cause)
{
	count_losses(cause, 1);
}

#endif
