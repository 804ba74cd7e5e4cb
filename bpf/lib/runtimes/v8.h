/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * JavaScript functions of V8 (Node.js). All its frames keep the frame pointer, and functions have
 * their context and themselves right below where it points. Source: V8's
 * frame-constants.h, StandardFrameConstants; shared-function-info.tq.
 */
#ifndef TSTRACE_RUNTIMES_V8_H
#define TSTRACE_RUNTIMES_V8_H

#include "../kernel.h"
#include "../stacks/stacks.h"
#include "../unwind/tables.h"
#include "functions.h"

#define V8_TAG_MASK    3
#define V8_HEAP_OBJECT 1

static __always_inline bool is_heap_object(u64 word)
{
	return (word & V8_TAG_MASK) == V8_HEAP_OBJECT;
}

/* SharedFunctionInfo, from its `length` on. */
struct v8_print {
	u16 length;
	u16 parameters;
	u16 token_offset;
	u8 properties;
	u8 flags2;
	u32 flags;
	u32 literal_id; /* within its script */
};

/* Changes neither when the function is compiled nor when the object moves. */
static __always_inline u64 print_of(struct v8_print *of)
{
	u64 print = of->literal_id ^ (u64)of->parameters << 7 ^ (u64)of->token_offset << 10;

	return print ^ print >> 17;
}

/*
 * Whether code without rules runs a function, or has been called by one and has no frame. `offset`:
 * where it is in a file that V8 is in. Sets `is_callers`, which is false before, only where it is
 * so.
 */
static __always_inline bool is_v8_code(struct v8_layout *v8, bool is_leaf, u64 offset,
				       bool *is_callers)
{
	if (offset < v8->builtins_start || offset >= v8->builtins_end)
		return false;
	/* It was made to return to its first instruction, without a call before that. */
	if (!is_leaf && (offset + 1 == v8->resumes || offset + 1 == v8->resumes_or_baseline))
		return true;
	*is_callers = offset < v8->interpreter_start || offset >= v8->interpreter_end;
	/* A builtin has a frame of its own, unless it is where the thread is. */
	return is_leaf || !*is_callers;
}

/*
 * Takes the function of the frame that a walk is at, if it is in code of V8's: which kind of code,
 * of which file's runtime, where in the file. A function of its own, verified once.
 */
__noinline int v8_function(u32 index, u32 kind, u32 runtime, u64 offset)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct codes *codes;
	struct {
		u64 function;
		u64 context; /* or what kind of frame it is, a small number */
		u64 fp;
		u64 ip;
	} frame;
	struct v8_print print;
	u64 shared, at;
	bool is_callers = false;

	if (!walk)
		return 0;
	codes = codes_at(walk);
	if (!codes || !(runtime || (codes->runtime && kind == CODE_WITHOUT_FILE)))
		return 0;
	/* It may be in a library: then it is not known before a walk has come there. */
	if (runtime && codes->runtime != runtime)
		set_runtime(codes, runtime);
	if (!codes->runtime)
		return 0;
	if (runtime && !is_v8_code(&codes->v8, walk->is_exact, offset, &is_callers))
		return 0;
	at = walk->fp - __builtin_offsetof(typeof(frame), fp);
	if (bpf_probe_read_user(&frame, sizeof(frame), (void *)at))
		return 0;
	walk->pointed_fp = frame.fp;
	walk->pointed_ip = frame.ip;
	walk->is_pointed_to = true;
	/* Its frame is only half made. */
	if (walk->is_exact && walk->sp > at)
		return 0;
	if (!is_heap_object(frame.context) || !is_heap_object(frame.function))
		return 0;
	at = frame.function - V8_HEAP_OBJECT + codes->v8.function_shared;
	if (bpf_probe_read_user(&shared, sizeof(shared), (void *)at) || !is_heap_object(shared))
		return 0;
	shared -= V8_HEAP_OBJECT;
	at = shared + codes->v8.shared_print;
	if (bpf_probe_read_user(&print, sizeof(print), (void *)at))
		return 0;
	walk->runtime = codes->runtime;
	walk->function = function_word(shared, print_of(&print), is_callers);
	return 0;
}

#endif
