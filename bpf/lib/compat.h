/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Whether a system call is a 32-bit program's, whose numbers and arguments are others. */
#ifndef TSTRACE_COMPAT_H
#define TSTRACE_COMPAT_H

#include "kernel.h"

#ifdef __TARGET_ARCH_arm64
/* arch/arm64/include/asm/thread_info.h, _TIF_32BIT */
#define COMPAT_MASK (1 << 22)
/* arch/arm64/include/uapi/asm/ptrace.h, PSR_MODE32_BIT */
#define MODE32_BIT 0x10
#else
/* arch/x86/include/asm/thread_info.h, TS_COMPAT: for the time of a call */
#define COMPAT_MASK 2
/* arch/x86/include/asm/segment.h, __USER_CS: of 64-bit code */
#define USER_CS	    0x33
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info___calls {
	unsigned long flags;
	unsigned int status;
};

struct task_struct___calls {
	struct thread_info___calls thread_info;
};

struct pt_regs___calls {
#ifdef __TARGET_ARCH_arm64
	u64 pstate;
	s32 syscallno;
#else
	unsigned long r11;
	unsigned long ax;
	unsigned long cx;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long flags;
#endif
};

#pragma clang attribute pop

static __always_inline bool is_compat(struct task_struct *task)
{
	struct task_struct___calls *calls = (void *)task;
#ifdef __TARGET_ARCH_arm64
	return look(calls, thread_info.flags) & COMPAT_MASK;
#else
	return look(calls, thread_info.status) & COMPAT_MASK;
#endif
}

/*
 * The same of the call that the current task is in, from its registers where they tell: asking for
 * the task takes 15 ns. On x86 the SYSCALL instruction of 64-bit code leaves ip in cx and flags in
 * r11, by which the kernel knows, too, that SYSRET may go back ("SYSRET requires RCX == RIP and R11
 * == EFLAGS"); with FRED it does not, and the task is asked. After int $0x80 they are what the
 * program had: one that puts the address it goes on at into cx can pass its call off as a native
 * one.
 */
static __always_inline bool is_compat_call(void *registers)
{
	struct pt_regs___calls *regs = registers;
#ifdef __TARGET_ARCH_arm64
	return regs->pstate & MODE32_BIT;
#else
	if (regs->cx == regs->ip && regs->r11 == regs->flags && regs->cs == USER_CS)
		return false;
	return is_compat(current_task());
#endif
}

#endif
