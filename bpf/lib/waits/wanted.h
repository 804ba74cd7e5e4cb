/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Which waits the user asked for: by how long they were, and in which state the thread was. */
#ifndef TSTRACE_WAITS_WANTED_H
#define TSTRACE_WAITS_WANTED_H

#include "../kernel.h"
#include "entry.h"
#include "records.h"

const volatile u64 shortest_ns = 0;
const volatile u64 longest_ns = 0; /* 0: no limit */
/* Waits in these states only: TASK_* bits, or OFFCPU_RUNNABLE; 0: all. */
const volatile u32 state_mask = 0;
/* A state is one letter: an idle kernel thread (I) is not also uninterruptible (D). */
const volatile bool state_exclusive = false;

#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_NOLOAD	     0x0400

static __always_inline bool state_wanted(struct off_cpu *off)
{
	u32 state = off->state;

	if (!state_mask)
		return true;
	if (state_exclusive && state & TASK_NOLOAD)
		state &= ~TASK_UNINTERRUPTIBLE;
	return state & state_mask;
}

static __always_inline bool wait_wanted(struct off_cpu *off, u64 duration_ns)
{
	return duration_ns >= shortest_ns && (!longest_ns || duration_ns <= longest_ns) &&
	       state_wanted(off);
}

/* Of blocked time: all of it tells what a waker did. */
static __always_inline bool blocked_wanted(struct off_cpu *off, u64 blocked_ns)
{
	return followed_wakers || wait_wanted(off, blocked_ns);
}

#endif
