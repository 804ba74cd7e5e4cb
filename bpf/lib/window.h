/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Reading without a race. Everything that is counted is kept twice; programs write to the half
 * that `window` names. To read, user space flips `window`, waits until no program that saw the
 * old value can still be running, and then has the old half to itself: exact, minimum and
 * maximum included, which counters that only ever grow cannot give per interval.
 */
#ifndef TSTRACE_WINDOW_H
#define TSTRACE_WINDOW_H

#include "kernel.h"

#define WINDOWS 2

/* 0 or 1; written by user space only. */
volatile u32 window;

/*
 * The wait: updating a map of maps returns after an RCU grace period (kernel/bpf/syscall.c,
 * maybe_wait_bpf_programs, since 4.20). membarrier(2) would do as well, but is refused on
 * machines with nohz_full CPUs.
 */
struct barrier_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} barrier_inner SEC(".maps");

/* Empty at first: filling it would make every start wait for RCU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct barrier_inner);
} barrier SEC(".maps");

static __always_inline u32 current_window(void)
{
	return window & 1;
}

#endif
