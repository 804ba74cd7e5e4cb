/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* System calls: which one a task is in, and since when. */
#ifndef TSTRACE_CALLS_H
#define TSTRACE_CALLS_H

#include "kernel.h"
#include "loss.h"
#include "registers.h"

/* Numbers of either architecture are below this; src/kit/syscalls.ts counts on it. */
#define CALL_NUMBERS  512
#define CALL_INDEXES  (2 * CALL_NUMBERS)
#define CALL_NO_INDEX CALL_INDEXES
/* How calls are packed into 32 bits with an errno; larger numbers are all the same: no call. */
#define CALL_NR_BITS  18
#define CALL_ABI_BITS 2
#define CALL_NR_MAX   ((1 << CALL_NR_BITS) - 1)
/* include/linux/err.h */
#define MAX_ERRNO 4095
/* arch/x86/include/uapi/asm/unistd.h, __X32_SYSCALL_BIT */
#define X32_BIT 0x40000000
#define ENOSYS	38
#ifdef __TARGET_ARCH_arm64
/* arch/arm64/include/asm/thread_info.h, _TIF_32BIT */
#define COMPAT_MASK (1 << 22)
#else
/* arch/x86/include/asm/thread_info.h, TS_COMPAT: for the time of a call */
#define COMPAT_MASK 2
#endif

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
	s32 syscallno;
#else
	unsigned long ax;
	unsigned long orig_ax;
#endif
};

#pragma clang attribute pop

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

static __always_inline bool is_compat(struct task_struct *task)
{
	struct task_struct___calls *calls = (void *)task;
#ifdef __TARGET_ARCH_arm64
	return calls->thread_info.flags & COMPAT_MASK;
#else
	return calls->thread_info.status & COMPAT_MASK;
#endif
}

static __always_inline void call_of(struct task_struct *task, s64 number, struct call *call)
{
	u32 nr = number;

	call->abi = is_compat(task) ? CALL_COMPAT : CALL_NATIVE;
	/* A return from a signal forgets its own number, so that nothing is restarted. */
	if (nr == (u32)-1)
		nr = sigreturn_nr[call->abi & 1];
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

static __always_inline bool call_wanted(struct call *call)
{
	u32 word = call->index / 64;

	if (!filter_calls)
		return true;
	return word < CALL_INDEXES / 64 && (wanted_calls[word] >> (call->index % 64) & 1);
}

static __always_inline bool call_never_returns(struct call *call)
{
	return call->nr == exit_nr[call->abi & 1] || call->nr == exit_group_nr[call->abi & 1];
}

/* Whether this is a new thread or process that leaves the call it was made by. */
static __always_inline bool is_new_child(struct call *call, long result)
{
	u32 first = (call->abi & 1) * CHILD_CALLS;

	if (result)
		return false;
	return call->nr == child_nr[first] || call->nr == child_nr[first + 1] ||
	       call->nr == child_nr[first + 2] || call->nr == child_nr[first + 3];
}

/*
 * Since when each thread is in its call. Threads are known by where their saved registers lie, at
 * the top of their stack: programs get that for nothing, while asking for the current task takes
 * 15 ns, and task storage 60. Whoever finds the place taken goes to a hash. A place has a cache
 * line for itself, so that CPUs do not take it from each other.
 */
/* What addresses are told by; see registers_number(). */
u64 calls_origin;

#define CALL_PLACE_BITS 14
#define CALL_PLACES	(1 << CALL_PLACE_BITS)
/* 2^64 divided by the golden ratio: neighbours are spread. */
#define SPREAD 0x9e3779b97f4a7c15ULL

struct call_place {
	u64 registers; /* 0: free */
	u64 since_ns;
	u64 unused_line[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALL_PLACES);
	__type(key, u32);
	__type(value, struct call_place);
} call_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u64);
} calls_displaced SEC(".maps");

/*
 * A number for an address. The verifier lets no program calculate with addresses, but lets it
 * have the distance of two: that is to a variable of our own, which does not move.
 */
static __always_inline u64 registers_number(void *regs)
{
	return (char *)regs - (char *)&calls_origin;
}

static __always_inline struct call_place *call_place_of(u64 registers)
{
	u32 key = (registers >> 12) * SPREAD >> (64 - CALL_PLACE_BITS);

	return bpf_map_lookup_elem(&call_places, &key);
}

static __always_inline void call_begins(void *regs)
{
	u64 registers = registers_number(regs), now_ns;
	struct call_place *place = call_place_of(registers);

	if (!place)
		return;
	if (!place->registers || place->registers == registers) {
		place->registers = registers;
		place->since_ns = bpf_ktime_get_ns();
		return;
	}
	now_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&calls_displaced, &registers, &now_ns, BPF_ANY))
		count_loss(LOSS_WAIT_TABLE_FULL);
}

/* Returns whether it is known when the call began that now ends. */
static __always_inline bool call_ends(void *regs, u64 *duration_ns)
{
	u64 registers = registers_number(regs), *since_ns;
	struct call_place *place = call_place_of(registers);

	if (!place)
		return false;
	if (place->registers == registers) {
		*duration_ns = bpf_ktime_get_ns() - place->since_ns;
		place->registers = 0;
		return true;
	}
	since_ns = bpf_map_lookup_elem(&calls_displaced, &registers);
	if (!since_ns)
		return false;
	*duration_ns = bpf_ktime_get_ns() - *since_ns;
	bpf_map_delete_elem(&calls_displaced, &registers);
	return true;
}

/* Of any task; 0 where it is not known. */
static __always_inline u64 call_since_ns(struct task_struct *task)
{
	u64 registers = registers_number(saved_registers(task)), *since_ns;
	struct call_place *place = call_place_of(registers);

	if (place && place->registers == registers)
		return place->since_ns;
	since_ns = bpf_map_lookup_elem(&calls_displaced, &registers);
	return since_ns ? *since_ns : 0;
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

#endif
