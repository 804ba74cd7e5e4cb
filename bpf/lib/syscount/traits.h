/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What system calls do, by number: user space sets it from their names,
 * src/tools/syscount/traits.ts. */
#ifndef TSTRACE_SYSCOUNT_TRAITS_H
#define TSTRACE_SYSCOUNT_TRAITS_H

#include "../calls/calls.h"

enum call_trait {
	/* The result is how many bytes were read, written, or both. */
	CALL_READS = 1,
	CALL_WRITES = 2,
	CALL_MOVES = 3,
	/* Which argument is a path, from 1; 0: none. */
	CALL_PATH = 4,
	CALL_PATH_MAX = 3,
	/* The first argument is a descriptor. */
	CALL_DESCRIPTOR = 16,
};

EXPORT_TYPE(enum call_trait, call_trait);

const volatile u8 call_traits[CALL_INDEXES] = {};

static __always_inline u32 call_traits_of(struct call *call)
{
	u64 at = call->index;

	barrier_var(at); /* as in call_wanted() */
	return at < CALL_INDEXES ? call_traits[at] : 0;
}

#endif
