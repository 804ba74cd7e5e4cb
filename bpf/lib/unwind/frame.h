/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* From a user frame to its caller's; the same outside the kernel is src/unwind/step.ts. */
#ifndef TSTRACE_UNWIND_FRAME_H
#define TSTRACE_UNWIND_FRAME_H

#include "../kernel.h"
#include "../runtimes/python.h"
#include "../runtimes/v8.h"
#include "code.h"

/* How a walk ends; src/unwind/step.ts, END. */
enum unwind_end {
	/* It goes on; of a stack: it was walked by frame pointers alone. */
	UNWIND_ON,
	/* At the first function of the thread. */
	UNWIND_WHOLE,
	/* In a file whose table is not there yet. */
	UNWIND_NO_TABLE,
	/* At a rule that is unknown. */
	UNWIND_NO_RULE,
	/* Where there is no rule, and the frame pointer leads nowhere. */
	UNWIND_GAP,
	/* At memory that cannot be read. */
	UNWIND_UNREADABLE,
	/* At a return address where no code is, or in a stack that goes backwards. */
	UNWIND_ASTRAY,
	/* With as many frames as were asked for. */
	UNWIND_TOO_DEEP,
	/* Where frame pointers ended, or led through code of a file that says nothing of it. */
	UNWIND_GUESSED,
	/* At a return address of 0: some first functions have that, and so has memory that is none.
	 */
	UNWIND_ZERO,
};

EXPORT_TYPE(enum unwind_end, unwind_end);

/* Documentation/admin-guide/sysctl/vm.rst, mmap_min_addr: its largest usual value. */
#define LOWEST_FRAME 0x10000

#ifdef __TARGET_ARCH_arm64
/* Above these bits of an address it keeps its signature. */
#define ADDRESS_MASK 0xffffffffffffUL
/* arch/arm64/kernel/signal.c, struct rt_sigframe: behind siginfo and ucontext, regs from 29 on. */
#define SIGNAL_FP   544
#define SIGNAL_LINK 552
#define SIGNAL_SP   560
#define SIGNAL_IP   568
/* mov x8, #__NR_rt_sigreturn; svc #0 */
#define SIGNAL_RETURN 0xd4000001d2801168UL
#else
#define ADDRESS_MASK  (~0UL)
/* arch/x86/include/asm/sigframe.h, struct rt_sigframe behind its return address. */
#define SIGNAL_FP     120
#define SIGNAL_SP     160
#define SIGNAL_IP     168
/* mov $__NR_rt_sigreturn, %rax; syscall */
#define SIGNAL_RETURN 0x0f0000000fc0c748UL
#endif

static __always_inline bool read_word(u64 address, u64 *word)
{
	return bpf_probe_read_user(word, sizeof(*word), (void *)address) == 0;
}

static __always_inline int to_caller(struct unwind *walk, u64 ip, u64 sp, u64 fp)
{
	/* arm64 signs a return address of 0, too. */
	ip &= ADDRESS_MASK;
	if (!ip)
		return UNWIND_ZERO;
	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	walk->is_exact = false;
	walk->has_link = false;
	return UNWIND_ON;
}

/* To what a signal interrupted. */
static __always_inline int out_of_signal(struct unwind *walk)
{
	u64 ip, sp, fp;

	if (!walk->sp)
		return UNWIND_GAP;
	if (!read_word(walk->sp + SIGNAL_IP, &ip) || !read_word(walk->sp + SIGNAL_SP, &sp) ||
	    !read_word(walk->sp + SIGNAL_FP, &fp))
		return UNWIND_UNREADABLE;
#ifdef __TARGET_ARCH_arm64
	if (!read_word(walk->sp + SIGNAL_LINK, &walk->link))
		return UNWIND_UNREADABLE;
	walk->link &= ADDRESS_MASK;
	walk->has_link = true;
#endif
	walk->ip = ip;
	walk->sp = sp;
	walk->fp = fp;
	walk->is_exact = true;
	walk->is_by_pointer = false;
	return UNWIND_ON;
}

