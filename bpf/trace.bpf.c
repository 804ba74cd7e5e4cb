/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * trace: every system call with its arguments and its result, one record for each.
 *
 * What a program hands over is taken as the call begins, before anybody can change it; what it gets
 * is taken as the call returns. Pages that are not in memory cannot be read at the entry: the call
 * brings them in, and they are read as it returns.
 *
 * Each program is here twice: for raw tracepoints, and for perf's, which keep preemption off; see
 * src/bpf/call-hooks.ts.
 */
#include "lib/call_captures.h"
#include "lib/call_records.h"
#include "lib/calls.h"
#include "lib/filter.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/pidns.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool only_failed = false;
const volatile bool only_successful = false;
const volatile u64 min_duration_ns = 0;
/* Only calls whose first argument is this one; -1: all. */
const volatile s32 only_descriptor = -1;

/* Whether the task's call is one to record; COMMAND's first is the one that executes it. */
static __always_inline bool task_wanted(struct task_struct *task)
{
	return !filter_is_set() || filter_has_task(task) ||
	       (filter_command_tgid && task_tgid(task) == filter_command_tgid);
}

/* A strange number has a plan, too: six arguments. */
static __always_inline u32 plan_index(struct call *call)
{
	return call->index < CALL_INDEXES ? call->index : CALL_INDEXES;
}

static __always_inline void take_captures(u32 key, u32 index, struct call_plan *plan, bool at_exit,
					  bool all)
{
	for (u32 i = 0; i < CAPTURES && i < plan->captures; i++)
		if (all || plan->of[i].at_exit == at_exit)
			capture_one(key, index, i);
}

static __always_inline void slot_begins(struct call_slot *slot, struct call *call,
					struct call_plan *plan, void *regs)
{
	u32 arguments = plan->arguments;

	slot->record.call = call->abi << CALL_NR_BITS | call->nr;
	slot->record.type = RECORD_CALL;
	slot->record.flags = 0;
	slot->record.arguments = arguments;
	slot->record.bytes = arguments * sizeof(u64);
	slot->record.result = 0;
	slot->unreadable = 0;
	call_arguments(regs, call->abi == CALL_COMPAT, (u64 *)slot->data);
}

static __always_inline void call_entered(void *regs, long nr)
{
	struct call_slot *slot;
	struct call_plan *plan;
	struct call call;
	u32 key, index;

	call_of(is_compat_call(regs), nr, &call);
	if (!call_wanted(&call) || !task_wanted(current_task()))
		return;
	index = plan_index(&call);
	plan = plan_of(index);
	key = slot_take(slot_owner(regs));
	slot = slot_at(key);
	if (!plan)
		return;
	if (!slot) {
		count_loss(LOSS_WAIT_TABLE_FULL);
		return;
	}
	slot_begins(slot, &call, plan, regs);
	slot->since_ns = bpf_ktime_get_ns();
	take_captures(key, index, plan, false, false);
	if (!call_never_returns(&call) || only_failed || only_successful || min_duration_ns)
		return;
	if (!filter_has_task(current_task()))
		return;
	slot->record.flags |= RECORD_UNFINISHED;
	slot->record.end_ns = slot->since_ns;
	slot->record.duration_ns = 0;
	record_about(&slot->record, current_task());
	record_leaves(slot);
	slot->since_ns = 0;
}

static __always_inline bool result_wanted(struct call_slot *slot)
{
	bool failed = (u64)slot->record.result >= (u64)-MAX_ERRNO;

	if ((only_failed && !failed) || (only_successful && failed))
		return false;
	return slot->record.duration_ns >= min_duration_ns;
}

static __always_inline void call_left(void *regs, long result)
{
	u64 owner = slot_owner(regs), now_ns;
	struct task_struct *task;
	struct call_slot *slot;
	struct call_plan *plan;
	struct call call;
	u32 key, index;
	bool again;

	ended_call_of(regs, result, &call);
	if (!call_wanted(&call))
		return;
	task = current_task();
	if (!filter_has_task(task) || is_new_child(&call, result))
		return;
	index = plan_index(&call);
	plan = plan_of(index);
	key = slot_take(owner);
	slot = slot_at(key);
	if (!plan || !slot)
		return;
	now_ns = bpf_ktime_get_ns();
	if (!slot->since_ns) {
		slot_begins(slot, &call, plan, regs);
		slot->record.flags = RECORD_BEGAN_BEFORE;
		slot->unreadable = 1;
		slot->since_ns = now_ns;
	}
	/* arm64 gave it in 32 bits and not extended, until 5.15. */
	slot->record.result = call.abi == CALL_COMPAT ? (s32)result : result;
	slot->record.end_ns = now_ns;
	slot->record.duration_ns = now_ns - slot->since_ns;
	if (result_wanted(slot)) {
		/* Pages that were not there are now. */
		again = slot->unreadable && !(plan->replaces_memory && !slot->record.result);
		if (again)
			slot->record.bytes = plan->arguments * sizeof(u64);
		if (again || plan->at_exit)
			take_captures(key, index, plan, true, again);
		record_about(&slot->record, task);
		record_leaves(slot);
	}
	slot->since_ns = 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(trace_enter, struct pt_regs *regs, long nr)
{
	call_entered(regs, nr);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(trace_exit, struct pt_regs *regs, long result)
{
	call_left(regs, result);
	return 0;
}

/* kernel/events/core.c, perf_trace_run_bpf_submit: with 0 nobody's perf event sees the call. */
#define FOR_PERF_TOO 1

SEC("tp/raw_syscalls/sys_enter")
int trace_enter_perf(struct trace_event_raw_sys_enter *event)
{
	call_entered(saved_registers(current_task()), event->id);
	return FOR_PERF_TOO;
}

SEC("tp/raw_syscalls/sys_exit")
int trace_exit_perf(struct trace_event_raw_sys_exit *event)
{
	call_left(saved_registers(current_task()), event->ret);
	return FOR_PERF_TOO;
}
