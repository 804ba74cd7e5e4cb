/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Lets a test add waits of its own to a thread's latencies. */
#include "../../bpf/lib/schedlat/latencies.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct wait_call {
	u64 kind;
	u64 latency_ns;
	u64 throttled_ns;
	u64 end_ns;
};

/* What came of them, for the test to read. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct latencies);
} results SEC(".maps");

SEC("raw_tracepoint")
int add(struct wait_call *call)
{
	u32 zero = 0;
	struct latencies *latencies = bpf_map_lookup_elem(&results, &zero);
	struct queued queued = {
		.kind = call->kind,
		.latency_ns = call->latency_ns,
		.throttled_ns = call->throttled_ns,
	};

	if (latencies)
		latencies_add(latencies, &queued, call->end_ns);
	return 0;
}
