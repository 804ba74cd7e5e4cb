/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * memleak: what is allocated and never freed. In processes by user probes at the functions of their
 * allocators (heap.h), in the kernel by the tracepoints of its own (kernel_memory.h); and where
 * processes grow, without any probe (growth.h).
 */
#include "lib/filter.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/memleak/allocations.h"
#include "lib/memleak/growth.h"
#include "lib/memleak/heap.h"
#include "lib/memleak/kernel_memory.h"
#include "lib/memleak/probe.h"
#include "lib/pidns.h"
#include "lib/stacks/stacks.h"
#include "lib/stacks/walk.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/*
 * Signatures by where in its page a probed instruction lies, which is the same wherever a file is
 * mapped: for kernels before 5.15, which hand over no cookie. Of two at the same place user space
 * probes one.
 */
#define PAGE_PLACES 4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PAGE_PLACES);
	__type(key, u32);
	__type(value, u64);
} signatures SEC(".maps");

static __always_inline u64 signature_at(struct probe_registers *regs)
{
	u64 *signature;
	u32 place;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return bpf_get_attach_cookie(regs);
	place = PROBE_READ(regs, PROBE_IP) % PAGE_PLACES;
	signature = bpf_map_lookup_elem(&signatures, &place);
	return signature ? *signature : 0;
}

SEC("uprobe")
int memleak_entry(struct probe_registers *regs)
{
	u64 signature = signature_at(regs);
	struct call_registers call;

	read_call(regs, &call);
	heap_entered(&call, signature);
	return 0;
}

/* Where the function was called. */
SEC("uretprobe")
int memleak_return(struct probe_registers *regs)
{
	heap_returned(regs, RETURN_DONE);
	return 0;
}

/* At the function's last instruction. */
SEC("uprobe")
int memleak_last(struct probe_registers *regs)
{
	heap_returned(regs, RETURN_NEXT);
	return 0;
}

/* A number is used again; a call that its thread did not live to see must not be taken for
 * another's.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(memleak_exit, struct task_struct *task)
{
	u32 tid = task->pid;

	bpf_map_delete_elem(&heap_calls, &tid);
	return 0;
}
