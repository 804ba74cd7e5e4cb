/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Python functions of CPython. Python frames are no frames of the stack: they lie in a list,
 * innermost first, and since 3.11 one C frame of the interpreter's runs several. Since 3.10 each
 * such C frame has an entry on its stack, which says which Python frames it runs. So a walk of the
 * stack has come to the C frame that runs them when it steps over their entry, wherever in the
 * interpreter's code that frame is. Before, it goes by the symbol of the interpreter's loop.
 * Source: CPython's Include/internal/pycore_frame.h, Include/cpython/pystate.h, Python/ceval.c.
 */
#ifndef TSTRACE_RUNTIMES_PYTHON_H
#define TSTRACE_RUNTIMES_PYTHON_H

#include "../kernel.h"
#include "../stacks/stacks.h"
#include "../unwind/tables.h"
#include "functions.h"
#include "python_layout.h"
#include "python_thread.h"

/* A frame that is no function's, on the stack of the C frame that begins with it:
 * FRAME_OWNED_BY_CSTACK; since 3.14 FRAME_OWNED_BY_INTERPRETER. */
#define PYTHON_ENTRY_OWNER 3
/* Frames that a C frame runs. The verifier goes through each turn of a loop: of two that are one in
 * the other, through fewer. */
#define PYTHON_FRAMES_AT_ONCE	32
#define PYTHON_FRAMES_TURNS	32
#define PYTHON_FRAMES_LOOKED_AT (PYTHON_FRAMES_AT_ONCE * PYTHON_FRAMES_TURNS)
/* 3.14 keeps flags there. */
#define PYTHON_POINTER_FLAGS 7
/* No page is smaller. */
#define PYTHON_PAGE_BYTES 4096
/* Of a field of 8 bytes in a frame. */
#define PYTHON_FIELD_MASK 0x78
#define PYTHON_BYTE_MASK  0x7f
#define PYTHON_PRINT_MASK 0x7c

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

/* The walk has found one of CPython's threads for its own: begins with the innermost Python frame.
 * A function of its own, verified once. */
__noinline int begin_python(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	u64 thread, record = 0;

	if (!layout)
		return 0;
	thread = walk->python.thread;
	if (layout->thread_record)
		record = python_word(thread + layout->thread_record);
	walk->python.window_last = 0;
	__builtin_memset(walk->python.codes, 0, sizeof(walk->python.codes));
	walk->python.record = record;
	walk->python.frame = python_innermost(layout, thread);
	walk->runtime = walk->python.runtime;
	return 0;
}

/*
 * Reads the frame at this address, with what lies below it in the same page: there are the frames
 * that it was called by, most likely, but where each is an object of its own (3.9 and 3.10).
 * Returns whether it could be read.
 */
static __always_inline bool read_python_window(struct python_walk *python, bool is_object)
{
	u64 at = python->frame, below = at & (PYTHON_PAGE_BYTES - 1);
	u32 bytes;

	if (is_object)
		below = 0;
	if (below > PYTHON_WINDOW_BYTES - PYTHON_OBJECT_BYTES)
		below = PYTHON_WINDOW_BYTES - PYTHON_OBJECT_BYTES;
	bytes = below + PYTHON_OBJECT_BYTES;
	python->window_at = at - below;
	python->window_last = at;
	barrier_var(bytes);
	if (bytes <= PYTHON_WINDOW_BYTES &&
	    !bpf_probe_read_user(python->window, bytes, (void *)(at - below)))
		return true;
	python->window_last = 0;
	return false;
}

/* The word of a code object that is a function's; 0: it is CPython's own. */
static __always_inline u64 python_word_of(struct python_walk *python, struct python_layout *layout,
					  u64 code)
{
	struct python_print *of;
	u64 print = 0;

	if (!bpf_probe_read_user(python->object, PYTHON_OBJECT_BYTES, (void *)code) &&
	    *(u64 *)(python->object + 8) == python->base + layout->code_type) {
		of = (void *)(python->object + (layout->code_print & PYTHON_PRINT_MASK));
		/* It cleans up behind __init__. */
		if (!of->first_line)
			return 0;
		print = python_print_of(of);
	}
	return function_word(code, print, false);
}

/* Takes one Python frame; 0: there are no more that the same C frame runs. */
__noinline int python_frame(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	struct python_walk *python;
	u64 at, code, word, offset;
	u32 owner, number, remembered, segments;
	bool is_last;
	u8 *frame;

	if (!layout)
		return 0;
	python = &walk->python;
	at = python->frame;
	/* Of all C frames: lists may be forged. */
	if (!at || python->looked_at >= PYTHON_FRAMES_LOOKED_AT)
		return 0;
	python->looked_at++;
	if (take_instructions)
		python->last = at;
	segments = layout->segments;
	if ((at > python->window_last || at < python->window_at) &&
	    !read_python_window(python, segments == PYTHON_ONE_FRAME_EACH)) {
		python->frame = 0;
		return 0;
	}
	offset = at - python->window_at;
	barrier_var(offset);
	if (offset > PYTHON_WINDOW_BYTES - PYTHON_OBJECT_BYTES)
		return 0;
	frame = python->window + offset;
	python->frame = *(u64 *)(frame + (layout->frame_previous & PYTHON_FIELD_MASK));
	code = *(u64 *)(frame + (layout->frame_code & PYTHON_FIELD_MASK));
	code &= ~(u64)PYTHON_POINTER_FLAGS;
	owner = frame[layout->frame_owner & PYTHON_BYTE_MASK];
	if (segments == PYTHON_ENTRIES && owner == PYTHON_ENTRY_OWNER) {
		python->entry = at;
		return 0;
	}
	is_last = segments == PYTHON_ONE_FRAME_EACH || (segments == PYTHON_MARKS && owner);
	number = python->count;
	barrier_var(number);
	/* More than a stack has room for: only their entry is looked for. */
	if (number >= STACK_DEPTH)
		return !is_last;
	if (!code)
		return !is_last;
	/* Its frame keeps it alive: during a walk no other takes its place. */
	remembered = (code >> 5 ^ code >> 9) & (PYTHON_CODES_REMEMBERED - 1);
	if (python->codes[remembered] != code) {
		python->codes[remembered] = code;
		python->words_of_codes[remembered] = python_word_of(python, layout, code);
	}
	word = python->words_of_codes[remembered];
	if (!word)
		return !is_last;
	python->words[number] = word;
	python->count = number + 1;
	return !is_last;
}

