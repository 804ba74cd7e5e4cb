/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Lets a test add values of its own to a histogram, and to a group, whose bucket it reads. */
#include "../../bpf/lib/groups.h"
#include "../../bpf/lib/histogram.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct results {
	u64 hist_least;
	u64 hist_most;
	u64 group_least;
	u64 group_most;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct results);
} results SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hist);
} hists SEC(".maps");

/* All in one bucket: the results are those of the last value's. */
SEC("raw_tracepoint")
int add(u64 *value)
{
	u32 zero = 0;
	struct results *result = bpf_map_lookup_elem(&results, &zero);
	struct hist *hist = bpf_map_lookup_elem(&hists, &zero);
	struct group_key key = {.bucket = hist_bucket(*value)};
	struct group_bucket *entry;

	if (!result || !hist)
		return 0;
	hist_add(hist, *value);
	result->hist_least = ~hist->min_complement;
	result->hist_most = hist->max;
	group_add((struct task_struct *)bpf_get_current_task(), 0, *value);
	entry = group_lookup(current_window(), &key);
	if (!entry)
		return 0;
	result->group_least = entry->min;
	result->group_most = entry->max;
	return 0;
}
