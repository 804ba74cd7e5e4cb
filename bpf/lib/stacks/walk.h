/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Walks stacks and interns them: see stacks.h. User frames are found by tables (unwind/walk.h), or
 * by frame pointers.
 *
 * The kernel's helpers take 1 to 3 us. In the hot path of a switch, user frames are followed here
 * without them.
 */
#ifndef TSTRACE_STACKS_WALK_H
#define TSTRACE_STACKS_WALK_H

#include "../kernel.h"
#include "../loss.h"
#include "../registers.h"
#include "../unwind/walk.h"
#include "stacks.h"

/* User stacks with more frames are walked by the kernel. */
#define SHORT_WALK 24

static __always_inline u32 walk_bytes(void)
{
	return most_frames() * sizeof(u64);
}

/* The current thread's user frames by frame pointers; returns bytes, 0 of a kernel thread. */
static __always_inline long pointed_user_frames(void *ctx, struct scratch *here)
{
	long bytes;

	here->user.end = UNWIND_ON;
	bytes = bpf_get_stack(ctx, here->user.frames, walk_bytes(), BPF_F_USER_STACK);
	return bytes == -EFAULT ? 0 : bytes;
}

/* The current thread's user frames, in any context. */
static __always_inline u64 current_user_stack(void *ctx, struct scratch *here)
{
	if (!walk_user || !here)
		return NO_STACK;
	/* Two call sites: with one the verifier follows the hash for all that either may return. */
	if (can_unwind())
		return stack_hash(here, true, unwound_user_frames(here));
	return stack_hash(here, true, pointed_user_frames(ctx, here));
}

/* Takes the allocator's own frames off a walked stack; returns its bytes. */
static __always_inline long from_caller(u64 *frames, long bytes, u64 caller)
{
	/* Operator new for an array calls the other one. */
	u32 own = frames[0] == caller ? 0 : frames[1] == caller ? 1 : frames[2] == caller ? 2 : 3;

	if (own == 3)
		frames[0] = caller;
	for (u32 i = 0; i < 2 && i < own && own < 3; i++) {
		if (bytes < 2 * (long)sizeof(u64) || bytes > STACK_WORDS * (long)sizeof(u64))
			break;
		bytes -= sizeof(u64);
		/* Word by word, upwards: the two may overlap. */
		bpf_probe_read_kernel(frames, bytes, &frames[1]);
	}
	return bytes;
}

/*
 * The same, for a thread in a function without a frame pointer that was called from `caller`: its
 * place is taken by that. 0: it has none.
 */
static __always_inline u64 current_user_stack_of(void *ctx, struct scratch *here, u64 caller)
{
	u64 *frames = here->user.frames;
	long bytes;

	if (!walk_user)
		return NO_STACK;
	frames[1] = 0;
	frames[2] = 0;
	if (can_unwind()) {
		bytes = unwound_user_frames(here);
		return stack_hash(here, true, caller ? from_caller(frames, bytes, caller) : bytes);
	}
	here->user.end = UNWIND_ON;
	bytes = bpf_get_stack(ctx, frames, walk_bytes(), BPF_F_USER_STACK);
	/* It has a frame pointer after all. */
	if (caller && frames[1] != caller && frames[2] != caller)
		frames[0] = caller;
	/* No thread is without frames at a user probe: it was interrupted by another's walk. */
	return stack_hash(here, true, bytes);
}

static __always_inline u64 current_kernel_stack(void *ctx, struct scratch *here)
{
	long bytes;

	if (!walk_kernel || !here)
		return NO_STACK;
	here->kernel.called = 0;
	bytes = bpf_get_stack(ctx, here->kernel.frames, walk_bytes(), 0);
	/* It was in user mode. */
	return bytes == -EFAULT ? NO_STACK : stack_hash(here, false, bytes);
}

#ifdef __TARGET_ARCH_x86

/* The function that was called by the instruction before this return address; 0: not known. */
static __always_inline u64 called_before(u64 address)
{
	struct {
		u8 opcode; /* CALL rel32 */
		s32 offset;
	} __attribute__((packed)) call;

	if (bpf_probe_read_kernel(&call, sizeof(call), (void *)(address - sizeof(call))))
		return 0;
	return call.opcode == 0xe8 ? address + (s64)call.offset : 0;
}

#else

static __always_inline u64 called_before(u64 address)
{
	u32 call;

	if (bpf_probe_read_kernel(&call, sizeof(call), (void *)(address - sizeof(call))))
		return 0;
	/* BL imm26 */
	return call >> 26 == 0x25 ? address - sizeof(call) + ((s64)((u64)call << 38) >> 36) : 0;
}

#endif

/*
 * The kernel stack that a task left behind which is not running. The helper leaves out the frames
 * of functions that are nothing but a way to sleep (.sched.text: schedule, but also mutex_lock and
 * io_schedule). Which of them was called says what is waited for, so it is put back as the leaf:
 * the start of the function, not a return address.
 */
static __always_inline u64 task_kernel_stack(struct task_struct *task)
{
	struct scratch *here = scratch_here();
	struct walked *walked;
	long bytes;

	if (!walk_kernel || !here)
		return NO_STACK;
	walked = &here->kernel;
	bytes = bpf_get_task_stack(task, walked->frames, walk_bytes(), 0);
	walked->called = bytes >= (long)sizeof(u64) ? called_before(walked->frames[0]) : 0;
	return stack_hash(here, false, bytes);
}

#ifdef __TARGET_ARCH_x86

/* arch/x86/events/core.c, perf_callchain_user; returns bytes, or -1 to leave it to the helper. */
static __always_inline long short_user_walk(u64 *frames)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs___saved *regs;
	struct {
		u64 fp;
		u64 ip;
	} frame;

	if (task->flags & PF_KTHREAD)
		return 0;
	regs = (void *)bpf_task_pt_regs(task);
	frame.ip = regs->ip;
	frame.fp = regs->bp;
	if ((u16)regs->cs != USER_CS || stack_depth < SHORT_WALK)
		return -1;
	for (u32 i = 0; i < SHORT_WALK; i++) {
		u64 fp = frame.fp;

		frames[i] = frame.ip;
		/* No stack lies there; and a read that faults takes longer than ten that do not. */
		if (fp < LOWEST_FRAME || fp & 7)
			return (i + 1) * sizeof(u64);
		/* What points to itself is no frame: start-up code leaves such in the register. */
		if (bpf_probe_read_user(&frame, sizeof(frame), (void *)fp) || !frame.ip ||
		    frame.fp == fp)
			return (i + 1) * sizeof(u64);
	}
	return -1;
}

/* The user stack of the current thread, as it leaves the CPU or comes back to it. */
static __always_inline u64 switched_user_stack(void *ctx)
{
	struct scratch *here = scratch_here();
	long bytes = -1;

	if (!walk_user || !here)
		return NO_STACK;
	if (!can_unwind() && can_read_registers()) {
		here->user.end = UNWIND_ON;
		barrier();
		bytes = short_user_walk(here->user.frames);
		barrier();
	}
	return bytes < 0 ? current_user_stack(ctx, here) : stack_hash(here, true, bytes);
}

#else

static __always_inline u64 switched_user_stack(void *ctx)
{
	return current_user_stack(ctx, scratch_here());
}

#endif

#endif
