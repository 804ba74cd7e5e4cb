/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which thread of CPython's the current thread is: found in CPython's lists by what pthread_self()
 * is in it, and remembered. Source: CPython's Include/internal/pycore_interp.h,
 * Include/cpython/pystate.h.
 */
#ifndef TSTRACE_RUNTIMES_PYTHON_THREAD_H
#define TSTRACE_RUNTIMES_PYTHON_THREAD_H

#include "../kernel.h"
#include "../unwind/tables.h"
#include "python_layout.h"

/* Threads of a process among which one is looked for: so many times so many. */
#define PYTHON_THREADS_AT_ONCE	 16
#define PYTHON_THREADS_TURNS	 16
#define PYTHON_THREADS_LOOKED_AT (PYTHON_THREADS_AT_ONCE * PYTHON_THREADS_TURNS)

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

/* The innermost frame of a thread of CPython's; 0: it runs nothing. */
static __always_inline u64 python_innermost(struct python_layout *layout, u64 thread)
{
	if (layout->thread_frame)
		return python_word(thread + layout->thread_frame);
	return python_word(python_word(thread + layout->thread_record) + layout->record_frame);
}

/*
 * Whether a thread of CPython's, of a process with several interpreters, is where the current
 * thread has come to. Its record tells that by being on this stack: another thread may have made it
 * (uWSGI). pthread_self() is at the end of the stack; the process's first thread has it below.
 */
static __always_inline bool is_thread_of_several(struct unwind *walk, struct python_layout *layout,
						 u64 thread, bool is_same)
{
	u64 record, start = walk->frame_sp, end = walk->python.identity;

	if (!layout->thread_record)
		return is_same && python_innermost(layout, thread);
	record = python_word(thread + layout->thread_record);
	return record >= start && (record < end || end < start);
}

/* Whether the process has more than one interpreter; `base`: of the file that CPython is in. */
static __always_inline bool has_several_interpreters(u64 base, struct python_layout *layout)
{
	u64 first = python_word(base + layout->interpreters);

	return python_word(first + layout->interpreter_next) != 0;
}

/* 3.9 says only which thread has made an entry of the list, and not on which stack it runs. With
 * several interpreters one thread may make entries that others run with. */
static __always_inline bool goes_by_maker(struct python_layout *layout)
{
	return layout->segments == PYTHON_ONE_FRAME_EACH && !layout->thread_record;
}

/* Looks at one more thread of the process; 0: it is the one, or there are no more. */
__noinline int python_look_at_thread(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct python_layout *layout = walk ? python_layout_of(walk) : NULL;
	u64 thread, interpreter;
	bool is_same;

	if (!layout)
		return 0;
	interpreter = walk->python.interpreter;
	thread = walk->python.thread;
	/* Of all searches of a walk: lists may be forged. */
	if (++walk->python.threads_looked_at >= PYTHON_THREADS_LOOKED_AT) {
		walk->python.thread = 0;
		return 0;
	}
	if (!thread) {
		/* On to the next interpreter. */
		interpreter = python_word(interpreter);
		walk->python.interpreter = interpreter + layout->interpreter_next;
		if (!interpreter)
			return 0;
		walk->python.thread = python_word(interpreter + layout->interpreter_threads);
		return 1;
	}
	is_same = python_word(thread + layout->thread_identity) == walk->python.identity;
	if (walk->python.has_several ? is_thread_of_several(walk, layout, thread, is_same)
				     : is_same)
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
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &tid);
	u64 thread, previous, at;

	if (!layout || !known)
		return 0;
	thread = known->thread;
	previous = python_word(thread + layout->thread_previous);
	at = previous ? previous + layout->thread_next
		      : python_word(walk->python.interpreter) + layout->interpreter_threads;
	walk->python.thread = thread;
	return python_word(thread + layout->thread_identity) == walk->python.identity &&
	       python_word(at) == thread;
}

/*
 * Finds the current thread among those of CPython in `walk->file_runtime`; returns whether it is
 * there. A thread that has been in several interpreters is in the list of each: that of an
 * interpreter that it calls comes first, as that one was made later. So a walk calls this again
 * once a list of frames is through, and goes on behind it. A function of its own, verified once.
 */
__noinline int find_python_thread(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	u32 tid = look(current_task(), pid);
	struct python_layout *layout;
	u64 thread;

	if (!walk)
		return 0;
	/* In memory: the verifier would follow the loop for each way to it. */
	walk->python.is_again = walk->python.runtime != 0;
	if (!walk->python.is_again)
		walk->python.runtime = walk->file_runtime;
	layout = python_layout_of(walk);
	if (!layout || !layout->code_type)
		return 0;
	if (!walk->python.is_again) {
		walk->python.base = walk->file_base;
		walk->python.identity = pthread_identity();
		walk->python.interpreter = walk->file_base + layout->interpreters;
		walk->python.threads_looked_at = 0;
		walk->python.looked_at = 0;
		if (!walk->python.identity)
			return 0;
		walk->python.has_several = has_several_interpreters(walk->python.base, layout);
		if (walk->python.has_several && goes_by_maker(layout)) {
			walk->python.has_several = false;
			return 0;
		}
		if (!walk->python.has_several && remember_python_thread(index, tid))
			return 1;
	}
	walk->python.thread = 0;
	for (u32 i = 0; i < PYTHON_THREADS_TURNS; i++)
		if (!python_look_at_threads(index))
			break;
	thread = walk->python.thread;
	/* The next frames need not ask. */
	if (!thread)
		walk->python.has_several = false;
	if (!thread || walk->python.is_again)
		return thread != 0;
	walk->python.found.thread = thread;
	walk->python.found.base = walk->python.base;
	walk->python.found.runtime = walk->python.runtime;
	bpf_map_update_elem(&python_threads, &tid, &walk->python.found, BPF_ANY);
	return 1;
}

#endif
