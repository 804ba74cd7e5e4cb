/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Calls of a process's allocator, by user probes at its functions.
 *
 * A function's signature says where its size, the old pointer and the result are. User space's
 * table (src/tools/memleak/heap/allocators.ts) says which function has which; here is one program
 * for all entries and one for all returns.
 *
 * Allocators call each other: reallocarray is realloc, calloc may be malloc, malloc maps memory.
 * What counts is the call that the program made, so whatever its thread calls within is left out.
 */
#ifndef TSTRACE_MEMLEAK_HEAP_H
#define TSTRACE_MEMLEAK_HEAP_H

#include "../filter.h"
#include "../kernel.h"
#include "../stacks/walk.h"
#include "allocations.h"
#include "heap_call.h"
#include "probe.h"
#include "unmapped.h"

/* Whatever a thread was in, it is no more: left by a jump out of it; operator new by an exception.
 */
static __always_inline void call_was_left(struct heap_call *call)
{
	if (!call->sp)
		return;
	if (!(call->signature >> SIGNATURE_CALLER & 1))
		count_loss(LOSS_ALLOCATIONS_ENDLESS);
	if (call->held)
		settle_freed(&call->old);
	call->held = false;
}

/* What is freed without a result to wait for. */
static __always_inline void heap_free(struct heap_call *call, struct call_registers *regs,
				      u64 signature, u64 sp, struct allocation_key *key)
{
	u64 bytes = call_argument(regs, signature_argument(signature, SIGNATURE_OLD_SIZE));

	if (key->kind != ALLOCATION_MAPPING) {
		heap_free_block(call, key);
		if (!call)
			return;
		if (signature >> SIGNATURE_WAITS & 1) {
			call_was_left(call);
			call->sp = sp;
			call->signature = signature;
			call->wanted = false;
			call->within_free = false;
		} else {
			note_free(call, regs, signature, sp);
		}
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

	call_was_left(call);
	if (times)
		size *= call_argument(regs, times);
	call->within_free = signature >> SIGNATURE_MAPPING & 1 && is_within_free(call, regs, sp);
	if (signature >> SIGNATURE_MAPPING & 1)
		size = (size + page_bytes - 1) & -page_bytes;
	call->sp = sp;
	call->signature = signature;
	call->size = size;
	call->result_at = call_argument(regs, signature_argument(signature, SIGNATURE_RESULT_AT));
	call->wanted = size_wanted(size, &call->weight) &&
		       (!filter_is_set() || filter_has(current_task()));
	if (old->address)
		hold_old(call, old);
}

static __always_inline void heap_entered(struct call_registers *regs, u64 signature)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 tid = id, tgid = id >> 32;
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
			heap_free(call, regs, signature, sp, &old);
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
	struct scratch *here = take_scratch();

	if (!here) {
		count_loss(LOSS_ALLOCATIONS_NESTED);
		return;
	}
	key.tgid = bpf_get_current_pid_tgid() >> 32;
	key.kind = call->signature >> SIGNATURE_MAPPING & 1 ? ALLOCATION_MAPPING : ALLOCATION_HEAP;
	__builtin_memset(&here->owner, 0, sizeof(here->owner));
	stack_key_of(task, &here->owner);
	here->owner.user = current_user_stack_of(regs, here, call->caller);
	if (key.kind == ALLOCATION_MAPPING) {
		/* It may lie over the beginning of another one. */
		struct allocation_key before = key;

		unmap(NULL, &before, call->size);
		call->last_mapping.start = address;
		call->last_mapping.end = address + call->size;
	}
	add_allocation(here, &here->owner, &key, call->size, &call->weight);
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
	/* Only now is the caller certain: at the entry, a probe on the return may hide it. */
	if (call->within_free && is_code_of_free(call, PROBE_READ(regs, PROBE_IP)))
		call->wanted = false;
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
