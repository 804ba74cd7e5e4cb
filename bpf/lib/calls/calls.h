/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* System calls: which one begins, ends or is open. When they began: times.h. */
#ifndef TSTRACE_CALLS_CALLS_H
#define TSTRACE_CALLS_CALLS_H

#include "../compat.h"
#include "../filter.h"
#include "../kernel.h"
#include "../loss.h"
#include "../registers.h"
#include "perf_tracepoints.h"

enum call_numbering {
	/* Numbers of either architecture are below this. */
	CALL_NUMBERS = 512,
	CALL_INDEXES = 2 * CALL_NUMBERS,
	CALL_NO_INDEX = CALL_INDEXES,
	/* How calls are packed into 32 bits with an errno; larger numbers are all the same: no
	   call. */
	CALL_NR_BITS = 18,
	CALL_ABI_BITS = 2,
	CALL_NR_MAX = (1 << CALL_NR_BITS) - 1,
};

EXPORT_TYPE(enum call_numbering, call_numbering);

/* include/linux/err.h */
#define MAX_ERRNO 4095
/* arch/x86/include/uapi/asm/unistd.h, __X32_SYSCALL_BIT */
#define X32_BIT 0x40000000
#define ENOSYS	38

enum call_abi {
	CALL_NATIVE,
	CALL_COMPAT, /* of 32-bit programs */
	CALL_X32,
};

/* A bit for each index, see struct call. */
const volatile bool filter_calls = false;
const volatile u64 wanted_calls[CALL_INDEXES / 64] = {};
/* By ABI; user space sets them from the tables it names calls with. ~0: there is none. */
const volatile u32 sigreturn_nr[2] = {~0U, ~0U};
const volatile u32 exit_nr[2] = {~0U, ~0U};
const volatile u32 exit_group_nr[2] = {~0U, ~0U};
/* clone, fork, vfork, clone3: their child returns too. */
#define CHILD_CALLS 4
const volatile u32 child_nr[2 * CHILD_CALLS] = {};

struct call {
	u32 nr;
	u32 abi;   /* enum call_abi */
	u32 index; /* into tables of calls; CALL_NO_INDEX where the number is a strange one */
};

static __always_inline s64 call_number(void *regs)
{
#ifdef __TARGET_ARCH_arm64
	return ((struct pt_regs___calls *)regs)->syscallno;
#else
	return ((struct pt_regs___calls *)regs)->orig_ax;
#endif
}

/*
 * Which half of a table of numbers by ABI. Found where it is used: verifiers forget the bounds of
 * what lay on the stack meanwhile (5.10, 6.1).
 */
static __always_inline u64 abi_half(struct call *call)
{
	u64 abi = call->abi;

	barrier_var(abi);
	return abi & 1;
}

static __always_inline void call_of(bool compat, s64 number, struct call *call)
{
	u32 nr = number;

	call->abi = compat ? CALL_COMPAT : CALL_NATIVE;
	if (nr < CALL_NUMBERS) {
		call->nr = nr;
		call->index = call->abi * CALL_NUMBERS + nr;
		return;
	}
	if (nr & X32_BIT && !(nr & ~X32_BIT & ~(CALL_NUMBERS * 2 - 1))) {
		call->abi = CALL_X32;
		nr &= ~X32_BIT;
	}
	call->nr = nr < CALL_NR_MAX ? nr : CALL_NR_MAX;
	call->index = CALL_NO_INDEX;
}

/*
 * The call that returns now, by the number that is told. A return from a signal has forgotten its
 * own number, so that nothing is restarted; a program that asked for call -1 gets ENOSYS.
 */
static __always_inline void ended_call(bool compat, s64 number, long result, struct call *call)
{
	if ((u32)number == (u32)-1 && result != -ENOSYS)
		number = compat ? sigreturn_nr[CALL_COMPAT] : sigreturn_nr[CALL_NATIVE];
	call_of(compat, number, call);
}

/* The same, of the registers of the thread that made it. */
static __always_inline void ended_call_of(void *regs, long result, struct call *call)
{
	ended_call(is_compat_call(regs), call_number(regs), result, call);
}

static __always_inline bool call_wanted(struct call *call)
{
	u64 word = call->index / 64;

	if (!filter_calls)
		return true;
	barrier_var(word); /* in all its 64 bits, for the verifier of 6.1 */
	return word < CALL_INDEXES / 64 && (wanted_calls[word] >> (call->index % 64) & 1);
}

static __always_inline bool call_never_returns(struct call *call)
{
	u64 half = abi_half(call);

	return call->nr == exit_nr[half] || call->nr == exit_group_nr[half];
}

/* Whether this is a new thread or process that leaves the call it was made by. */
static __always_inline bool is_new_child(struct call *call, long result)
{
	u64 first;

	if (result)
		return false;
	first = abi_half(call) * CHILD_CALLS;
	return call->nr == child_nr[first] || call->nr == child_nr[first + 1] ||
	       call->nr == child_nr[first + 2] || call->nr == child_nr[first + 3];
}

/* The number of the call that a task has not returned from; -1: it is in none. */
static __always_inline s64 open_call_number(struct task_struct *task)
{
	struct pt_regs___calls *regs = saved_registers(task);
#ifdef __TARGET_ARCH_arm64
	s32 nr = -1;

	/* One that runs may be in user mode, with what its last call has left. */
	if (!task->on_cpu)
		bpf_core_read(&nr, sizeof(nr), &regs->syscallno);
	return nr;
#else
	unsigned long result = 0, nr = -1;

	/* arch/x86/entry/entry_64.S: the result is -ENOSYS until there is one. */
	if (bpf_core_read(&result, sizeof(result), &regs->ax) || result != (unsigned long)-ENOSYS)
		return -1;
	if (bpf_core_read(&nr, sizeof(nr), &regs->orig_ax))
		return -1;
	return (s64)nr < 0 ? -1 : (s64)(u32)nr;
#endif
}

/* Whether the task's calls are chosen; COMMAND's first is the one that executes it, and lets it in.
 */
static __always_inline bool caller_wanted(struct task_struct *task)
{
	return !filter_is_set() || filter_has_task(task) ||
	       (filter_command_tgid && task_tgid(task) == filter_command_tgid);
}

#endif
