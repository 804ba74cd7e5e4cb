/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Which calls have a histogram of their own. */
#ifndef TSTRACE_SYSCOUNT_SLOTS_H
#define TSTRACE_SYSCOUNT_SLOTS_H

#include "../kernel.h"
#include "../calls/calls.h"

/* Calls that have a histogram of their own on each CPU: the first that are seen, at most. */
#define CALL_SLOTS 32

/* So many: fewer where there are many CPUs. */
const volatile u32 used_slots = CALL_SLOTS;

struct call_slots {
	/* Slot + 1 of each call; 0: not seen yet. */
	u32 of[CALL_INDEXES];
	/* What each slot is for; two CPUs may take one each for a call that both see first. */
	u32 call[CALL_SLOTS];
	u32 used;
};

struct call_slots call_slots;

EXPORT_TYPE(struct call_slots, call_slots);

/* The call that puts a slot in here has it: before 5.12 no atomic operation has a result. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALL_SLOTS);
	__type(key, u32);
	__type(value, u8);
} slots_taken SEC(".maps");

/* As many as may be in use at once; a call that finds none takes the slower way this time. */
#define SLOT_TRIES 4

/* The next free slot, for a call; CALL_SLOTS where there is none. */
static __always_inline u32 take_slot(u32 index)
{
	u32 slot = call_slots.used;
	u8 yes = 1;

	for (int i = 0; i < SLOT_TRIES; i++, slot++) {
		u64 at = slot;

		barrier_var(at); /* for the verifier of 6.1 */
		if (at >= CALL_SLOTS || at >= used_slots)
			break;
		if (bpf_map_update_elem(&slots_taken, &slot, &yes, BPF_NOEXIST))
			continue;
		/* Its bounds may have been forgotten during the call. */
		at = slot;
		barrier_var(at);
		if (at >= CALL_SLOTS)
			break;
		call_slots.call[at] = index;
		__sync_fetch_and_add(&call_slots.used, 1);
		return at;
	}
	return CALL_SLOTS;
}

/* The slot of a call, taken at its first; CALL_SLOTS or more where there is none left. */
static __always_inline u32 slot_of(u32 index)
{
	u64 at = index;
	u32 *slot_plus_1, slot;

	barrier_var(at); /* as in take_slot() */
	if (at >= CALL_INDEXES)
		return CALL_SLOTS;
	slot_plus_1 = &call_slots.of[at];
	barrier_var(slot_plus_1);
	if (*slot_plus_1)
		return *slot_plus_1 - 1;
	slot = take_slot(index);
	if (slot < CALL_SLOTS)
		*slot_plus_1 = slot + 1;
	return slot;
}

#endif
