/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Files that V8 is in, as user space has read them: see v8.h. */
#ifndef TSTRACE_RUNTIMES_V8_LAYOUT_H
#define TSTRACE_RUNTIMES_V8_LAYOUT_H

#include "../kernel.h"

/* Where things are in a file that V8 is in. Offsets of code count from the beginning of the file.
 */
struct v8_layout {
	u64 builtins_start; /* code that V8 brings along */
	u64 builtins_end;
	u64 interpreter_start; /* the part of that which runs functions that are not compiled */
	u64 interpreter_end;
	/* Where functions go on that were optimised as they called something; 0: there is none. */
	u64 resumes;
	u64 resumes_or_baseline;
	u32 function_shared; /* in a JSFunction: what all closures of the function share */
	u32 shared_print;    /* in that: numbers that tell functions apart */
};

EXPORT_TYPE(struct v8_layout, v8_layout);

/* How many there are. Where it is 0, walks look for none. */
u32 runtimes_known;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct v8_layout);
} v8_layouts SEC(".maps");

#endif
