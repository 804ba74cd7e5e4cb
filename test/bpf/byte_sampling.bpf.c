/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Lets a test call sample_by_bytes, with random numbers of its own. */
#include "../../bpf/lib/kernel.h"

u32 random_number;
#define SAMPLING_RANDOM() random_number
#include "../../bpf/lib/memleak/byte_sampling.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct sampling_call {
	u64 size;
	u64 random;
};

/* What came of it, for the test to read. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct weight);
} results SEC(".maps");

SEC("raw_tracepoint")
int sample(struct sampling_call *call)
{
	u32 zero = 0;
	struct weight *weight = bpf_map_lookup_elem(&results, &zero);

	random_number = call->random;
	return weight && sample_by_bytes(call->size, weight);
}
