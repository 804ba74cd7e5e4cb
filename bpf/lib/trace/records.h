/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * One record for each system call. It is put together in a place that belongs to the thread: what
 * is known at the entry, then what only the return tells; and goes to user space once.
 *
 * A record is a header, then the arguments, eight bytes each and as many as the call has, then what
 * they point to (captures.h).
 */
#ifndef TSTRACE_TRACE_RECORDS_H
#define TSTRACE_TRACE_RECORDS_H

#include "../calls/arguments.h"
#include "../calls/calls.h"
#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"
#include "../calls/registers_number.h"

enum call_record_type {
	RECORD_CALL,
	RECORD_EXIT, /* of a thread; the result is its exit code, the duration its lifetime */
	RECORD_SIGNAL,
	RECORD_FILE, /* what a descriptor is; a struct wait_object follows */
};

enum call_record_flag {
	/* The call began before tracing did; its duration is not known. */
	RECORD_BEGAN_BEFORE = 1,
	/* It never returns, or its thread ended in it. */
	RECORD_UNFINISHED = 2,
	/* The list of strings of an argument has more than were taken. */
	RECORD_LIST_CUT = 4,
	/* A thread that ends is the last one of its process. */
	RECORD_LAST_THREAD = 8,
	/* The stack in it is of the call's begin, not of its end. */
	RECORD_STACK_OF_ENTRY = 16,
};

struct call_record {
	u64 end_ns;	 /* CLOCK_MONOTONIC */
	u64 duration_ns; /* of RECORD_FILE: the file's number */
	s64 result;
	u32 tgid;
	u32 tid;
	u32 call; /* number, abi << CALL_NR_BITS */
	u8 type;
	u8 flags;
	u8 arguments;
	u8 unused;
	u32 lost;  /* records that had no room on this CPU since the last one that had */
	u32 bytes; /* behind the header */
	char comm[TASK_COMM_LEN];
};

EXPORT_TYPE(enum call_record_type, call_record_type);
EXPORT_TYPE(enum call_record_flag, call_record_flag);
EXPORT_TYPE(struct call_record, call_record);

enum call_record_limit {
	/* Of one string or buffer. */
	RECORD_TEXT_BYTES = 1024,
	/* What begins behind this has no room. */
	RECORD_LAST_AT = 776,
	RECORD_DATA_BYTES = 1824,
};

EXPORT_TYPE(enum call_record_limit, call_record_limit);

/* With stacks: what the next program at the same tracepoint is to do (call_stacks.h). */
enum call_pending {
	PENDING_STACK = 1,
	PENDING_RECORD = 2,
};

#define KNOWN_FILES 4

/* What tells that a descriptor of a thread is still the file that it was. */
struct known_file {
	u64 file;
	u64 place; /* its dentry and its mount */
	u64 name;  /* its hash and length; where it has none, its inode's number */
	u64 id;
};

/*
 * A thread's own, by where its saved registers lie (see syscount/times.h); it keeps it until a call
 * of another thread needs it, and has none going on itself.
 */
struct call_slot {
	u64 registers;
	u64 since_ns; /* 0: no call is going on */
	u16 unreadable;
	u16 has_stack;
	u32 pending;   /* enum call_pending */
	u16 begins[4]; /* of captures, in data */
	struct known_file files[KNOWN_FILES];
	struct call_record record;
	u8 data[RECORD_DATA_BYTES];
};

_Static_assert(sizeof(struct call_slot) == 2048, "no slot shares a cache line");
_Static_assert(sizeof(struct call_record) == 64, "src/tools/trace reads it in words");

#define SLOT_BITS   12
#define SLOT_COUNT  (1 << SLOT_BITS)
#define SLOTS_TRIED 4
#define NO_SLOT	    SLOT_COUNT

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOT_COUNT);
	__type(key, u32);
	__type(value, struct call_slot);
} call_slots_of_threads SEC(".maps");

/* User space sets the size before loading, and looks by itself now and then: no record wakes it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

/* By CPU: records that had no room since the last one that had. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} records_lost SEC(".maps");

static __always_inline struct call_slot *slot_at(u32 key)
{
	return bpf_map_lookup_elem(&call_slots_of_threads, &key);
}

static __always_inline u32 slot_first(u64 owner)
{
	return (owner >> 12) * SPREAD >> (64 - SLOT_BITS);
}

/* The slot that a thread has; NO_SLOT: it has none. */
static __always_inline u32 slot_find(u64 owner)
{
	u32 first = slot_first(owner);

	for (u32 i = 0; i < SLOTS_TRIED; i++) {
		u32 key = (first + i) & (SLOT_COUNT - 1);
		struct call_slot *slot = slot_at(key);

		if (slot && slot->registers == owner)
			return key;
	}
	return NO_SLOT;
}

/* The same, or one that is free. Threads that take one at the same moment: the later has it. */
static __always_inline u32 slot_take(u64 owner)
{
	u32 first = slot_first(owner), key = slot_find(owner);

	if (key != NO_SLOT)
		return key;
	for (u32 i = 0; i < SLOTS_TRIED; i++) {
		struct call_slot *slot;

		key = (first + i) & (SLOT_COUNT - 1);
		slot = slot_at(key);
		if (slot && !slot->since_ns) {
			slot->registers = owner;
			return key;
		}
	}
	return NO_SLOT;
}

static __always_inline void record_about(struct call_record *record, struct task_struct *task)
{
	record->tgid = task_tgid(task);
	record->tid = task_tid(task);
	if (current_has_type()) {
		((u64 *)record->comm)[0] = ((u64 *)task->comm)[0];
		((u64 *)record->comm)[1] = ((u64 *)task->comm)[1];
	} else {
		barrier();
		bpf_core_read(record->comm, TASK_COMM_LEN, &task->comm);
		barrier();
	}
}

/* Hands a slot's record over, or counts that it had no room; what is lost is told where it is. */
static __always_inline void record_leaves(struct call_slot *slot)
{
	u32 zero = 0;
	u64 *lost = bpf_map_lookup_elem(&records_lost, &zero), told;
	u64 bytes = slot->record.bytes;

	if (!lost)
		return;
	told = *lost;
	slot->record.lost = told;
	barrier_var(bytes);
	if (bytes > RECORD_DATA_BYTES)
		bytes = RECORD_DATA_BYTES;
	if (bpf_ringbuf_output(&records, &slot->record, sizeof(slot->record) + bytes,
			       BPF_RB_NO_WAKEUP)) {
		count_loss(LOSS_CALLS_RING_FULL);
		__sync_fetch_and_add(lost, 1);
	} else if (told) {
		__sync_fetch_and_add(lost, -told);
	}
}

#endif
