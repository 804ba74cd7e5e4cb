/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Walks user stacks by unwind tables: frame by frame, from the registers that a thread entered the
 * kernel with. */
#ifndef TSTRACE_UNWIND_WALK_H
#define TSTRACE_UNWIND_WALK_H

#include "../compat.h"
#include "../kernel.h"
#include "../registers.h"
#include "../stacks/stacks.h"
#include "frame.h"

/* False: by frame pointers alone. */
const volatile bool walk_by_tables = false;

/* What a thread had in its registers when it entered the kernel: where a walk of it begins. */
struct user_registers {
	u64 ip; /* 0: it has none */
	u64 sp;
	u64 fp;
	u64 link; /* arm64 */
};

static __always_inline void read_user_registers(struct task_struct *task,
						struct user_registers *registers)
{
	struct pt_regs___saved *regs;

	if (!walk_user || look(task, flags) & PF_KTHREAD)
		return;
	regs = saved_registers(task);
	bpf_core_read(&registers->sp, sizeof(u64), &regs->sp);
#ifdef __TARGET_ARCH_arm64
	bpf_core_read(&registers->ip, sizeof(u64), &regs->pc);
	bpf_core_read(&registers->fp, sizeof(u64), &regs->regs[29]);
	bpf_core_read(&registers->link, sizeof(u64), &regs->regs[30]);
	/* Signed as the function began, which may be the one that waits. */
	registers->link &= ADDRESS_MASK;
#else
	bpf_core_read(&registers->ip, sizeof(u64), &regs->ip);
	bpf_core_read(&registers->fp, sizeof(u64), &regs->bp);
#endif
}

/* The frames of the current thread, which is no kernel thread, by tables; returns bytes. */
static __always_inline long unwound_user_frames(struct scratch *here)
{
	struct user_registers registers = {};
	u32 index = here->index, most = most_frames(), count;
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	int end;

	if (!walk)
		return -1;
	read_user_registers(current_task(), &registers);
	/* Threads of io_uring's, which belong to a process and run in the kernel only. */
	if (!registers.ip && !registers.sp)
		return 0;
	walk->ip = registers.ip;
	walk->sp = registers.sp;
	walk->fp = registers.fp;
	walk->link = registers.link;
	walk->is_exact = true;
#ifdef __TARGET_ARCH_arm64
	walk->has_link = true;
#else
	walk->has_link = false;
#endif
	walk->is_by_pointer = false;
	walk->is_guessed = false;
	codes_of(index);
	here->user.count = 0;
	here->user.end = UNWIND_TOO_DEEP;
	here->user.functions = 0;
	here->user.beside = 0;
	here->user.base = 0;
	walk->python.runtime = 0;
	walk->python.has_several = false;
	walk->python.is_waiting = false;
	walk->python.taken = 0;
	for (u32 i = 0; i < most; i++) {
		int next = unwind_frame(index, i);

		if (next != UNWIND_ON) {
			here->user.end = next;
			break;
		}
	}
	/* Out of memory: of it the verifier knows nothing, and does not follow each number of
	 * frames apart. */
	barrier();
	count = here->user.count;
	end = here->user.end;
	if (end == UNWIND_NO_CODE)
		end = walk->is_by_pointer ? UNWIND_GAP : UNWIND_ASTRAY;
	if (walk->is_guessed && (end == UNWIND_WHOLE || end == UNWIND_GAP || end == UNWIND_ZERO))
		end = UNWIND_GUESSED;
	here->user.end = end;
	return count * sizeof(u64);
}

/* The thread runs code of 32 bits, whose frames are laid out otherwise. */
static __always_inline bool has_other_frames(struct task_struct *task)
{
#ifdef __TARGET_ARCH_x86
	struct pt_regs___saved *regs = saved_registers(task);

	return (u16)BPF_CORE_READ(regs, cs) != USER_CS;
#else
	return is_compat(task);
#endif
}

/* Whether the current thread's user stack is to be walked by tables. */
static __always_inline bool can_unwind(void)
{
	struct task_struct *task = current_task();

	return walk_by_tables && !(look(task, flags) & PF_KTHREAD) && !has_other_frames(task);
}

#endif
