/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Python functions of CPython 3.11 and newer. Python frames are no frames of the stack: they lie in
 * a list, innermost first, and one C frame of the interpreter's runs several. Each such C frame has
 * an entry on its stack, which says which Python frames it runs. So a walk of the stack has come to
 * the C frame that runs them when it steps over their entry, wherever in the interpreter's code
 * that frame is. Source: CPython's Include/internal/pycore_frame.h, Python/ceval.c.
 */
#ifndef TSTRACE_RUNTIMES_PYTHON_H
#define TSTRACE_RUNTIMES_PYTHON_H

#include "../kernel.h"
#include "../stacks/stacks.h"
#include "../unwind/tables.h"
#include "functions.h"
#include "python_layout.h"

/* A frame that is no function's, on the stack of the C frame that begins with it:
 * FRAME_OWNED_BY_CSTACK; since 3.14 FRAME_OWNED_BY_INTERPRETER. */
#define PYTHON_ENTRY_OWNER 3
/* Threads of a process among which one is looked for: so many times so many. */
#define PYTHON_THREADS_AT_ONCE 16
#define PYTHON_THREADS_TURNS   16
/* Frames that a C frame runs. The verifier goes through each turn of a loop: of two that are one in
 * the other, through fewer. */
#define PYTHON_FRAMES_AT_ONCE 8
/* 3.14 keeps flags there. */
#define PYTHON_POINTER_FLAGS 7
/* Of a field of 8 bytes in `object`. */
#define PYTHON_FIELD_MASK 0x78
#define PYTHON_BYTE_MASK  0x7f
#define PYTHON_PRINT_MASK 0x7c

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct___fs {
	unsigned long fsbase;
};

struct task_struct___fs {
	struct thread_struct___fs thread;
};

#pragma clang attribute pop

/* What pthread_self() is in the current thread, with glibc and musl; 0: that is not known. */
static __always_inline u64 pthread_identity(void)
{
#ifdef __TARGET_ARCH_x86
	struct task_struct___fs *task = (void *)current_task();

	return BPF_CORE_READ(task, thread.fsbase);
#else
	return 0;
#endif
}

static __always_inline u64 python_word(u64 address)
{
	u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

static __always_inline struct python_layout *python_layout_of(struct unwind *walk)
{
	u32 key = walk->python.runtime - 1;

	return bpf_map_lookup_elem(&python_layouts, &key);
}

/* Numbers of a PyCodeObject that never change. */
struct python_print {
	u32 arguments;
	u32 positional_only;
	u32 keyword_only;
	u32 stack_size;
	u32 first_line;
};

static __always_inline u64 python_print_of(struct python_print *of)
{
	u32 print =
		of->first_line ^ of->stack_size << 10 ^ of->arguments << 7 ^ of->keyword_only << 13;

	return print ^ print >> 17;
}

/* Looks at one more thread of the process; 0: it is the one, or there are no more. */
__noinline int python_look_at_thread(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	u64 thread, interpreter;

	if (!layout)
		return 0;
	interpreter = walk->python.interpreter;
	thread = walk->python.thread;
	if (!thread) {
		/* On to the next interpreter. */
		interpreter = python_word(interpreter);
		walk->python.interpreter = interpreter + layout->interpreter_next;
		if (!interpreter)
			return 0;
		walk->python.thread = python_word(interpreter + layout->interpreter_threads);
		return 1;
	}
	if (python_word(thread + layout->thread_identity) == walk->python.identity)
		return 0;
	walk->python.thread = python_word(thread + layout->thread_next);
	return 1;
}

/* As python_look_at_thread(). */
__noinline int python_look_at_threads(u32 index)
{
	for (u32 i = 0; i < PYTHON_THREADS_AT_ONCE; i++)
		if (!python_look_at_thread(index))
			return 0;
	return 1;
}

/*
 * Whether the current thread still is the one of CPython's that a walk has found earlier. It may
 * have been freed: then no other refers to it. A function of its own, verified once.
 */
__noinline int remember_python_thread(u32 index, u32 tid)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	u64 *known = bpf_map_lookup_elem(&python_threads, &tid);
	u64 thread, previous, at;

	if (!layout || !known)
		return 0;
	thread = *known;
	previous = python_word(thread + layout->thread_previous);
	at = previous ? previous + layout->thread_next
		      : python_word(walk->python.interpreter) + layout->interpreter_threads;
	walk->python.thread = thread;
	return python_word(thread + layout->thread_identity) == walk->python.identity &&
	       python_word(at) == thread;
}

/* Finds the current thread among those of CPython in `walk->file_runtime`; returns whether it is
 * there. A function of its own, verified once. */
__noinline int find_python_thread(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	u32 tid = look(current_task(), pid);
	struct python_layout *layout;
	u64 thread;

	if (!walk)
		return 0;
	walk->python.runtime = walk->file_runtime;
	layout = python_layout_of(walk);
	if (!layout || !layout->code_type)
		return 0;
	walk->python.base = walk->file_base;
	walk->python.identity = pthread_identity();
	walk->python.interpreter = walk->file_base + layout->interpreters;
	if (!walk->python.identity)
		return 0;
	if (remember_python_thread(index, tid))
		return 1;
	walk->python.thread = 0;
	for (u32 i = 0; i < PYTHON_THREADS_TURNS; i++)
		if (!python_look_at_threads(index))
			break;
	thread = walk->python.thread;
	if (!thread || python_word(thread + layout->thread_identity) != walk->python.identity)
		return 0;
	bpf_map_update_elem(&python_threads, &tid, &thread, BPF_ANY);
	return 1;
}

