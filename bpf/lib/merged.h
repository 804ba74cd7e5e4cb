/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Values that the verifier is not to know. */
#ifndef TSTRACE_MERGED_H
#define TSTRACE_MERGED_H

#include "kernel.h"

/* 0, and the verifier does not know it. */
u64 unknown_zero;

/*
 * A value that is a constant on some paths: the verifier takes it for any number from here on, and
 * goes through what follows once, not once for each path.
 */
static __always_inline u64 merged(u64 value)
{
	return value + unknown_zero;
}

#endif
