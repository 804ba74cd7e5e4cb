/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Where the registers lie that a thread had as it entered the kernel. */
#ifndef TSTRACE_REGISTERS_H
#define TSTRACE_REGISTERS_H

#include "kernel.h"

/* x86-64 and arm64: the size of a kernel stack; at its top lie the user's registers. */
#define KERNEL_STACK_BYTES 16384

static __always_inline bool can_read_registers(void)
{
	/* 5.15; before it, current_task_btf is not certain either. */
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

/* Of a thread that is not a kernel's; to be read with bpf_core_read. */
static __always_inline void *saved_registers(struct task_struct *task)
{
	void *regs;

	if (can_read_registers()) {
		barrier();
		regs = (void *)bpf_task_pt_regs(task);
		barrier();
	} else {
		barrier();
		regs = look(task, stack) + KERNEL_STACK_BYTES -
		       bpf_core_type_size(struct pt_regs___saved);
		barrier();
	}
	return regs;
}

#endif
