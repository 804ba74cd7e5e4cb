/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What is taken of a call's arguments: user space tells for each call what, when, and how much
 * (src/tools/trace/plans.ts); pointed.h takes it.
 */
#ifndef TSTRACE_TRACE_CAPTURES_H
#define TSTRACE_TRACE_CAPTURES_H

#include "path_glob.h"
#include "pointed.h"
#include "records.h"

enum capture_kind {
	CAPTURE_NOTHING,
	CAPTURE_STRING,
	CAPTURE_BYTES,
	/* Pointers to strings, up to a NULL. */
	CAPTURE_STRINGS,
	/* struct iovec, and what these point to. */
	CAPTURE_VECTORS,
	/* struct msghdr, with its address and its vectors. */
	CAPTURE_MESSAGE,
	/* As many struct mmsghdr as the units are. */
	CAPTURE_MESSAGES,
	/* Who the thread's parent is. */
	CAPTURE_PARENT,
	/* What a descriptor is: the argument, the result. */
	CAPTURE_FILE,
	CAPTURE_RESULT_FILE,
};

/* How many units. */
enum capture_factor {
	FACTOR_ONE,
	/* The value of argument 1 to 6. */
	FACTOR_ARGUMENT_1,
	FACTOR_RESULT = 7,
	/* A number that argument 1 to 6 points to. */
	FACTOR_AT_1 = 8,
};

struct capture {
	u8 argument; /* from 0 */
	u8 kind;
	u8 at_exit;
	u8 factor;
	u16 unit;
	u16 most; /* bytes */
};

struct call_plan {
	u8 arguments;
	u8 captures;
	u8 at_exit;	    /* how many of them wait for the return */
	u8 replaces_memory; /* what it succeeds with cannot be read again: execve */
	u8 descriptors;	    /* a bit for each argument that is one */
	u8 unused[7];
	struct capture of[CAPTURES];
};

EXPORT_TYPE(enum capture_kind, capture_kind);
EXPORT_TYPE(enum capture_factor, capture_factor);
EXPORT_TYPE(struct capture, capture);
EXPORT_TYPE(struct call_plan, call_plan);

/* By index of the call. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALL_INDEXES + 1);
	__type(key, u32);
	__type(value, struct call_plan);
} call_plans SEC(".maps");

static __always_inline struct call_plan *plan_of(u32 index)
{
	return bpf_map_lookup_elem(&call_plans, &index);
}

static __always_inline u64 factor_of(struct call_slot *slot, u32 factor)
{
	u32 first = factor < FACTOR_AT_1 ? FACTOR_ARGUMENT_1 : FACTOR_AT_1;
	u64 *arguments = (u64 *)slot->data, at = (factor - first) & 7, value;
	u32 pointed = 0;

	if (factor == FACTOR_ONE)
		return 1;
	if (factor == FACTOR_RESULT)
		return slot->record.result > 0 ? slot->record.result : 0;
	barrier_var(at);
	if (at >= CALL_ARGUMENTS)
		return 0;
	value = arguments[at];
	if (factor < FACTOR_AT_1)
		return value;
	return bpf_probe_read_user(&pointed, sizeof(pointed), (void *)value) ? 0 : pointed;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___parent {
	struct task_struct *real_parent;
};

#pragma clang attribute pop

/* Its number, and the name that the kernel keeps for it. */
static __always_inline void capture_parent(struct call_slot *slot)
{
	struct task_struct___parent *task = (void *)current_task();
	struct task_struct *parent = BPF_CORE_READ(task, real_parent, group_leader);
	u8 *room = capture_room(slot);

	if (!room)
		return;
	*(u32 *)(room + CAPTURE_HEADER_BYTES) = read_tgid(parent);
	bpf_core_read(room + 2 * CAPTURE_HEADER_BYTES, TASK_COMM_LEN, &parent->comm);
	captured(slot, room, CAPTURED_PARENT, CAPTURED, CAPTURE_HEADER_BYTES + TASK_COMM_LEN);
}

enum path_verdict {
	PATH_OTHER,
	PATH_MATCHES,
	PATH_UNKNOWN, /* it could not be read */
};

/* Whether the path of this argument, whose capture begins there, is one of those that are wanted.
 */
__noinline int path_verdict(u32 key, u32 begin, u32 argument)
{
	struct call_slot *slot = slot_at(key);
	struct capture_header *header;
	u64 at = begin, states = path_begins;
	u32 bytes;

	barrier_var(at);
	if (!slot || at > RECORD_LAST_AT)
		return PATH_OTHER;
	header = (void *)&slot->data[at];
	/* Where it is NULL, another argument's follows there, or what an earlier call has left. */
	if (at >= slot->record.bytes || header->argument != argument)
		return PATH_OTHER;
	if (header->status == CAPTURE_UNREADABLE)
		return PATH_UNKNOWN;
	bytes = header->bytes;
	for (u32 i = 0; i < GLOB_PATH_BYTES; i++) {
		if (i >= bytes)
			break;
		states = path_moved(states, slot->data[at + CAPTURE_HEADER_BYTES + i]);
	}
	return states & path_ends ? PATH_MATCHES : PATH_OTHER;
}

/* The same of all strings that were captured for a call, which come first. */
static __always_inline u32 paths_verdict(u32 key, struct call_slot *slot, struct call_plan *plan)
{
	u32 verdict = PATH_OTHER;

	for (u32 i = 0; i < CAPTURES; i++) {
		u32 one;

		if (i >= plan->captures || plan->of[i].kind != CAPTURE_STRING)
			continue;
		one = path_verdict(key, slot->begins[i], plan->of[i].argument);
		if (one > verdict)
			verdict = one;
		if (one == PATH_MATCHES)
			return PATH_MATCHES;
	}
	return verdict;
}

/* The capture of this number of the call that the slot is about. */
__noinline int capture_one(u32 key, u32 index, u32 number)
{
	struct call_slot *slot = slot_at(key);
	struct call_plan *plan = plan_of(index);
	u64 at = number, argument, units, address;
	struct capture *capture;

	if (!slot || !plan)
		return 0;
	barrier_var(at);
	if (at >= CAPTURES)
		return 0;
	capture = &plan->of[at];
	slot->begins[at] = slot->record.bytes;
	if (capture->kind == CAPTURE_PARENT) {
		capture_parent(slot);
		return 0;
	}
	if (capture->kind == CAPTURE_RESULT_FILE)
		return capture_file(key, CAPTURED_RESULT, slot->record.result);
	argument = capture->argument;
	barrier_var(argument);
	if (argument >= CALL_ARGUMENTS)
		return 0;
	address = ((u64 *)slot->data)[argument];
	if (capture->kind == CAPTURE_FILE)
		return capture_file(key, argument, address);
	/* NULL is shown as that. */
	if (!address)
		return 0;
	if (capture->kind == CAPTURE_STRING)
		return capture_string(key, argument, address, capture->most);
	if (capture->kind == CAPTURE_STRINGS)
		return capture_strings(key, argument, address, capture->most);
	units = factor_of(slot, capture->factor);
	if (capture->kind == CAPTURE_VECTORS)
		return capture_vectors(key, argument, address, units, capture->most);
	if (capture->kind == CAPTURE_MESSAGE)
		return capture_message(key, argument, address, units, capture->most);
	if (capture->kind == CAPTURE_MESSAGES)
		return capture_messages(key, argument, address, units, capture->most);
	return capture_bytes(key, argument, address, units * capture->unit, capture->most);
}

#endif
