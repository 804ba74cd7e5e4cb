/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Calls of a process's allocator, by user probes at its functions.
 *
 * Functions are told apart by where their size, the old pointer and the result are: a signature.
 * User space's table (src/kit/allocators.ts) says which function has which; here is one program for
 * all entries and one for all returns.
 *
 * Allocators call each other: reallocarray is realloc, calloc may be malloc, malloc maps memory.
 * What counts is the call that the program made, so whatever its thread calls within is left out.
 */
#ifndef TSTRACE_HEAP_H
#define TSTRACE_HEAP_H

#include "allocations.h"
#include "filter.h"
#include "kernel.h"
#include "mappings.h"
#include "probe.h"
#include "walk.h"

/* How a signature is packed into the 64 bits that come with a probe. Arguments count from 1; 0:
 * none.
 */
enum signature {
	SIGNATURE_ARGUMENT_BITS = 3,
	SIGNATURE_SIZE = 0,	  /* shift: the argument that is the size, */
	SIGNATURE_TIMES = 3,	  /* shift: that is to be multiplied by this one */
	SIGNATURE_OLD = 6,	  /* shift: the pointer that is freed */
	SIGNATURE_OLD_SIZE = 9,	  /* shift: how much of it */
	SIGNATURE_RESULT_AT = 12, /* shift: where the new pointer is put; 0: it is returned */
	SIGNATURE_MAPPING = 15,	  /* bit: mmap's family */
	SIGNATURE_DEPTH = 16,	  /* shift, 8 bits: words on the stack since the entry */
	SIGNATURE_FUNCTION = 24,  /* shift, 8 bits: a number for the function */
	SIGNATURE_CALLER = 32,	  /* bit: its caller counts as the one that allocates */
};

/* Where a probe on a return is. */
enum return_kind {
	RETURN_DONE, /* to where the function was called: a uretprobe */
	RETURN_NEXT, /* at the function's last instruction */
};

EXPORT_TYPE(enum signature, signature);

/* A call within a call is not further down the stack. */
#define CALL_DEPTH_BYTES (1 << 20)
/* Operators new have small frames, and do not nest deeper than new[], new, malloc. */
#define CALLER_DEPTH_BYTES 256

/* A call that has not returned, of each thread. */
struct heap_call {
	u64 sp; /* as the function was entered; 0: there is no call */
	u64 signature;
	u64 size;
	u64 result_at;
	/* The outermost operator new: where its return address is, and what it is. It has no frame
	 * pointer, so that a walk from inside of it misses its caller.
	 */
	u64 caller_sp;
	u64 caller;
	u64 freed; /* the last that this thread freed */
	struct last_mapping last_mapping;
	struct weight weight;
	bool wanted;
	bool held; /* `old` was taken out, until it is known whether it was freed */
	u8 unused_padding[6];
	struct allocation_key old_key;
	struct allocation old;
};

/* User space sets the size before loading. Entries stay until their thread ends. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct heap_call);
} heap_calls SEC(".maps");

static __always_inline u32 signature_argument(u64 signature, u32 shift)
{
	return (signature >> shift) & ((1 << SIGNATURE_ARGUMENT_BITS) - 1);
}

/* Whether `sp` is of a call within `call`; a tail call is where its caller was. */
static __always_inline bool is_within(struct heap_call *call, u64 sp, u64 signature)
{
	u64 function = signature >> SIGNATURE_FUNCTION,
	    outer = call->signature >> SIGNATURE_FUNCTION;

	if (!call->sp || sp > call->sp || call->sp - sp > CALL_DEPTH_BYTES)
		return false;
	/* Operator new may be left by an exception, without a return: it had failed. */
	if (call->caller_sp == call->sp && !is_at(call->caller_sp, call->caller)) {
		call->sp = 0;
		return false;
	}
	return sp < call->sp || function != outer;
}

/* Whether a call at `sp` is the noted operator new's own, or within it. */
static __always_inline bool is_for_caller(struct heap_call *call, u64 sp)
{
	return call->caller_sp && sp <= call->caller_sp &&
	       call->caller_sp - sp <= CALLER_DEPTH_BYTES && is_at(call->caller_sp, call->caller);
}

/* The record of the current thread; NULL: there is no room for one. */
static __always_inline struct heap_call *heap_call_of(u32 tid)
{
	struct heap_call none = {};

	bpf_map_update_elem(&heap_calls, &tid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&heap_calls, &tid);
}

/* Operator delete may be nothing but free, and both are probed: the second finds nothing. */
static __always_inline void heap_free_block(struct heap_call *call, struct allocation_key *key)
{
	struct allocation taken;

	if (take_allocation(key, &taken))
		settle_freed(&taken);
	else if (!call || call->freed != key->address)
		count_unseen(key);
	if (call)
		call->freed = key->address;
}

/* What is freed without a result to wait for. */
static __always_inline void heap_free(struct heap_call *call, struct call_registers *regs,
				      u64 signature, struct allocation_key *key)
{
	u64 bytes = call_argument(regs, signature_argument(signature, SIGNATURE_OLD_SIZE));

	if (key->kind != ALLOCATION_MAPPING) {
		heap_free_block(call, key);
		return;
	}
	bytes = (bytes + page_bytes - 1) & -page_bytes;
	if (bytes)
		unmap(call ? &call->last_mapping : NULL, key, bytes);
}