/* The walk has come to code of a file that CPython is in: begins with its thread's innermost Python
 * frame. A function of its own, verified once. */
__noinline int begin_python(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	u64 frame;

	if (!layout)
		return 0;
	frame = python_word(walk->python.thread + layout->thread_frame);
	walk->python.record = frame;
	walk->python.frame =
		layout->has_records ? python_word(frame + layout->record_frame) : frame;
	walk->runtime = walk->python.runtime;
	return 0;
}

/* Takes one Python frame; 0: there are no more that the same C frame runs. */
__noinline int python_frame(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	struct python_walk *python;
	u64 at, code, print = 0;
	u32 owner, number;
	bool is_last;

	if (!layout)
		return 0;
	python = &walk->python;
	at = python->frame;
	if (!at || bpf_probe_read_user(python->object, PYTHON_OBJECT_BYTES, (void *)at)) {
		python->frame = 0;
		return 0;
	}
	python->frame = *(u64 *)(python->object + (layout->frame_previous & PYTHON_FIELD_MASK));
	code = *(u64 *)(python->object + (layout->frame_code & PYTHON_FIELD_MASK));
	code &= ~(u64)PYTHON_POINTER_FLAGS;
	owner = python->object[layout->frame_owner & PYTHON_BYTE_MASK];
	if (!layout->has_marked_frames && owner == PYTHON_ENTRY_OWNER) {
		python->entry = at;
		return 0;
	}
	is_last = layout->has_marked_frames && owner;
	if (!bpf_probe_read_user(python->object, PYTHON_OBJECT_BYTES, (void *)code) &&
	    *(u64 *)(python->object + 8) == python->base + layout->code_type) {
		struct python_print *of =
			(void *)(python->object + (layout->code_print & PYTHON_PRINT_MASK));

		/* CPython's own, which cleans up behind __init__. */
		if (!of->first_line)
			return !is_last;
		print = python_print_of(of);
	}
	number = python->count;
	barrier_var(number);
	if (number >= STACK_DEPTH)
		return 0;
	python->words[number] = function_word(code, print, false);
	python->count = number + 1;
	return !is_last;
}

/* As python_frame(). */
__noinline int python_frames(u32 index)
{
	for (u32 i = 0; i < PYTHON_FRAMES_AT_ONCE; i++)
		if (!python_frame(index))
			return 0;
	return 1;
}

/* Takes the Python frames that the next C frame runs. A function of its own, verified once. */
__noinline int python_segment(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	struct python_walk *python;
	int goes_on = 1;

	if (!layout)
		return 0;
	python = &walk->python;
	python->count = 0;
	python->entry = 0;
	if (layout->has_marked_frames) {
		python->entry = python->record;
		python->frame = python_word(python->record + layout->record_frame);
		python->record = python_word(python->record + layout->record_previous);
	}
	for (u32 i = 0; i <= STACK_DEPTH / PYTHON_FRAMES_AT_ONCE && goes_on; i++)
		goes_on = python_frames(index);
	python->is_cut = goes_on || python->count == STACK_DEPTH;
	python->is_waiting = python->entry || python->is_cut;
	return 0;
}

/* Whether the C frame that a walk has stepped over runs the Python frames at hand. */
static __always_inline bool runs_python(struct unwind *walk)
{
	u64 entry = walk->python.entry, offset = walk->frame_ip - walk->python.base;
	struct python_layout *layout;

	if (entry)
		return entry >= walk->frame_sp && entry < walk->sp;
	/* Their entry is behind more of them than a stack has room for. */
	layout = python_layout_of(walk);
	return layout && offset >= layout->eval_start && offset < layout->eval_end;
}

/* Adds the Python frames at hand to the stack. A function of its own, verified once. */
__noinline int take_python(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	u32 at, count, room;

	if (!walk || !here)
		return 0;
	at = here->user.count;
	room = stack_depth > at ? stack_depth - at : 0;
	count = walk->python.count < room ? walk->python.count : room;
	barrier_var(at);
	barrier_var(count);
	if (at > STACK_DEPTH || count > STACK_DEPTH)
		return 0;
	bpf_probe_read_kernel(&here->user.frames[at], count * sizeof(u64), walk->python.words);
	here->user.count = at + count;
	here->user.functions += count;
	here->user.runtime = walk->runtime;
	walk->python.taken += count;
	/* The list goes on in the midst of what the same C frame runs. */
	if (walk->python.is_cut)
		walk->python.frame = 0;
	return 1;
}

/*
 * The walk has stepped over a C frame whose address is the last word so far: adds the Python frames
 * that it runs. Returns whether the stack is full. No function of its own: each takes 32 bytes of
 * the 512 that the verifier of Linux 5.10 allows a program with all that it calls.
 */
static __always_inline bool python_step(struct unwind *walk, u32 index)
{
	if (!walk->python.runtime && walk->file_runtime && find_python_thread(index)) {
		begin_python(index);
		python_segment(index);
	}
	if (walk->python.is_waiting && runs_python(walk)) {
		take_python(index);
		python_segment(index);
	}
	return walk->depth + 1 + walk->python.taken >= stack_depth;
}

#endif
