/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The kernel's preempt_count of this CPU, which says whether it serves an interrupt.
 */
#ifndef TSTRACE_SCHEDULING_PREEMPT_COUNT_H
#define TSTRACE_SCHEDULING_PREEMPT_COUNT_H

#include "../kernel.h"

/* include/linux/preempt.h. A softirq that is only kept from being served adds 0x200. */
#define SERVING_SOFTIRQ 0x00000100

/* In a hard interrupt, or in an NMI; user space sets it where the bits lie elsewhere. */
const volatile u32 in_hardirq = 0x00ff0000;

/*
 * x86: where preempt_count is, from a CPU's run queue on; 0: it is not known. Both are variables of
 * each CPU, and how far they are apart is in the kernel's BTF, while their addresses are in
 * kallsyms only with CONFIG_KALLSYMS_ALL.
 */
const volatile s64 preempt_count_from_rq = 0;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info___preempt {
	u64 preempt_count; /* arm64 */
};

struct task_struct___preempt {
	struct thread_info___preempt thread_info;
};

/* PREEMPT_RT */
struct task_struct___softirq {
	int softirq_disable_cnt;
};

#pragma clang attribute pop

/* Bits of preempt_count; false where they are not known. */
static __always_inline bool read_preempt_count(struct task_struct *current, u32 *count)
{
#ifdef __TARGET_ARCH_arm64
	struct task_struct___preempt *task = (void *)current;

	*count = look(task, thread_info.preempt_count);
#else
	void *rq;

	*count = 0;
	if (!preempt_count_from_rq)
		return false;
	barrier();
	/* The current thread's run queue is this CPU's. */
	rq = look(current, se.cfs_rq, rq);
	bpf_probe_read_kernel(count, sizeof(*count), rq + preempt_count_from_rq);
	barrier();
#endif
	if (bpf_core_field_exists(((struct task_struct___softirq *)0)->softirq_disable_cnt)) {
		struct task_struct___softirq *realtime = (void *)current;

		barrier();
		*count &= ~SERVING_SOFTIRQ;
		*count |= look(realtime, softirq_disable_cnt) & SERVING_SOFTIRQ;
		barrier();
	}
	return true;
}

#endif
