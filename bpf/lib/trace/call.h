/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* A call from its entry to its record: which calls are shown, and what is taken when. */
#ifndef TSTRACE_TRACE_CALL_H
#define TSTRACE_TRACE_CALL_H

#include "../calls/calls.h"
#include "../filter.h"
#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"
#include "captures.h"
#include "records.h"

const volatile bool only_failed = false;
const volatile bool only_successful = false;
const volatile u64 min_duration_ns = 0;
/* Only calls with this descriptor. */
const volatile bool by_descriptor = false;
const volatile u32 only_descriptor = 0;
/* With the stacks of calls; see call_stacks.h. */
const volatile bool with_stacks = false;
/* Threads that end, and signals that they get. */
const volatile bool with_ends = false;

static __always_inline bool has_descriptor(struct call_slot *slot, struct call_plan *plan)
{
	u64 *arguments = (u64 *)slot->data;

	for (u32 i = 0; i < CALL_ARGUMENTS; i++)
		if (plan->descriptors >> i & 1 && (u32)arguments[i] == only_descriptor)
			return true;
	return false;
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

static __always_inline u32 packed_call(struct call *call)
{
	return call->abi << CALL_NR_BITS | call->nr;
}

static __always_inline void slot_begins(struct call_slot *slot, struct call *call,
					struct call_plan *plan, void *regs)
{
	u32 arguments = plan->arguments;

	slot->record.call = packed_call(call);
	slot->record.type = RECORD_CALL;
	slot->record.flags = 0;
	slot->record.arguments = arguments;
	slot->record.bytes = arguments * sizeof(u64);
	slot->record.result = 0;
	slot->unreadable = 0;
	slot->has_stack = 0;
	slot->pending = 0;
	call_arguments(regs, call->abi == CALL_COMPAT, (u64 *)slot->data);
}

/* The record is complete, but for its stack. */
static __always_inline void call_done(struct call_slot *slot)
{
	record_about(&slot->record, current_task());
	if (with_stacks) {
		slot->pending = PENDING_STACK | PENDING_RECORD;
		return;
	}
	record_leaves(slot);
	slot->since_ns = 0;
}

static __always_inline void call_entered(void *regs, long nr)
{
	struct call_slot *slot;
	struct call_plan *plan;
	struct call call;
	u32 key, index;
	bool ends;

	call_of(is_compat_call(regs), nr, &call);
	if (!call_wanted(&call) || !caller_wanted(current_task()))
		return;
	index = plan_index(&call);
	plan = plan_of(index);
	key = slot_take(registers_number(regs));
	slot = slot_at(key);
	if (!plan)
		return;
	if (!slot) {
		count_loss(LOSS_WAIT_TABLE_FULL);
		return;
	}
	slot_begins(slot, &call, plan, regs);
	if (by_descriptor && !has_descriptor(slot, plan)) {
		slot->since_ns = 0;
		return;
	}
	slot->since_ns = bpf_ktime_get_ns();
	slot->record.end_ns = slot->since_ns;
	take_captures(key, index, plan, false, false);
	/* One that may still turn out to match is looked at again as the call returns. */
	if (by_path && paths_verdict(key, slot, plan) == PATH_OTHER) {
		slot->since_ns = 0;
		return;
	}
	ends = call_never_returns(&call) && !only_failed && !only_successful && !min_duration_ns &&
	       filter_has_task(current_task());
	/* What has another stack as it returns, or none. */
	if (with_stacks && (ends || plan->replaces_memory)) {
		slot->record.flags |= RECORD_STACK_OF_ENTRY;
		slot->pending = PENDING_STACK;
	}
	if (!ends)
		return;
	slot->record.flags |= RECORD_UNFINISHED;
	slot->record.duration_ns = 0;
	call_done(slot);
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
	u64 owner = registers_number(regs), now_ns;
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
	/* Nobody did what was pending of its last call: programs were just being attached. */
	if (!slot->since_ns || slot->pending) {
		/* It was left out as it began. */
		if (by_descriptor || by_path)
			return;
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
		if (again) {
			slot->record.bytes = plan->arguments * sizeof(u64);
			slot->record.flags &= ~(RECORD_STACK_OF_ENTRY | RECORD_LIST_CUT);
			slot->has_stack = 0;
		}
		if (again || plan->at_exit)
			take_captures(key, index, plan, true, again);
		if (by_path && paths_verdict(key, slot, plan) != PATH_MATCHES) {
			slot->since_ns = 0;
			return;
		}
		call_done(slot);
		return;
	}
	slot->since_ns = 0;
}

/* Whether a call that has no result is one to show. */
static __always_inline bool unfinished_wanted(struct call_slot *slot)
{
	return !only_failed && !only_successful && slot->record.duration_ns >= min_duration_ns &&
	       (!by_path || !slot->unreadable);
}

#endif
