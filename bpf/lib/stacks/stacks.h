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
#include "../pidns.h"
#include "../runtimes/functions.h"
#include "../sampling.h"

/* For user space, too. */
enum stack_constant {
	/* kernel/events/callchain.c: sysctl kernel.perf_event_max_stack unless it was changed. */
	STACK_DEPTH = 127,
	/* Of a stack: frames, and the functions of a runtime's (lib/runtimes/functions.h). */
	STACK_WORDS = 2 * STACK_DEPTH,
	/* The next power of two. */
	STACK_ROOM = 256,
	/* Frames in an element of `frames`. */
	CHUNK_FRAMES = 1 << 17,
	/* Frames in a block, which one CPU has for its own; an element is whole blocks. */
	BLOCK_FRAMES = 1024,
	/* What a sum is made of: see the tools. */
	STACK_PARTS = 4,
	/* What a count of one is: sampling.h. */
	COUNT_ONE = ONE,
	/* Instead of a hash: there is no stack, as kernel threads have no user frames. */
	NO_STACK = 0,
	/* Instead of a hash: it was not kept, and that was counted. */
	LOST_STACK = 1,
	/* Of each CPU, where programs interrupt each other: take_scratch(). */
	SCRATCHES = 4,
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
	u16 count;
	u16 end; /* of user frames: enum unwind_end */
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
	u64 incarnation; /* incarnation_of() */
	u64 waker;	 /* of a wait: kept_waker() */
	u64 object; /* what was waited for: waits/objects/objects.h; 0: nothing that is known */
	u32 tgid;
	u32 tid; /* 0 unless stacks_by_thread */
	char comm[TASK_COMM_LEN];
};

EXPORT_TYPE(struct stack_key, stack_key);
EXPORT_TYPE(struct stack_place, stack_place);

/* A stack as it was walked, leaf first. */
struct walked {
	u32 count;     /* of words in `frames` */
	u32 end;       /* as in stack_place */
	u32 functions; /* of them, where the walk was by tables: functions, and no frames */
	u32 runtime;   /* that they are of */
	u32 tgid;      /* as they are told, in our PID namespace */
	u32 unused_padding;
	u64 hash;
	u64 called; /* a leaf for task_kernel_stack, right before the other frames */
	u64 frames[STACK_ROOM];
};

EXPORT_TYPE(struct walked, walked);

/* What was walked on this CPU, until it is counted; and its block of `frames`. */
struct scratch {
	u64 users; /* see take_scratch() */
	u32 index;
	u32 next_frame;
	u32 frames_left;
	struct stack_key owner; /* of programs whose own stack has no room for it */
	struct walked kernel;
	struct walked user;
};

/* User space makes room for SCRATCHES where take_scratch() is used; of waits, up to the last of
 * enum wait_scratch that is used. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* For programs that nothing interrupts which has a stack to walk, too. */
static __always_inline struct scratch *scratch_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

/*
 * For programs that can be interrupted by their own run in another thread: those of user probes.
 * A run adds 1; if it then finds 1, it has the place. Before 5.12 an atomic addition returns
 * nothing, but adding first and looking then is as good.
 */
static __always_inline struct scratch *take_scratch(void)
{
	for (u32 i = 0; i < SCRATCHES; i++) {
		u32 key = i;
		struct scratch *here = bpf_map_lookup_elem(&scratch, &key);

		if (!here)
			return NULL;
		__sync_fetch_and_add(&here->users, 1);
		barrier();
		if (*(volatile u64 *)&here->users == 1) {
			here->index = i;
			return here;
		}
		__sync_fetch_and_add(&here->users, -1);
	}
	return NULL;
}

static __always_inline void give_scratch(struct scratch *here)
{
	barrier();
	__sync_fetch_and_add(&here->users, -1);
}

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

/* Makes a hash of frames. A function of its own: the verifier follows its loop once, not for each
 * caller. */
__noinline int hash_frames(u32 index, bool is_user)
{
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	struct walked *walked;
	u32 count;
	u64 hash;

	if (!here)
		return 0;
	walked = is_user ? &here->user : &here->kernel;
	count = walked->count;
	/* The same frames that end otherwise are another stack. */
	hash = stack_seed ^ walked->called ^ walked->end;
	/* So that words are taken two at a time: the verifier goes through each turn. */
	walked->frames[count % STACK_ROOM] = 0;
	for (u32 i = 0; i < STACK_WORDS && i < count; i += 2) {
		hash = (hash ^ walked->frames[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
		hash = (hash ^ walked->frames[i + 1]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
		barrier_var(count);
	}
	walked->hash = hash;
	return 0;
}

/*
 * The hash of a walked stack, which is not kept yet, of `here->user` or `here->kernel`; `bytes` is
 * what the walk returned.
 */
static __always_inline u64 stack_hash(struct scratch *here, bool is_user, long bytes)
{
	struct walked *walked = is_user ? &here->user : &here->kernel;
	u32 count = (u32)bytes / sizeof(u64);

	if (bytes < 0) {
		count_loss(LOSS_STACK_WALK_FAILED);
		return LOST_STACK;
	}
	if (count == 0)
		return NO_STACK;
	if (count - functions_in(walked) >= stack_depth)
		count_loss(LOSS_STACKS_TRUNCATED);
	walked->count = count;
	hash_frames(here->index, is_user);
	if (walked->called && count < STACK_DEPTH)
		walked->count = count + 1;
	return walked->hash <= LOST_STACK ? walked->hash + 2 : walked->hash;
}

/* Changes when a process executes another program, or when its number is used again. */
static __always_inline u64 incarnation_of(struct task_struct *task)
{
	return look(task, group_leader, start_time) + look(task, self_exec_id);
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
