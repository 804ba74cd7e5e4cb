/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sums by stack. A stack is walked (walk.h), interned by a hash of its frames, and what is counted
 * refers to it by that hash. Not BPF_MAP_TYPE_STACK_TRACE: its buckets hold one stack
 * each, so that of two that fall into the same one, the second is dropped or takes over.
 *
 * Frames lie one stack after the other in `frames`, which user space maps: a stack takes the room
 * it needs, and reading 10,000 of them takes no system call.
 */
#ifndef TSTRACE_STACKS_H
#define TSTRACE_STACKS_H

#include "kernel.h"
#include "loss.h"
#include "pidns.h"
#include "sampling.h"

/* For user space, too. */
enum stack_constant {
	/* kernel/events/callchain.c: sysctl kernel.perf_event_max_stack unless it was changed. */
	STACK_DEPTH = 127,
	/* Frames in an element of `frames`. */
	CHUNK_FRAMES = 1 << 17,
	/* Frames in a block, which one CPU has for its own; an element is whole blocks. */
	BLOCK_FRAMES = 1024,
	/* What a sum is made of: see the tools. */
	STACK_PARTS = 3,
	/* What a count of one is: sampling.h. */
	COUNT_ONE = ONE,
	/* Instead of a hash: there is no stack, as kernel threads have no user frames. */
	NO_STACK = 0,
	/* Instead of a hash: it was not kept, and that was counted. */
	LOST_STACK = 1,
};

EXPORT_TYPE(enum stack_constant, stack_constant);

/* Not below 1; user space sets it to what the user or the kernel limits depth to. */
const volatile u32 stack_depth = STACK_DEPTH;
/* A secret, so that nobody can prepare stacks that collide. */
const volatile u64 stack_seed = 0;
const volatile bool walk_kernel = true;
const volatile bool walk_user = true;
/* Threads of a process apart. */
const volatile bool stacks_by_thread = false;

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
	u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct stack_place);
} stacks SEC(".maps");

struct stack_key {
	u64 kernel; /* hashes: keys of `stacks` */
	u64 user;
	/* Changes when a process executes another program, or when its number is used again. */
	u64 incarnation;
	u32 tgid;
	u32 tid; /* 0 unless stacks_by_thread */
	char comm[TASK_COMM_LEN];
};

struct stack_sum {
	u64 first_ns; /* CLOCK_MONOTONIC: tells which mappings the addresses belong to */
	u64 count;    /* in 1/ONE, as are doubts: see sampling.h */
	u64 doubt;
	u64 parts[STACK_PARTS];
};

EXPORT_TYPE(struct stack_key, stack_key);
EXPORT_TYPE(struct stack_sum, stack_sum);
EXPORT_TYPE(struct stack_place, stack_place);

/* User space puts in the key of zeroes, for what has no room of its own. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct stack_key);
	__type(value, struct stack_sum);
} sums SEC(".maps");

/* A stack as it was walked, leaf first. */
struct walked {
	u32 count;
	u32 unused_padding;
	u64 called; /* a leaf for task_kernel_stack, right before the other frames */
	u64 frames[STACK_DEPTH];
};

