/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A scheduler of the class sched_ext, for virtual machines: the kernel's own default of that class,
 * one queue for all CPUs, first in, first out. So threads move to another CPU as that one takes
 * them from the queue.
 */
#include "../../bpf/lib/kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* kernel/sched/ext_internal.h; of its fields only those that are set. */
struct sched_ext_ops {
	void (*set_weight)(struct task_struct *task, u32 weight);
	char name[128];
};

/* Does nothing: libbpf reads the kernel's types for a program only. */
SEC("struct_ops/ignore_weight")
int ignore_weight(void *ctx)
{
	return 0;
}

SEC(".struct_ops")
struct sched_ext_ops fifo = {
	.set_weight = (void *)ignore_weight,
	.name = "fifo",
};