/*
 * Where Go's asmcgocall, up to Go 1.20, has kept its stack pointer while it calls C on another
 * stack: counted from the end of the goroutine's stack, with that goroutine behind it; or, without
 * one, as it is. src/runtime/asm_amd64.s, runtime2.go (g). 1: it cannot be read.
 */
static __always_inline u64 behind_go(u64 at)
{
	struct {
		u64 sp;
		u64 goroutine;
	} kept;
	u64 end = 0;

	if (bpf_probe_read_user(&kept, sizeof(kept), (void *)at))
		return 1;
	if (!kept.goroutine)
		return kept.sp + 8;
	return read_word(kept.goroutine + 8, &end) ? end - kept.sp + 8 : 1;
}

/*
 * A function that saves fp and the return address side by side. Most of these keep a frame record:
 * fp points to the pair. Whoever saves fp alone may use the register for anything.
 */
static __always_inline bool keeps_record(struct unwind_rule *rule)
{
	return rule->cfa == CFA_SP && rule->fp == FP_AT_CFA && rule->ra == RA_AT_CFA &&
	       rule->ra_offset == rule->fp_offset + 8;
}

/* The canonical frame address; 0: the rule does not say it; 1: it cannot be read. */
static __always_inline u64 cfa_of(struct unwind *walk, struct unwind_rule *rule)
{
	u64 base = walk->sp, word;

	if (rule->cfa == CFA_FP || rule->cfa == CFA_FP_DEREF || rule->cfa == CFA_ELSEWHERE)
		base = walk->fp;
	else if (!base)
		return keeps_record(rule) ? walk->fp - rule->fp_offset : 0;
	switch (rule->cfa) {
	case CFA_SP:
	case CFA_FP:
	case CFA_ELSEWHERE:
		return base + rule->cfa_offset;
	case CFA_SP_DEREF:
	case CFA_FP_DEREF:
		return read_word(base + rule->cfa_offset, &word) ? word + rule->cfa_addend : 1;
	case CFA_GO_C:
		return behind_go(base + rule->cfa_offset);
	case CFA_PLT:
		return base + (walk->ip % 16 >= (u64)rule->cfa_offset ? 16 : 8);
	}
	return 0;
}

static __always_inline int step_by_rule(struct unwind *walk, struct unwind_rule *rule)
{
	u64 cfa, ip, fp = walk->fp;

	if (rule->cfa == CFA_END)
		return UNWIND_WHOLE;
	if (rule->cfa == CFA_SIGNAL)
		return out_of_signal(walk);
	cfa = cfa_of(walk, rule);
	if (cfa <= 1)
		return cfa ? UNWIND_UNREADABLE : UNWIND_NO_RULE;
	/* A stack that points into itself. A leaf of arm64 may have nothing on it. */
	if (rule->cfa < CFA_ELSEWHERE && (cfa < walk->sp || (cfa == walk->sp && !walk->has_link)))
		return UNWIND_ASTRAY;
	if (rule->ra == RA_REGISTER) {
		if (!walk->has_link)
			return UNWIND_NO_RULE;
		ip = walk->link;
	} else if (!read_word(cfa + rule->ra_offset, &ip)) {
		return UNWIND_UNREADABLE;
	}
	if (rule->fp == FP_AT_CFA && !read_word(cfa + rule->fp_offset, &fp))
		return UNWIND_UNREADABLE;
	if (rule->fp == FP_AT_FP && !read_word(walk->fp + rule->fp_offset, &fp))
		return UNWIND_UNREADABLE;
	if (rule->fp == FP_UNDEFINED)
		fp = 0;
	walk->is_by_pointer = false;
	return to_caller(walk, ip, cfa, fp);
}

