/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Stacks, each kept once. One is walked (walk.h) and interned by a hash of its frames; what is
 * counted (sums.h) refers to it by that hash. Not BPF_MAP_TYPE_STACK_TRACE: its buckets hold one
 * stack each, so that of two that fall into the same one, the second is dropped or takes over.
 *
 * Frames lie one stack after the other in `frames`, which user space maps: a stack takes the room
 * it needs, and reading 10,000 of them takes no system call.
 */
#ifndef TSTRACE_STACKS_STACKS_H
#define TSTRACE_STACKS_STACKS_H

#include "../kernel.h"
#include "../loss.h"
#include "../merged.h"
#include "../pidns.h"
#include "../runtimes/functions.h"
#include "scratch.h"

/* Not below 1; user space sets it to what the user or the kernel limits depth to. */
const volatile u32 stack_depth = STACK_DEPTH;
/* A secret, so that nobody can prepare stacks that collide. */
const volatile u64 stack_seed = 0;
const volatile bool walk_kernel = true;
const volatile bool walk_user = true;
/* Threads of a process apart. */
const volatile bool stacks_by_thread = false;

/* How deep to walk, where the verifier can see that it fits. */
static __always_inline u32 most_frames(void)
{
	return stack_depth > STACK_DEPTH ? STACK_DEPTH : stack_depth;
}

struct frame_chunk {
	u64 frames[CHUNK_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frame_chunk);
} frames SEC(".maps");

/*
 * Blocks of `frames` that are free: CPUs take one at a time. Not a number that all of them add
 * to: before 5.12 no atomic addition says what it added to, and a program that has one cannot be
 * loaded.
 */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, u32);
} free_blocks SEC(".maps");

struct stack_place {
	u32 first; /* in `frames` */
	u16 count;
	u16 end; /* of user frames: enum unwind_end */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct stack_place);
} stacks SEC(".maps");

EXPORT_TYPE(struct stack_place, stack_place);

/* Room for `count` frames, as an index into `frames`; -1 when there is none. */
static __always_inline s64 reserve_frames(struct scratch *here, u32 count)
{
	u32 block, first;

	/* The last frames of a block stay unused, where a deep stack would not fit. */
	if (here->frames_left < STACK_WORDS) {
		if (bpf_map_pop_elem(&free_blocks, &block))
			return -1;
		here->next_frame = block * BLOCK_FRAMES;
		here->frames_left = BLOCK_FRAMES;
	}
	first = here->next_frame;
	here->next_frame += count;
	here->frames_left -= count;
	return first;
}

/* Only walks by tables find some. */
static __always_inline u32 functions_in(struct walked *walked)
{
	u32 functions = walked->functions;

	/* Without a branch: the verifier would follow all that comes for each way. */
	return functions & -(u32) !!walked->end;
}

/* The current thread's stack that was walked is kept now. A function of its own, verified once. */
__noinline int tell_functions(u32 index)
{
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	u32 bytes;

	if (!here || !functions_in(&here->user))
		return 0;
	here->user.tgid = current_tgid();
	bytes = __builtin_offsetof(struct walked, frames) + here->user.count * sizeof(u64);
	barrier_var(bytes);
	if (bytes <= sizeof(struct walked))
		bpf_ringbuf_output(&function_stacks, &here->user, bytes, 0);
	return 0;
}

static __always_inline bool keep_frames(struct scratch *here, struct walked *walked, u64 hash)
{
	const u64 *leaf = walked->called ? &walked->called : walked->frames;
	s64 first = reserve_frames(here, walked->count);
	struct stack_place place = {.first = first, .count = walked->count, .end = walked->end};
	struct frame_chunk *chunk;
	u32 index, at, bytes = walked->count * sizeof(u64);

	if (first < 0)
		return false;
	index = place.first / CHUNK_FRAMES;
	at = place.first % CHUNK_FRAMES;
	chunk = bpf_map_lookup_elem(&frames, &index);
	barrier_var(at);
	/* In a register: old verifiers (5.10) forget the bounds of what was on the stack. */
	barrier_var(bytes);
	if (!chunk || at > CHUNK_FRAMES - STACK_WORDS || bytes > STACK_WORDS * sizeof(u64))
		return false;
	bpf_probe_read_kernel(&chunk->frames[at], bytes, leaf);
	if (walked == &here->user)
		tell_functions(here->index);
	/* Another CPU may be first with the same stack; then its copy counts, and ours is wasted.
	 */
	return bpf_map_update_elem(&stacks, &hash, &place, BPF_NOEXIST) == 0 ||
	       bpf_map_lookup_elem(&stacks, &hash);
}

