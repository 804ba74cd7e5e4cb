/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The user stack that a call is made at: kept once (stacks/stacks.h), its number in the record. */
#ifndef TSTRACE_TRACE_CALL_STACKS_H
#define TSTRACE_TRACE_CALL_STACKS_H

#include "../kernel.h"
#include "../loss.h"
#include "../stacks/stacks.h"
#include "../stacks/walk.h"
#include "pointed.h"
#include "records.h"

const volatile bool with_stacks = false;

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

/* The current thread's, kept; NO_STACK: it has none. */
static __always_inline u64 kept_user_stack(void *ctx)
{
	struct scratch *here = take_scratch();
	u64 hash, kept;

	if (!here) {
		count_loss(LOSS_STACK_WALK_FAILED);
		return LOST_STACK;
	}
	hash = current_user_stack(ctx, here);
	kept = keep_stack(here, &here->user, hash);
	give_scratch(here);
	if (kept != hash)
		count_loss(LOSS_STACKS_FULL);
	return kept;
}

/* Adds it to the record of a call that has none yet. */
static __always_inline void take_stack(void *ctx, struct call_slot *slot)
{
	struct capture_header *header;
	struct call_stack *stack;
	u64 at, hash;

	if (!with_stacks || slot->has_stack)
		return;
	hash = kept_user_stack(ctx);
	at = slot->record.bytes;
	barrier_var(at);
	if (hash == NO_STACK || at > STACK_LAST_AT)
		return;
	header = (void *)&slot->data[at];
	header->argument = CAPTURED_STACK;
	header->status = CAPTURED;
	header->bytes = sizeof(*stack);
	stack = (void *)&slot->data[at + CAPTURE_HEADER_BYTES];
	stack->hash = hash;
	stack->incarnation = incarnation_of(current_task());
	slot->record.bytes += STACK_BYTES;
	slot->has_stack = 1;
}

#endif
