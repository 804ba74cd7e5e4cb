/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Thread names by patterns: all patterns at once, in one bounded loop. User space turns them into
 * an automaton of 64 states (src/bpf/glob.ts); a set of states is a word, and a byte of the
 * name moves all of them at once (Baeza-Yates and Gonnet, "A New Approach to Text Searching",
 * 1992).
 */
#ifndef TSTRACE_GLOB_H
#define TSTRACE_GLOB_H

#include "kernel.h"

/* By byte: the states that go on to the next one with it. */
const volatile u64 glob_accepts[256] = {};
/* States that stay, whatever comes: there is a star. */
const volatile u64 glob_stays = 0;
/* Where patterns begin, and where they end. */
const volatile u64 glob_begins = 0;
const volatile u64 glob_ends = 0;

/* The states after one more byte: `accepts` are those that go on with it. */
static __always_inline u64 glob_moved(u64 states, u64 accepts, u64 stays)
{
	return (states & accepts) << 1 | (states & stays);
}

/* The patterns that match, as the states that they end in. */
static __always_inline u64 glob_matches(const char *name)
{
	u64 states = glob_begins;

	for (u32 i = 0; i < TASK_COMM_LEN; i++) {
		u8 byte = name[i];

		if (!byte)
			break;
		states = glob_moved(states, glob_accepts[byte], glob_stays);
	}
	return states & glob_ends;
}

#endif
