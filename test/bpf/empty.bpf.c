/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The least that user probes cost: programs that do nothing; for bench/tools/memleak.ts. */
#include "../../bpf/lib/kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("uprobe")
int empty_entry(void *ctx)
{
	return 0;
}

SEC("uretprobe")
int empty_return(void *ctx)
{
	return 0;
}
