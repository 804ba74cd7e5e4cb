/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Since when threads are in their system calls. */
#ifndef TSTRACE_SYSCOUNT_TIMES_H
#define TSTRACE_SYSCOUNT_TIMES_H

#include "../kernel.h"
#include "../loss.h"
#include "../registers.h"

/* What addresses are told by; see registers_number(). */
u64 calls_origin;

#define CALL_PLACE_BITS 14
#define CALL_PLACES	(1 << CALL_PLACE_BITS)
/* 2^64 divided by the golden ratio: neighbours are spread. */
#define SPREAD 0x9e3779b97f4a7c15ULL

/*
 * Since when each thread is in its call. Threads are known by where their saved registers lie, at
 * the top of their stack: programs at raw tracepoints get that for nothing, while asking for the
 * current task takes 15 ns, and task storage 60. A thread that finds its place taken uses a hash. A
 * place has a cache line for itself, so that CPUs do not take it from each other.
 */
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
	u64 registers, leader = 0, *since_ns;
	struct call_place *place;

	if (can_read_registers()) {
		barrier();
		registers = registers_number(saved_registers(task));
		barrier();
	} else {
		/* They are an address here, and the distance of two pointers tells that of the
		 * origin. */
		barrier();
		bpf_core_read(&leader, sizeof(leader), &task->group_leader);
		registers = registers_number(task->group_leader);
		barrier_var(registers); /* or clang adds to the origin's address first */
		registers += (u64)saved_registers(task) - leader;
		barrier();
	}
	place = call_place_of(registers);
	if (place && place->registers == registers)
		return place->since_ns;
	since_ns = bpf_map_lookup_elem(&calls_displaced, &registers);
	return since_ns ? *since_ns : 0;
}

#endif