/* What was walked on this CPU, until it is counted; and its block of `frames`. */
struct scratch {
	u32 next_frame;
	u32 frames_left;
	struct walked kernel;
	struct walked user;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

static __always_inline struct scratch *scratch_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

/* Room for `count` frames, as an index into `frames`; -1 when there is none. */
static __always_inline s64 reserve_frames(u32 count)
{
	struct scratch *here = scratch_here();
	u32 block, first;

	if (!here)
		return -1;
	/* The last frames of a block stay unused, where a deep stack would not fit. */
	if (here->frames_left < STACK_DEPTH) {
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

static __always_inline bool keep_frames(const u64 *walked, u64 hash, u32 count)
{
	s64 first = reserve_frames(count);
	struct stack_place place = {.first = first, .count = count};
	struct frame_chunk *chunk;
	u32 index, at, bytes = count * sizeof(u64);

	if (first < 0)
		return false;
	index = place.first / CHUNK_FRAMES;
	at = place.first % CHUNK_FRAMES;
	chunk = bpf_map_lookup_elem(&frames, &index);
	barrier_var(at);
	/* In a register: old verifiers (5.10) forget the bounds of what was on the stack. */
	barrier_var(bytes);
	if (!chunk || at > CHUNK_FRAMES - STACK_DEPTH || bytes > STACK_DEPTH * sizeof(u64))
		return false;
	bpf_probe_read_kernel(&chunk->frames[at], bytes, walked);
	/* Another CPU may be first with the same stack; then its copy counts, and ours is wasted.
	 */
	return bpf_map_update_elem(&stacks, &hash, &place, BPF_NOEXIST) == 0 ||
	       bpf_map_lookup_elem(&stacks, &hash);
}

/* Makes sure that a walked stack can be found by its hash; returns the hash, or LOST_STACK. */
static __always_inline u64 keep_stack(struct walked *walked, u64 hash)
{
	const u64 *first = walked->called ? &walked->called : walked->frames;

	if (hash <= LOST_STACK || bpf_map_lookup_elem(&stacks, &hash) ||
	    keep_frames(first, hash, walked->count))
		return hash;
	return LOST_STACK;
}

/* The hash of a walked stack, which is not kept yet; `bytes` is what the walk returned. */
static __always_inline u64 stack_hash(struct walked *walked, long bytes)
{
	u32 count = (u32)bytes / sizeof(u64);
	u64 hash = stack_seed;

	if (bytes < 0) {
		count_loss(LOSS_STACK_WALK_FAILED);
		return LOST_STACK;
	}
	if (count == 0)
		return NO_STACK;
	if (count >= stack_depth)
		count_loss(LOSS_STACKS_TRUNCATED);
	hash ^= walked->called;
	for (u32 i = 0; i < STACK_DEPTH && i < count; i++) {
		hash = (hash ^ walked->frames[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
		barrier_var(count);
	}
	walked->count = walked->called && count < STACK_DEPTH ? count + 1 : count;
	return hash <= LOST_STACK ? hash + 2 : hash;
}

/* Whose stacks they are; the stacks themselves are still to be filled in. */
static __always_inline void stack_key_of(struct task_struct *task, struct stack_key *key)
{
	key->kernel = NO_STACK;
	key->user = NO_STACK;
	key->incarnation = task->group_leader->start_time + task->self_exec_id;
	key->tgid = task_tgid(task);
	key->tid = stacks_by_thread ? task_tid(task) : 0;
	/* With what follows the terminator; user space adds up keys that read the same. */
	((u64 *)key->comm)[0] = ((u64 *)task->comm)[0];
	((u64 *)key->comm)[1] = ((u64 *)task->comm)[1];
}

/*
 * The sum for a key; that of all others when there is no more room; NULL when even that is gone. A
 * key that was counted before has its stacks kept already; a new one has just been walked here.
 */
static __always_inline struct stack_sum *sum_of(struct stack_key *key)
{
	struct stack_sum *sum = bpf_map_lookup_elem(&sums, key);
	struct scratch *here = scratch_here();
	struct stack_sum none = {};
	struct stack_key others = {};
	u64 kernel, user;

	if (sum || !here)
		return sum;
	kernel = key->kernel;
	user = key->user;
	key->kernel = keep_stack(&here->kernel, kernel);
	key->user = keep_stack(&here->user, user);
	none.first_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&sums, key, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&sums, key);
	/* Once for a wait or a sample, whatever of it had no room. */
	if (!sum || key->kernel != kernel || key->user != user)
		count_loss(LOSS_STACKS_FULL);
	return sum ? sum : bpf_map_lookup_elem(&sums, &others);
}

static __always_inline void add_to(u64 *number, u64 more)
{
	if (more)
		__sync_fetch_and_add(number, more);
}

#endif