/*
 * Takes where in its code the frame is that python_frame() has come to, if it has taken that, in
 * the units of its version. A function of its own, as that one has no more room on the stack.
 */
__noinline int python_instruction(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	struct python_walk *python;
	u64 instruction, code;
	u32 number, field;

	if (!layout)
		return 0;
	python = &walk->python;
	number = python->count - 1;
	field = layout->frame_instruction;
	if (python->instructed == python->count)
		return 0;
	python->instructed = python->count;
	barrier_var(number);
	if (number >= STACK_DEPTH)
		return 0;
	instruction = python_word(python->last + field);
	if (layout->segments == PYTHON_ONE_FRAME_EACH) {
		instruction = (u32)instruction;
	} else {
		code = (python->words[number] & ((1UL << FUNCTION_PLACE_BITS) - 1)) << 3;
		instruction -= code + layout->code_instructions;
	}
	python->instructions[number] =
		instruction_word(field ? instruction : FUNCTION_NO_INSTRUCTION);
	return 0;
}

/* As python_frame(). */
__noinline int python_frames(u32 index)
{
	for (u32 i = 0; i < PYTHON_FRAMES_AT_ONCE; i++) {
		int goes_on = python_frame(index);

		if (take_instructions)
			python_instruction(index);
		if (!goes_on)
			return 0;
	}
	return 1;
}

/* Takes the Python frames that the next C frame runs. A function of its own, verified once. */
__noinline int python_segment(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	struct python_walk *python;
	bool has_one;
	int goes_on = 1;

	if (!layout)
		return 0;
	python = &walk->python;
	python->count = 0;
	python->entry = 0;
	if (take_instructions)
		python->instructed = 0;
	if (layout->record_previous) {
		python->entry = python->record;
		if (!layout->thread_frame)
			python->frame = python_word(python->record + layout->record_frame);
		python->record = python_word(python->record + layout->record_previous);
		/* Behind the last one is the thread's own, which is in no C frame. */
		if (!python->frame)
			python->entry = 0;
	}
	has_one = layout->segments == PYTHON_ONE_FRAME_EACH && python->frame;
	for (u32 i = 0; i < PYTHON_FRAMES_TURNS && goes_on; i++)
		goes_on = python_frames(index);
	python->is_cut = goes_on || python->count == STACK_DEPTH;
	python->is_waiting = python->entry || python->is_cut || has_one;
	return 0;
}

/* Whether the C frame that a walk has stepped over runs the Python frames at hand. */
static __always_inline bool runs_python(struct unwind *walk)
{
	u64 entry = walk->python.entry, offset = walk->frame_ip - walk->python.base;
	struct python_layout *layout;

	if (entry)
		return entry >= walk->frame_sp && entry < walk->sp;
	/* There is none (3.9), or it is behind more of them than were looked at. */
	layout = python_layout_of(walk);
	return layout && offset >= layout->eval_start && offset < layout->eval_end;
}

/* Adds Python frames to the stack, each with its instruction. */
static __always_inline void take_with_instructions(struct unwind *walk, struct scratch *here,
						   u32 at, u32 count)
{
	for (u32 i = 0; i < STACK_DEPTH && i < count; i++) {
		here->user.frames[(at + 2 * i) % STACK_ROOM] = walk->python.words[i];
		here->user.frames[(at + 2 * i + 1) % STACK_ROOM] = walk->python.instructions[i];
	}
	here->user.count = at + 2 * count;
	/* Beside their functions, which count as frames. */
	here->user.beside += count;
}

/* Adds the Python frames at hand to the stack. A function of its own, verified once. */
__noinline int take_python(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	u32 at, count, frames, room;

	if (!walk || !here)
		return 0;
	at = here->user.count;
	frames = walk->depth + 1 + walk->python.taken;
	room = stack_depth > frames ? stack_depth - frames : 0;
	count = walk->python.count < room ? walk->python.count : room;
	barrier_var(at);
	barrier_var(count);
	if (take_instructions) {
		take_with_instructions(walk, here, at, count);
	} else {
		if (at > STACK_DEPTH || count > STACK_DEPTH)
			return 0;
		bpf_probe_read_kernel(&here->user.frames[at], count * sizeof(u64),
				      walk->python.words);
		here->user.count = at + count;
	}
	here->user.functions += count;
	here->user.runtime = walk->runtime;
	here->user.base = walk->python.base;
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
	/* The first time, or behind all that the thread ran in one of several interpreters: it may
	 * be in another one, too. */
	if (!walk->python.is_waiting && walk->file_runtime &&
	    (!walk->python.runtime || walk->python.has_several) && find_python_thread(index)) {
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
