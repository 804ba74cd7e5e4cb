/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A runqlat that no verifier takes: its one change is a read through a pointer that may be NULL.
 * tstrace is pointed at it with TSTRACE_BPF_DIR, to show what a user sees then.
 */
/* First, as there: variables lie in the order of the headers. */
#include "../../bpf/lib/filter.h"
#define hist_add refused_hist_add
#include "../../bpf/lib/histogram.h"
#undef hist_add

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} refused SEC(".maps");

static __always_inline void hist_add(struct hist *hist, u64 value)
{
	/* Not a constant: since 6.14 the verifier knows that an array has its element 0. */
	u32 key = value;
	u64 *unchecked = bpf_map_lookup_elem(&refused, &key);

	hist->sum += *unchecked + value;
}

#include "../../bpf/runqlat.bpf.c"
