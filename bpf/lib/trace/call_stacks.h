/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The user stack that a call is made at: kept once (stacks/stacks.h), its number in the record. A
 * program of its own takes it, right behind the one that has put the record together: both in one
 * would be too much for the verifier.
 */
#ifndef TSTRACE_TRACE_CALL_STACKS_H
#define TSTRACE_TRACE_CALL_STACKS_H

#include "../kernel.h"
#include "../loss.h"
#include "../stacks/stacks.h"
#include "../stacks/walk.h"
#include "pointed.h"
#include "records.h"

/* What a record says of its stack. */
struct call_stack {
	u64 hash;	 /* a key of `stacks`, or LOST_STACK */
	u32 incarnation; /* its low half: which program of the process */
} __attribute__((packed));

EXPORT_TYPE(struct call_stack, call_stack);

/* RECORD_LAST_AT leaves room for one behind the longest text, whatever is in front of it. */
#define STACK_BYTES   (CAPTURE_HEADER_BYTES + sizeof(struct call_stack))
#define STACK_LAST_AT (RECORD_DATA_BYTES - STACK_BYTES)
_Static_assert(RECORD_LAST_AT + CAPTURE_HEADER_BYTES + RECORD_TEXT_BYTES + 4 <= STACK_LAST_AT,
	       "a record that is full has room for its stack");

/* Adds a stack that was walked here to a record; `hash`: what was made of it. */
static __always_inline void stack_joins(struct scratch *here, struct call_slot *slot, u64 hash)
{
	u64 at = slot->record.bytes, kept = keep_stack(here, &here->user, hash);
	struct capture_header *header;
	struct call_stack *stack;

	if (kept != hash)
		count_loss(LOSS_STACKS_FULL);
	barrier_var(at);
	if (kept == NO_STACK || at > STACK_LAST_AT)
		return;
	header = (void *)&slot->data[at];
	header->argument = CAPTURED_STACK;
	header->status = CAPTURED;
	header->bytes = sizeof(*stack);
	stack = (void *)&slot->data[at + CAPTURE_HEADER_BYTES];
	stack->hash = kept;
	stack->incarnation = incarnation_of(current_task());
	slot->record.bytes += STACK_BYTES;
	slot->has_stack = 1;
}

static __always_inline void take_stack(void *ctx, struct call_slot *slot)
{
	struct scratch *here = take_scratch();

	if (!here) {
		count_loss(LOSS_STACK_WALK_FAILED);
		return;
	}
	stack_joins(here, slot, current_user_stack(ctx, here));
	give_scratch(here);
}

/* Does what is pending of the current thread's call. */
static __always_inline void call_pending_done(void *ctx, void *regs)
{
	struct call_slot *slot = slot_at(slot_find(registers_number(regs)));

	if (!slot || !slot->pending)
		return;
	if (slot->pending & PENDING_STACK && !slot->has_stack)
		take_stack(ctx, slot);
	if (slot->pending & PENDING_RECORD) {
		record_leaves(slot);
		slot->since_ns = 0;
	}
	slot->pending = 0;
}

#endif
