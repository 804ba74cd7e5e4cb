/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Lets a test ask whether a CPU is chosen, of more CPUs than its machine has. */
#include "../../bpf/lib/filter.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct cpu_call {
	u64 cpu;
};

SEC("raw_tracepoint")
int has_cpu(struct cpu_call *call)
{
	return filter_has_cpu(call->cpu);
}
