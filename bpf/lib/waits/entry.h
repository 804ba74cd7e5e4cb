/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What off_cpu.bpf.c keeps of a thread off the CPU, beyond what every program needs to know
 * (scheduling/off_cpu.h): who woke it. Whatever in waits/ needs such entries includes this header.
 */
#ifndef TSTRACE_WAITS_ENTRY_H
#define TSTRACE_WAITS_ENTRY_H

#ifdef TSTRACE_SCHEDULING_OFF_CPU_H
#error "waits/entry.h comes before scheduling/off_cpu.h, which it adds fields to"
#endif

#include "../kernel.h"
#include "../sampling.h"

/* Who ended a wait: see wakers.h. What is in front of pid says who it is. */
struct waker {
	u64 kernel; /* hashes, as in struct stack_key */
	u64 user;
	u64 incarnation;
	u32 tgid; /* as are the rest, only of a thread */
	u32 tid;  /* 0 unless stacks_by_thread */
	u32 irq;
	u8 context; /* enum cpu_context_kind */
	u8 interrupt;
	u8 known;
	u8 by_thread;
	char comm[TASK_COMM_LEN];
	/* From here on it does not say who it is. */
	u32 pid; /* the kernel's */
	u32 unused_padding;
	u64 born_ns;  /* CLOCK_MONOTONIC: the thread of that number that it is */
	u64 first_ns; /* CLOCK_MONOTONIC: tells which mappings the addresses belong to */
};

EXPORT_TYPE(struct waker, waker);

/* Who woke the thread, and how the wait was chosen then, if it was. */
#define OFF_CPU_MORE                                                                               \
	struct waker waker;                                                                        \
	struct sampled blocked;

#include "../scheduling/off_cpu.h"

/* The wait is over, and so is what was kept of it here. */
static __always_inline void wait_ends(struct task_struct *task, struct off_cpu *off)
{
	off->waker.known = false;
	off->blocked.count = 0;
	off_cpu_ends(task, off);
}

#endif
