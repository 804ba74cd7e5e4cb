/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Lets a test match names of its own by patterns. */
#include "../../bpf/lib/glob.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct glob_call {
	char name[TASK_COMM_LEN];
	u64 shift;
};

/* The states that it ends in, from one on: a return value has room for half of them. */
SEC("raw_tracepoint")
int match_globs(struct glob_call *call)
{
	u64 first[2] = {((u64 *)call)[0], ((u64 *)call)[1]};
	u64 shift = call->shift;

	return glob_matches((const char *)first) >> (shift & 63);
}
