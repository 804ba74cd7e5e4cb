/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Since when threads are in their system calls. */
#ifndef TSTRACE_SYSCOUNT_TIMES_H
#define TSTRACE_SYSCOUNT_TIMES_H

#include "../kernel.h"
#include "../loss.h"
#include "../calls/registers_number.h"

#define CALL_PLACE_BITS 14
#define CALL_PLACES	(1 << CALL_PLACE_BITS)
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
	u64 registers = task_registers_number(task), *since_ns;
	struct call_place *place;

	place = call_place_of(registers);
	if (place && place->registers == registers)
		return place->since_ns;
	since_ns = bpf_map_lookup_elem(&calls_displaced, &registers);
	return since_ns ? *since_ns : 0;
}

#endif
