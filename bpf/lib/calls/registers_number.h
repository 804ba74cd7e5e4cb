/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Threads known by where their saved registers lie, as a number. */
#ifndef TSTRACE_CALLS_REGISTERS_NUMBER_H
#define TSTRACE_CALLS_REGISTERS_NUMBER_H

#include "../kernel.h"
#include "../registers.h"

/* What addresses are told by. */
u64 calls_origin;

/* 2^64 divided by the golden ratio: neighbours are spread. */
#define SPREAD 0x9e3779b97f4a7c15ULL

/*
 * A number for an address. The verifier lets no program calculate with addresses, but lets it
 * have the distance of two: that is to a variable of our own, which does not move.
 */
static __always_inline u64 registers_number(void *regs)
{
	return (char *)regs - (char *)&calls_origin;
}

/* The same of an address, by a pointer and what it is as a number: the verifier subtracts no
 * pointer from a number. */
static __always_inline u64 address_number(u64 address, void *pointer, u64 pointer_address)
{
	u64 number = registers_number(pointer);

	barrier_var(number); /* or clang adds to the origin's address first */
	return number + address - pointer_address;
}

/* The same of any task. */
static __always_inline u64 task_registers_number(struct task_struct *task)
{
	u64 registers, leader = 0;

	if (can_read_registers()) {
		barrier();
		registers = registers_number(saved_registers(task));
		barrier();
	} else {
		/* They are an address here. */
		barrier();
		bpf_core_read(&leader, sizeof(leader), &task->group_leader);
		registers = address_number((u64)saved_registers(task), task->group_leader, leader);
		barrier();
	}
	return registers;
}

#endif
