/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Arguments of a system call, out of the registers that a thread entered the kernel with. */
#ifndef TSTRACE_CALLS_ARGUMENTS_H
#define TSTRACE_CALLS_ARGUMENTS_H

#include "../kernel.h"
#include "calls.h"

#define CALL_ARGUMENTS 6

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___six {
#ifdef __TARGET_ARCH_arm64
	u64 regs[31];
	u64 orig_x0;
#else
	unsigned long bp;
	unsigned long bx;
	unsigned long r8;
	unsigned long r9;
	unsigned long r10;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
#endif
};

#pragma clang attribute pop

/* As the program gave them; of 32-bit programs 32 bits each. */
static __always_inline void call_arguments(void *registers, bool compat, u64 *to)
{
	struct pt_regs___six *regs = registers;

#ifdef __TARGET_ARCH_arm64
	to[0] = regs->orig_x0;
	to[1] = regs->regs[1];
	to[2] = regs->regs[2];
	to[3] = regs->regs[3];
	to[4] = regs->regs[4];
	to[5] = regs->regs[5];
#else
	if (!compat) {
		to[0] = regs->di;
		to[1] = regs->si;
		to[2] = regs->dx;
		to[3] = regs->r10;
		to[4] = regs->r8;
		to[5] = regs->r9;
		return;
	}
	to[0] = regs->bx;
	to[1] = regs->cx;
	to[2] = regs->dx;
	to[3] = regs->si;
	to[4] = regs->di;
	to[5] = regs->bp;
#endif
	if (compat)
		for (int i = 0; i < CALL_ARGUMENTS; i++)
			to[i] = (u32)to[i];
}

/* One of the first three, from 1. */
static __always_inline u64 call_argument(void *registers, struct call *call, u32 number)
{
	struct pt_regs___six *regs = registers;
	u64 first, second, third, value;

#ifdef __TARGET_ARCH_arm64
	first = regs->orig_x0;
	second = regs->regs[1];
	third = regs->regs[2];
#else
	bool compat = call->abi == CALL_COMPAT;

	first = compat ? regs->bx : regs->di;
	second = compat ? regs->cx : regs->si;
	third = regs->dx;
#endif
	value = number == 1 ? first : number == 2 ? second : third;
	return call->abi == CALL_COMPAT ? (u32)value : value;
}

/* All of a task that is not the current one, of a 64-bit program. Returns 0 if they could be
 * read. */
static __always_inline int read_arguments(void *registers, u64 *to)
{
	struct pt_regs___six *regs = registers;
	int failed = 0;

#ifdef __TARGET_ARCH_arm64
	failed |= bpf_core_read(&to[0], sizeof(u64), &regs->orig_x0);
	for (int i = 1; i < CALL_ARGUMENTS; i++)
		failed |= bpf_core_read(&to[i], sizeof(u64), &regs->regs[i]);
#else
	failed |= bpf_core_read(&to[0], sizeof(u64), &regs->di);
	failed |= bpf_core_read(&to[1], sizeof(u64), &regs->si);
	failed |= bpf_core_read(&to[2], sizeof(u64), &regs->dx);
	failed |= bpf_core_read(&to[3], sizeof(u64), &regs->r10);
	failed |= bpf_core_read(&to[4], sizeof(u64), &regs->r8);
	failed |= bpf_core_read(&to[5], sizeof(u64), &regs->r9);
#endif
	return failed;
}

#endif
