/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Who ended a wait: the thread, or the interrupt, that woke the one that waited.
 *
 * sched_waking comes where the waker runs, also if the other thread is woken by another CPU then
 * (sched_wakeup may come there). Who it is is kept with the wait, and interned when the wait is
 * counted. The waker's stacks are walked only for waits that are chosen by how long they were
 * blocked.
 */
#ifndef TSTRACE_WAITS_WAKERS_H
#define TSTRACE_WAITS_WAKERS_H

#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"
#include "../sampling.h"
#include "../scheduling/interrupts.h"
#include "../stacks/stacks.h"
#include "../stacks/walk.h"
#include "entry.h"

const volatile bool with_wakers = false;
/* Their stacks, too; then only blocked time counts, and waits are chosen by it. */
const volatile bool walk_wakers = false;

/*
 * Places of `scratch`, one for each program that may interrupt the others as they walk. User space
 * makes room up to the last one that is used.
 */
enum wait_scratch {
	/* As a thread resumes: scratch_here(). */
	RESUMED_SCRATCH = 0,
	/*
	 * Programs at sched_waking interrupt those. They do not interrupt each other: the kernel
	 * keeps interrupts off there. (Not where a thread wakes itself; then it is on its CPU, and
	 * nothing is walked.)
	 */
	WAKER_SCRATCH,
	/*
	 * A sample interrupts what walks as a thread resumes. It does not interrupt programs at
	 * sched_waking, where interrupts are off; they may interrupt nothing but a thread's own
	 * work.
	 */
	SAMPLE_SCRATCH,
};

EXPORT_TYPE(enum wait_scratch, wait_scratch);

/* Instead of a key. */
enum waker_constant {
	LOST_WAKER = 1,
};

EXPORT_TYPE(enum waker_constant, waker_constant);

/* User space makes room. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct waker);
} wakers SEC(".maps");

/* Sets who is waking somebody on this CPU; without stacks. */
static __always_inline void read_waker(struct task_struct *current, struct task_struct *woken,
				       struct waker *waker)
{
	struct cpu_context context;
	struct stack_key self;

	read_waker_context(current, woken, &context);
	__builtin_memset(waker, 0, sizeof(*waker));
	waker->known = true;
	waker->by_thread = context.by_thread;
	waker->context = context.kind;
	waker->interrupt = context.interrupt;
	waker->irq = context.irq;
	if (!context.by_thread)
		return;
	stack_key_of(current, &self);
	waker->pid = look(current, pid);
	waker->born_ns = look(current, start_time);
	waker->incarnation = self.incarnation;
	waker->tgid = self.tgid;
	waker->tid = self.tid;
	__builtin_memcpy(waker->comm, self.comm, sizeof(waker->comm));
}

static __always_inline void walk_waker(void *ctx, struct waker *waker)
{
	u32 index = WAKER_SCRATCH;
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	u64 kernel, user = NO_STACK;

	if (!here)
		return;
	here->index = index;
	kernel = current_kernel_stack(ctx, here);
	waker->kernel = keep_stack(here, &here->kernel, kernel);
	if (waker->by_thread)
		user = current_user_stack(ctx, here);
	waker->user = keep_stack(here, &here->user, user);
	if (waker->kernel != kernel || waker->user != user)
		count_loss(LOSS_STACKS_FULL);
}

/* The key in `wakers`, where user space finds it; 0: nobody was seen; LOST_WAKER: there is no room.
 */
static __always_inline u64 kept_waker(struct waker *waker)
{
	const u64 *words = (const u64 *)waker;
	u64 hash = stack_seed;

	if (!waker->known)
		return 0;
	for (u32 i = 0; i < offsetof(struct waker, pid) / sizeof(u64); i++)
		hash = hashed(hash, words[i]);
	if (hash <= LOST_WAKER)
		hash += LOST_WAKER + 1;
	if (bpf_map_lookup_elem(&wakers, &hash))
		return hash;
	waker->first_ns = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(&wakers, &hash, waker, BPF_NOEXIST) ||
	    bpf_map_lookup_elem(&wakers, &hash))
		return hash;
	count_loss(LOSS_STACKS_FULL);
	return LOST_WAKER;
}

#endif
