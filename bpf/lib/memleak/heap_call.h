/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The call of an allocator that a thread is in, and which calls are within it.
 *
 * A call that returns memory is over when its return is probed. For free that would cost as much
 * again, and free maps memory but seldom: glibc makes a thread's arena in its first call, whichever
 * it is, and jemalloc and tcmalloc their caches. So of free is noted only where it was called from,
 * and it is mmap that looks whether it is called within (is_within_free). Where that cannot be
 * seen, as the program's own code is in the allocator's file, user space has free's return probed
 * after all.
 */
#ifndef TSTRACE_MEMLEAK_HEAP_CALL_H
#define TSTRACE_MEMLEAK_HEAP_CALL_H

#include "../kernel.h"
#include "allocations.h"
#include "probe.h"
#include "unmapped.h"

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
	/* Of what only frees: how many units of its file's code are in front of the one that the
	 * probe is in, and how many there are from that one on; none: its return is probed.
	 */
	SIGNATURE_CODE_BITS = 15,
	SIGNATURE_CODE_BEFORE = 33, /* shift */
	SIGNATURE_CODE_AFTER = 48,  /* shift */
	SIGNATURE_WAITS = 63,	    /* bit: its return is probed */
};

/* The units that code is counted in: pages, as the smallest are. */
#define CODE_UNIT_BYTES 4096

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
	/* That call of free: its probe, and where its return address is, and what it is. */
	u64 free_signature;
	u64 free_ip;
	u64 free_sp;
	u64 free_caller;
	struct last_mapping last_mapping;
	struct weight weight;
	bool wanted;
	bool held;	  /* `old` was taken out, until it is known whether it was freed */
	bool within_free; /* as far as the stack tells */
	u8 unused_padding[5];
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

/* include/uapi/asm-generic/mman-common.h, mman.h */
#define MAP_ANONYMOUS 0x20
#define MAP_STACK     0x20000
#define MMAP_FLAGS    4

/* Notes a call of free whose return is not probed. */
static __always_inline void note_free(struct heap_call *call, struct call_registers *regs,
				      u64 signature, u64 sp)
{
	call->free_signature = signature;
	call->free_ip = regs->ip;
	call->free_sp = sp;
	call->free_caller = caller_at(regs, sp);
}

/*
 * Whether mmap is called within the free that its thread called last, as far as the stack tells:
 * what is further down may have come after free as well, so its return address has to be there
 * still. Neither threads' stacks nor files are what allocators map.
 */
static __always_inline bool is_within_free(struct heap_call *call, struct call_registers *regs,
					   u64 sp)
{
	u64 flags = call_argument(regs, MMAP_FLAGS);

	if (sp >= call->free_sp || call->free_sp - sp > CALL_DEPTH_BYTES)
		return false;
	if (!(flags & MAP_ANONYMOUS) || flags & MAP_STACK)
		return false;
	return is_called_within(regs, call->free_sp, call->free_caller);
}

/*
 * Whether an address is in the file that has the free which a thread called last. Its return
 * address may be left in a part of a later function's frame that nobody has written to; but then it
 * is another file that maps memory.
 */
static __always_inline bool is_code_of_free(struct heap_call *call, u64 address)
{
	const u64 units = (1 << SIGNATURE_CODE_BITS) - 1;
	u64 unit = address / CODE_UNIT_BYTES, probed = call->free_ip / CODE_UNIT_BYTES;

	return unit >= probed - (call->free_signature >> SIGNATURE_CODE_BEFORE & units) &&
	       unit < probed + (call->free_signature >> SIGNATURE_CODE_AFTER & units);
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

#endif