static __always_inline void hold_old(struct heap_call *call, struct allocation_key *key)
{
	call->old_key = *key;
	call->held = take_allocation(key, &call->old);
	if (!call->held)
		count_unseen(key);
}

/* A call that takes time begins: what it asked for is known only now, what it got only at its end.
 */
static __always_inline void heap_call_begins(struct heap_call *call, struct call_registers *regs,
					     u64 signature, u64 sp, struct allocation_key *old)
{
	u32 times = signature_argument(signature, SIGNATURE_TIMES);
	u64 size = call_argument(regs, signature_argument(signature, SIGNATURE_SIZE));

	/* Left by a jump out of it; operator new by an exception. */
	if (call->sp) {
		if (!(call->signature >> SIGNATURE_CALLER & 1))
			count_loss(LOSS_ALLOCATIONS_ENDLESS);
		if (call->held)
			settle_freed(&call->old);
	}
	if (times)
		size *= call_argument(regs, times);
	if (signature >> SIGNATURE_MAPPING & 1)
		size = (size + page_bytes - 1) & -page_bytes;
	call->sp = sp;
	call->signature = signature;
	call->size = size;
	call->result_at = call_argument(regs, signature_argument(signature, SIGNATURE_RESULT_AT));
	call->wanted = size_wanted(size, &call->weight) &&
		       (!filter_is_set() || filter_has(current_task()));
	call->held = false;
	if (old->address)
		hold_old(call, old);
}

static __always_inline void heap_entered(struct call_registers *regs, u64 signature)
{
	u32 tid = bpf_get_current_pid_tgid(), tgid = bpf_get_current_pid_tgid() >> 32;
	struct heap_call *call = bpf_map_lookup_elem(&heap_calls, &tid);
	struct allocation_key old = {.tgid = tgid};
	u64 sp = regs->sp + ((signature >> SIGNATURE_DEPTH) & 0xff) * sizeof(u64);

	if (call && is_within(call, sp, signature))
		return;
	if (!call)
		call = heap_call_of(tid);
	if (call && !is_for_caller(call, sp)) {
		call->caller = signature >> SIGNATURE_CALLER & 1 ? caller_at(regs, sp) : 0;
		call->caller_sp = call->caller ? sp : 0;
	}
	old.kind = signature >> SIGNATURE_MAPPING & 1 ? ALLOCATION_MAPPING : ALLOCATION_HEAP;
	old.address = call_argument(regs, signature_argument(signature, SIGNATURE_OLD));
	if (!signature_argument(signature, SIGNATURE_SIZE)) {
		if (old.address)
			heap_free(call, regs, signature, &old);
		return;
	}
	if (!call) {
		count_loss(LOSS_ALLOCATING_THREADS_FULL);
		return;
	}
	heap_call_begins(call, regs, signature, sp, &old);
}

/* The address that a call returned; 0: it failed. */
static __always_inline u64 heap_result(struct heap_call *call, u64 result)
{
	if (call->result_at) {
		u64 pointer = 0;

		if ((u32)result ||
		    bpf_probe_read_user(&pointer, sizeof(pointer), (void *)call->result_at))
			return 0;
		return pointer;
	}
	return call->signature >> SIGNATURE_MAPPING & 1 && result == (u64)-1 ? 0 : result;
}

static __always_inline void heap_allocated(struct probe_registers *regs, struct heap_call *call,
					   u64 address)
{
	struct task_struct *task = current_task();
	struct allocation_key key = {.address = address};
	struct stack_key owner = {};
	struct scratch *here = take_scratch();

	if (!here) {
		count_loss(LOSS_ALLOCATIONS_NESTED);
		return;
	}
	key.tgid = bpf_get_current_pid_tgid() >> 32;
	key.kind = call->signature >> SIGNATURE_MAPPING & 1 ? ALLOCATION_MAPPING : ALLOCATION_HEAP;
	stack_key_of(task, &owner);
	owner.user = current_user_stack_of(regs, here, call->caller);
	if (key.kind == ALLOCATION_MAPPING) {
		/* It may lie over the beginning of another one. */
		struct allocation_key before = key;

		unmap(NULL, &before, call->size);
		call->last_mapping.start = address;
		call->last_mapping.end = address + call->size;
	}
	add_allocation(here, &owner, &key, call->size, &call->weight);
	give_scratch(here);
}

static __always_inline void heap_returned(struct probe_registers *regs, u64 kind)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct heap_call *call = bpf_map_lookup_elem(&heap_calls, &tid);
	u64 address, popped = kind == RETURN_DONE ? RETURN_POPS : 0;

	if (!call || !call->sp || PROBE_READ(regs, PROBE_SP) != call->sp + popped)
		return;
	/* Others jump to there too, and have uretprobes. */
	if (kind == RETURN_NEXT && !(call->signature >> SIGNATURE_CALLER & 1))
		return;
	call->sp = 0;
	call->caller_sp = 0;
	if (!call->wanted && !call->held)
		return;
	address = heap_result(call, PROBE_READ(regs, PROBE_RESULT));
	if (call->held) {
		call->held = false;
		/* realloc(p, 0) frees, and has nothing to return. */
		if (address || !call->size)
			settle_freed(&call->old);
		else
			put_allocation(&call->old_key, &call->old);
	}
	if (address && call->wanted)
		heap_allocated(regs, call, address);
}

#endif
