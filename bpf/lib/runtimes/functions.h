/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which function of a runtime's language (JavaScript, Python) a user frame is of. A walk takes one
 * more word for such a frame, behind its address: what identifies the function in the memory of its
 * process. User space reads the name there (src/runtimes), as soon as a stack with such words is
 * kept, since the process may end.
 */
#ifndef TSTRACE_RUNTIMES_FUNCTIONS_H
#define TSTRACE_RUNTIMES_FUNCTIONS_H

#include "../kernel.h"

/* For user space, too. */
enum function_constant {
	/* Where the object is that tells of the function, as a number of 8 bytes each. */
	FUNCTION_PLACE_BITS = 45,
	/* Numbers out of the object. User space compares them: another object may lie there by
	   then. */
	FUNCTION_PRINT_BITS = 17,
	/* It is the caller's, which has no frame of its own in the stack. */
	FUNCTION_OF_CALLER_BIT = 62,
	/* Tells words from addresses of user space. */
	FUNCTION_MARK_BIT = 63,
	/* Without that mark: where in the function before it the frame is. */
	FUNCTION_INSTRUCTION_BIT = 62,
	/* Nobody knows; or it is further on than this. */
	FUNCTION_NO_INSTRUCTION = (1 << 24) - 1,
	/* Files that a runtime is in. */
	FUNCTION_MAX_RUNTIMES = 16,
	FUNCTION_RING_BYTES = 1 << 18,
};

EXPORT_TYPE(enum function_constant, function_constant);

/* Whether walks also take where in their functions frames are, of runtimes that can tell lines by
 * it: a word each, behind the function's. */
const volatile bool take_instructions = false;

/* Stacks with functions in them, each when it is kept: as struct walked, up to its last word. Where
 * there is no room, user space finds out when it names the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} function_stacks SEC(".maps");

static __always_inline u64 function_word(u64 object, u64 print, bool is_callers)
{
	u64 place = (object >> 3) & ((1UL << FUNCTION_PLACE_BITS) - 1);

	print &= (1UL << FUNCTION_PRINT_BITS) - 1;
	return 1UL << FUNCTION_MARK_BIT | (u64)is_callers << FUNCTION_OF_CALLER_BIT |
	       print << FUNCTION_PLACE_BITS | place;
}

static __always_inline u64 instruction_word(u64 instruction)
{
	if (instruction > FUNCTION_NO_INSTRUCTION)
		instruction = FUNCTION_NO_INSTRUCTION;
	return 1UL << FUNCTION_INSTRUCTION_BIT | instruction;
}

#endif
