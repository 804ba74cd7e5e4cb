/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Lets a test ask what a softirq serves, of all that the kernel has, which no test can force. */
#include "../../bpf/lib/scheduling/interrupts.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct softirq_call {
	u64 softirq;
};

SEC("raw_tracepoint")
int served_by(struct softirq_call *call)
{
	return interrupt_of(call->softirq);
}
