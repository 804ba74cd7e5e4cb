/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Paths by patterns: the automaton of glob.h, for longer texts and with tables of its own. */
#ifndef TSTRACE_TRACE_PATH_GLOB_H
#define TSTRACE_TRACE_PATH_GLOB_H

#include "../glob.h"
#include "../kernel.h"

/* As much as is taken of a path: src/tools/trace/argument-kinds.ts */
#define GLOB_PATH_BYTES 768

const volatile bool by_path = false;
/* As in glob.h */
const volatile u64 path_accepts[256] = {};
const volatile u64 path_stays = 0;
const volatile u64 path_begins = 0;
const volatile u64 path_ends = 0;

/* What is moved on by one byte. */
static __always_inline u64 path_moved(u64 states, u8 byte)
{
	return glob_moved(states, path_accepts[byte], path_stays);
}

#endif
