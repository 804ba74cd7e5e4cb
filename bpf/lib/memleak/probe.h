/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A thread's registers at a user probe, by the calling convention of its architecture. Sources:
 * arch/x86/include/asm/ptrace.h, arch/arm64/include/uapi/asm/ptrace.h, which programs may rely on;
 * System V ABI, AMD64 supplement; Procedure Call Standard for the Arm 64-bit Architecture.
 */
#ifndef TSTRACE_MEMLEAK_PROBE_H
#define TSTRACE_MEMLEAK_PROBE_H

#include "../kernel.h"

#ifdef __TARGET_ARCH_arm64

struct probe_registers {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};

/* What a return takes off the stack. */
#define RETURN_POPS 0

#define PROBE_SP	sp
#define PROBE_IP	pc
#define PROBE_RESULT	regs[0]
#define PROBE_ARGUMENT1 regs[0]
#define PROBE_ARGUMENT2 regs[1]
#define PROBE_ARGUMENT3 regs[2]
#define PROBE_ARGUMENT4 regs[3]

#else

struct probe_registers {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	u64 orig_ax, ip, cs, flags, sp, ss;
};

/* What a return takes off the stack: its address. */
#define RETURN_POPS 8

#define PROBE_SP	sp
#define PROBE_IP	ip
#define PROBE_RESULT	ax
#define PROBE_ARGUMENT1 di
#define PROBE_ARGUMENT2 si
#define PROBE_ARGUMENT3 dx
#define PROBE_ARGUMENT4 cx

#endif

/* Volatile: the verifier takes registers only at constant places, which clang would calculate. */
#define PROBE_READ(registers, name) (*(volatile u64 *)&(registers)->name)

/* What a function was called with. */
struct call_registers {
	u64 sp;
	u64 ip;
	u64 link;  /* the return address, where it is in a register */
	u64 frame; /* the innermost frame record, where all functions have one */
	u64 arguments[4];
};

static __always_inline void read_call(struct probe_registers *registers,
				      struct call_registers *call)
{
	call->sp = PROBE_READ(registers, PROBE_SP);
	call->ip = PROBE_READ(registers, PROBE_IP);
#ifdef __TARGET_ARCH_arm64
	call->link = PROBE_READ(registers, regs[30]);
	call->frame = PROBE_READ(registers, regs[29]);
#endif
	call->arguments[0] = PROBE_READ(registers, PROBE_ARGUMENT1);
	call->arguments[1] = PROBE_READ(registers, PROBE_ARGUMENT2);
	call->arguments[2] = PROBE_READ(registers, PROBE_ARGUMENT3);
	call->arguments[3] = PROBE_READ(registers, PROBE_ARGUMENT4);
}

#ifdef __TARGET_ARCH_arm64

/* Where a function will return to that was entered with the stack at `sp`. */
static __always_inline u64 caller_at(struct call_registers *call, u64 sp)
{
	return call->link;
}

/* Whether a return address is still where it was; it lies in a frame that is not known. */
static __always_inline bool is_at(u64 sp, u64 caller)
{
	return true;
}

/* Enough for whatever an allocator calls. */
#define FRAME_RECORDS 24
/* Above are the bits of pointer authentication. */
#define ADDRESS_BITS 48

/*
 * Whether `call` is within the one that was entered with the stack at `sp` and returns to `caller`:
 * the frame record of that one, which is below `sp`, has the return address in it.
 */
static __always_inline bool is_called_within(struct call_registers *call, u64 sp, u64 caller)
{
	u64 record[2], at = call->frame;

	for (u32 i = 0; i < FRAME_RECORDS; i++) {
		if (at >= sp || bpf_probe_read_user(record, sizeof(record), (void *)at))
			return false;
		if (!((record[1] ^ caller) << (64 - ADDRESS_BITS)))
			return true;
		if (record[0] <= at)
			return false;
		at = record[0];
	}
	return false;
}

#else

static __always_inline u64 caller_at(struct call_registers *call, u64 sp)
{
	u64 caller = 0;

	bpf_probe_read_user(&caller, sizeof(caller), (void *)sp);
	return caller;
}

static __always_inline bool is_at(u64 sp, u64 caller)
{
	u64 word;

	return !bpf_probe_read_user(&word, sizeof(word), (void *)sp) && word == caller;
}

/*
 * Whether `call` is within the one that was entered with the stack at `sp` and returns to `caller`,
 * as far as the stack tells: after a return, it stays as it is until something is written over it.
 */
static __always_inline bool is_called_within(struct call_registers *call, u64 sp, u64 caller)
{
	return is_at(sp, caller);
}

#endif

/* An argument, counted from 1; 0 gives 0. */
static __always_inline u64 call_argument(struct call_registers *call, u32 number)
{
	if (number == 1)
		return call->arguments[0];
	if (number == 2)
		return call->arguments[1];
	if (number == 3)
		return call->arguments[2];
	return number == 4 ? call->arguments[3] : 0;
}

#endif
