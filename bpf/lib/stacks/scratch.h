/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Where stacks are walked into, before they are kept (stacks.h): each CPU has its places. */
#ifndef TSTRACE_STACKS_SCRATCH_H
#define TSTRACE_STACKS_SCRATCH_H

#include "../kernel.h"
#include "../sampling.h"

/* For user space, too. */
enum stack_constant {
	/* kernel/events/callchain.c: sysctl kernel.perf_event_max_stack unless it was changed. */
	STACK_DEPTH = 127,
	/* Of a stack: frames, and the functions of a runtime's (lib/runtimes/functions.h). */
	STACK_WORDS = 2 * STACK_DEPTH,
	/* The next power of two. */
	STACK_ROOM = 256,
	/* Words that hash_frames() takes at a time. */
	HASHED_AT_ONCE = 8,
	/* Frames in an element of `frames`. */
	CHUNK_FRAMES = 1 << 17,
	/* Frames in a block, which one CPU has for its own; an element is whole blocks. */
	BLOCK_FRAMES = 2048,
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
/* A stack as it was walked, leaf first. */
struct walked {
	u32 count;     /* of words in `frames` */
	u32 end;       /* as in stack_place */
	u32 functions; /* of them, where the walk was by tables: functions, and no frames */
	u32 runtime;   /* that they are of */
	u32 tgid;      /* as they are told, in our PID namespace */
	u32 beside;    /* of `frames`: words of frames that are there, too */
	u64 base;      /* where the file that CPython is in would be mapped at offset 0 */
	u64 hash;
	u64 called; /* a leaf for task_kernel_stack, right before the other frames */
	u64 frames[STACK_ROOM + HASHED_AT_ONCE];
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

_Static_assert(__builtin_offsetof(struct scratch, user) ==
		       __builtin_offsetof(struct scratch, kernel) + sizeof(struct walked),
	       "side by side: see hash_frames()");

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

#endif
