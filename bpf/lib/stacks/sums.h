/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Sums by stack: what was counted, for everybody's stacks as stacks.h keeps them. */
#ifndef TSTRACE_STACKS_SUMS_H
#define TSTRACE_STACKS_SUMS_H

#include "../kernel.h"
#include "../loss.h"
#include "stacks.h"

struct stack_sum {
	u64 first_ns; /* CLOCK_MONOTONIC: tells which mappings the addresses belong to */
	u64 count;    /* in 1/ONE, as are doubts: see sampling.h */
	u64 doubt;
	u64 parts[STACK_PARTS];
};

EXPORT_TYPE(struct stack_sum, stack_sum);

/* User space puts in the key of zeroes, for what has no room of its own. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct stack_key);
	__type(value, struct stack_sum);
} sums SEC(".maps");

/* Keeps what has just been walked here, for a key that refers to it; returns whether it had room.
 */
static __always_inline bool keep_stacks_of(struct stack_key *key)
{
	struct scratch *here = scratch_here();
	u64 kernel = key->kernel, user = key->user;

	if (!here)
		return false;
	key->kernel = keep_stack(here, &here->kernel, kernel);
	key->user = keep_stack(here, &here->user, user);
	return key->kernel == kernel && key->user == user;
}

/*
 * The sum for a key; that of all others when there is no more room; NULL when even that is gone. A
 * key that was counted before has its stacks kept already; a new one has just been walked here.
 */
static __always_inline struct stack_sum *sum_of(struct stack_key *key)
{
	struct stack_sum *sum = bpf_map_lookup_elem(&sums, key);
	struct stack_sum none = {};
	struct stack_key others = {};
	bool lost = key->user == LOST_STACK, kept;

	if (sum)
		return sum;
	kept = keep_stacks_of(key);
	none.first_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&sums, key, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&sums, key);
	/* Once for a wait or a sample, whatever of it had no room; of a lost stack that was said.
	 */
	if ((!sum && !lost) || !kept)
		count_loss(LOSS_STACKS_FULL);
	return sum ? sum : bpf_map_lookup_elem(&sums, &others);
}

#endif
