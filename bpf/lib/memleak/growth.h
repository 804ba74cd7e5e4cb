/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Where processes grow, without a probe in any of them: page faults, which is when memory becomes
 * resident, and the calls that make their address spaces larger. Nothing is taken back: what is
 * freed inside an allocator stays resident as a rule.
 */
#ifndef TSTRACE_MEMLEAK_GROWTH_H
#define TSTRACE_MEMLEAK_GROWTH_H

#include "../calls/perf_tracepoints.h"
#include "../compat.h"
#include "../filter.h"
#include "../kernel.h"
#include "../registers.h"
#include "../stacks/walk.h"
#include "allocations.h"

const volatile u64 brk_nr = ~0ULL;
const volatile u64 mmap_nr = ~0ULL;

static __always_inline void grown(void *ctx, struct task_struct *task, enum allocation_kind kind,
				  u64 bytes)
{
	struct scratch *here = take_scratch();
	struct stack_key owner = {};
	struct site *site;
	u64 id;

	if (!here) {
		count_loss(LOSS_ALLOCATIONS_NESTED);
		return;
	}
	stack_key_of(task, &owner);
	owner.user = current_user_stack(ctx, here);
	site = site_of(here, &owner, kind, &id);
	give_scratch(here);
	if (!site)
		return;
	__sync_fetch_and_add(&site->allocated_bytes, bytes);
	__sync_fetch_and_add(&site->allocated_count, ONE);
}

/* A software event of perf's, on each CPU: a page fault that was handled. */
SEC("perf_event")
int memleak_fault(void *ctx)
{
	struct task_struct *task = current_task();

	if (!(look(task, flags) & PF_KTHREAD) && filter_has(task))
		grown(ctx, task, GROWTH_FAULTS, page_bytes);
	return 0;
}

static __always_inline u64 first_argument(struct pt_regs___saved *regs)
{
	u64 value = 0;
#ifdef __TARGET_ARCH_arm64
	bpf_core_read(&value, sizeof(value), &regs->regs[0]);
#else
	bpf_core_read(&value, sizeof(value), &regs->di);
#endif
	return value;
}

static __always_inline u64 second_argument(struct pt_regs___saved *regs)
{
	u64 value = 0;
#ifdef __TARGET_ARCH_arm64
	bpf_core_read(&value, sizeof(value), &regs->regs[1]);
#else
	bpf_core_read(&value, sizeof(value), &regs->si);
#endif
	return value;
}

static __always_inline void grown_by_call(void *ctx, void *regs, u64 nr)
{
	struct task_struct *task;
	u64 asked, now;

	if (nr != brk_nr && nr != mmap_nr)
		return;
	/* Of 32-bit programs those are the numbers of other calls. */
	if (is_compat_call(regs))
		return;
	task = current_task();
	if (!filter_has(task))
		return;
	if (nr == mmap_nr) {
		grown(ctx, task, GROWTH_MMAP,
		      (second_argument(regs) + page_bytes - 1) & -page_bytes);
		return;
	}
	asked = first_argument(regs);
	now = BPF_CORE_READ(task, mm, brk);
	if (asked > now)
		grown(ctx, task, GROWTH_BRK, asked - now);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(memleak_call, struct pt_regs *regs, long nr)
{
	grown_by_call(ctx, regs, nr);
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int memleak_call_perf(struct trace_event_raw_sys_enter *event)
{
	grown_by_call(event, saved_registers(current_task()), event->id);
	return FOR_PERF_TOO;
}

#endif