/* Makes sure that a walked stack can be found by its hash; returns the hash, or LOST_STACK. */
static __always_inline u64 keep_stack(struct scratch *here, struct walked *walked, u64 hash)
{
	if (hash <= LOST_STACK || bpf_map_lookup_elem(&stacks, &hash) ||
	    keep_frames(here, walked, hash))
		return hash;
	return LOST_STACK;
}

static __always_inline u64 hashed(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

/* Makes a hash of frames. A function of its own: the verifier follows its loop once, not for each
 * caller. */
__noinline int hash_frames(u32 index, bool is_user)
{
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	struct walked *walked;
	u64 hash, user, *end;
	u32 count;

	if (!here)
		return 0;
	/* Without a branch: the verifier would go through the loop for each way. */
	user = is_user;
	barrier_var(user);
	walked = &here->kernel + (user & 1);
	count = walked->count;
	/* The same frames that end otherwise are another stack. */
	hash = stack_seed ^ walked->called ^ walked->end ^ (u64)count << 32;
	/* So that words are taken many at a time: the verifier goes through each turn. */
	end = &walked->frames[count % STACK_ROOM];
#pragma unroll
	for (u32 word = 0; word < HASHED_AT_ONCE - 1; word++)
		end[word] = 0;
	for (u32 i = 0; i < STACK_WORDS && i < count; i += HASHED_AT_ONCE) {
#pragma unroll
		for (u32 word = 0; word < HASHED_AT_ONCE; word++)
			hash = hashed(hash, walked->frames[i + word]);
		barrier_var(count);
	}
	walked->hash = hash;
	return 0;
}

static __always_inline u64 new_hash(struct scratch *here, bool is_user, long bytes)
{
	struct walked *walked = is_user ? &here->user : &here->kernel;
	u32 count = (u32)bytes / sizeof(u64);

	if (bytes < 0) {
		count_loss(LOSS_STACK_WALK_FAILED);
		return LOST_STACK;
	}
	if (count == 0)
		return NO_STACK;
	if (count - (walked->beside & -(u32) !!walked->end) >= stack_depth)
		count_loss(LOSS_STACKS_TRUNCATED);
	walked->count = count;
	hash_frames(here->index, is_user);
	if (walked->called && count < STACK_DEPTH)
		walked->count = count + 1;
	return walked->hash <= LOST_STACK ? walked->hash + 2 : walked->hash;
}

/*
 * The hash of a walked stack, which is not kept yet, of `here->user` or `here->kernel`; `bytes` is
 * what the walk returned.
 */
static __always_inline u64 stack_hash(struct scratch *here, bool is_user, long bytes)
{
	return merged(new_hash(here, is_user, bytes));
}

/* Changes when a process executes another program, or when its number is used again. */
static __always_inline u64 incarnation_of(struct task_struct *task)
{
	/* By helpers, as queue_of() says: this stands behind many branches, and before a walk. */
	return BPF_CORE_READ(task, group_leader, start_time) + look(task, self_exec_id);
}

/* Whose stacks they are; the stacks themselves are still to be filled in. */
static __always_inline void stack_key_of(struct task_struct *task, struct stack_key *key)
{
	key->kernel = NO_STACK;
	key->user = NO_STACK;
	key->waker = 0;
	key->object = 0;
	key->incarnation = incarnation_of(task);
	key->tgid = task_tgid(task);
	key->tid = stacks_by_thread ? task_tid(task) : 0;
	/* With what follows the terminator; user space adds up keys that read the same. */
	if (current_has_type()) {
		((u64 *)key->comm)[0] = ((u64 *)task->comm)[0];
		((u64 *)key->comm)[1] = ((u64 *)task->comm)[1];
	} else {
		bpf_core_read(&key->comm, sizeof(key->comm), &task->comm);
	}
}

static __always_inline void add_to(u64 *number, u64 more)
{
	if (more)
		__sync_fetch_and_add(number, more);
}

#endif
