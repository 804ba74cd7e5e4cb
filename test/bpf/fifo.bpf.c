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
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	char name[128];
};

/* Without these, the kernel ends the scheduler when a CPU comes or goes. */
SEC("struct_ops/cpu_online")
int cpu_online(void *ctx)
{
	return 0;
}

SEC("struct_ops/cpu_offline")
int cpu_offline(void *ctx)
{
	return 0;
}

SEC(".struct_ops")
struct sched_ext_ops fifo = {
	.cpu_online = (void *)cpu_online,
	.cpu_offline = (void *)cpu_offline,
	.name = "fifo",
};
