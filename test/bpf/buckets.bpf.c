/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The histogram's arithmetic, callable: test_run gives a value, and gets its bucket. */
#include "../../bpf/lib/histogram.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("raw_tp/sched_switch")
int bucket_of(struct bpf_raw_tracepoint_args *ctx)
{
	return hist_bucket(ctx->args[0]);
}