static __always_inline int step_by_pointer(struct unwind *walk)
{
	struct {
		u64 fp;
		u64 ip;
	} frame;
	u64 fp = walk->fp;

	/* The code that begins a thread leaves 0 there; so may code that uses the register for
	 * something else (Java's).
	 */
	if (!fp && walk->depth > 0)
		return UNWIND_GUESSED;
	if (fp < LOWEST_FRAME || fp % 8 || fp < walk->sp)
		return UNWIND_GAP;
	if (walk->is_pointed_to) {
		frame.fp = walk->pointed_fp;
		frame.ip = walk->pointed_ip;
	} else if (bpf_probe_read_user(&frame, sizeof(frame), (void *)fp)) {
		return UNWIND_GAP;
	}
	if (frame.fp && frame.fp <= fp)
		return UNWIND_GAP;
	walk->is_by_pointer = true;
#ifdef __TARGET_ARCH_arm64
	/* The record that x29 points to lies somewhere in the frame of its function. */
	return to_caller(walk, frame.ip, 0, frame.fp);
#else
	return to_caller(walk, frame.ip, fp + sizeof(frame), frame.fp);
#endif
}

/* No frame of a walk is at this address: no code is there. */
#define UNWIND_NO_CODE (-1)

/* One frame on, or how the walk ends: UNWIND_NO_CODE, or of enum unwind_end. */
static __always_inline int step_frame(struct unwind *walk, u32 index)
{
	struct unwind_rule *rule = NULL;
	struct codes *codes = codes_at(walk);
	struct code *code;
	u64 at, instructions;

	if (!codes)
		return UNWIND_NO_CODE;
	/* Behind a call that does not return there may be another function. */
	at = walk->is_exact ? walk->ip : walk->ip - 1;
	code = known_code(codes, at);
	if (!code) {
		if (!find_code(index, at))
			return UNWIND_NO_CODE;
		code = &codes->code[(codes->found - 1) % CODES_REMEMBERED];
	}
	if (code->kind == CODE_ASKED)
		return UNWIND_NO_TABLE;
	walk->file_runtime = code->runtime;
	walk->file_base = code->start - code->file_offset;
	if (code->kind == CODE_WITH_TABLE)
		rule = rule_at(code, at);
	if (rule && rule->cfa != CFA_GAP)
		return step_by_rule(walk, rule);
	if (runtimes_known)
		v8_function(index, code->kind, code->runtime, at - code->start + code->file_offset);
	if (code->kind != CODE_WITHOUT_FILE) {
		if (read_word(walk->ip, &instructions) && instructions == SIGNAL_RETURN)
			return out_of_signal(walk);
		walk->is_guessed = true;
	}
	return step_by_pointer(walk);
}

/*
 * Adds the frame that a walk was at before its last step, with what it runs; `next`: what the step
 * returned. Returns the same, or that the stack is full. Verified once, and not for each way that a
 * step can go.
 */
__noinline int add_frame(u32 index, int next)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	u32 at, has_function;

	if (!walk || !here)
		return UNWIND_NO_CODE;
	at = here->user.count;
	barrier_var(at);
	if ((next == UNWIND_NO_CODE && walk->depth > 0) || at > STACK_WORDS - 2)
		return next;
	has_function = walk->function >> FUNCTION_MARK_BIT;
	here->user.frames[at] = walk->frame_ip;
	here->user.frames[at + 1] = walk->function;
	here->user.count = at + 1 + has_function;
	here->user.functions += has_function;
	here->user.beside += has_function;
	here->user.runtime = walk->runtime;
	if (walk->file_runtime | walk->python.is_waiting)
		return python_step(walk, index) && next == UNWIND_ON ? UNWIND_TOO_DEEP : next;
	return next;
}

/* Adds the frame that a walk is at, and goes one on: as step_frame(). Verified once. */
__noinline int unwind_frame(u32 index, u32 depth)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);

	if (!walk)
		return UNWIND_NO_CODE;
	walk->depth = depth;
	/* What a signal interrupted is no return address: it is made to look like one. Without a
	 * branch: the verifier would follow all that comes for each way. */
	walk->frame_ip = walk->ip + (walk->is_exact & (-(u64)depth >> 63));
	walk->frame_sp = walk->sp;
	walk->function = 0;
	walk->file_runtime = 0;
	walk->is_pointed_to = false;
	return add_frame(index, step_frame(walk, index));
}

#endif
