/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The lock of a Python interpreter (GIL), and which thread has it. Source: CPython's
 * Include/internal/pycore_gil.h, Python/ceval_gil.c.
 */
#ifndef TSTRACE_WAITS_OBJECTS_GIL_H
#define TSTRACE_WAITS_OBJECTS_GIL_H

#include "../../kernel.h"
#include "../../objects/record.h"
#include "../../pidns.h"
#include "../../runtimes/python_thread.h"

/*
 * struct _gil_runtime_state, in all versions: the interval, the last holder, whether it is locked,
 * the number of switches; and pthread's condition variables and mutexes, where threads wait: one of
 * each for the lock, one for whoever gives it up and waits until another thread has it.
 */
enum gil_constant {
	GIL_HOLDER_AT = 8,
	GIL_BYTES = 32 + 2 * (48 + 40),
};

EXPORT_TYPE(enum gil_constant, gil_constant);

/* glibc, nptl/descr.h: struct pthread, tid; on x86-64. */
#define GLIBC_TID_AT 0x2d0

/* Of all GILs together: each is an object of its own, and there may be threads without end. */
#define MOST_GIL_HOLDERS 64

u32 gil_holders;

/* Where the GIL of a thread of CPython's is. */
static __always_inline u64 gil_of(struct python_thread *own, struct python_layout *layout,
				  u64 thread)
{
	if (!layout->gil_of_interpreter)
		return own->base + layout->gil;
	return python_word(python_word(thread + layout->thread_interpreter) + layout->gil);
}

/* Whether CPython's list has a thread: of one that has ended the memory may be another's. */
static __always_inline bool is_in_python_list(struct python_layout *layout, u64 thread)
{
	u64 previous = python_word(thread + layout->thread_previous);
	u64 at = previous ? previous + layout->thread_next
			  : python_word(thread + layout->thread_interpreter) +
				    layout->interpreter_threads;

	return python_word(at) == thread;
}

/* The number of a thread of CPython's, as its process has it. */
static __always_inline u32 python_thread_number(struct python_layout *layout, u64 thread)
{
	u64 at = layout->thread_number
			 ? thread + layout->thread_number
			 : python_word(thread + layout->thread_identity) + GLIBC_TID_AT;

	return python_word(at);
}

/* If the current thread waits for the GIL, makes that of the futex in `here->object`. */
__noinline int find_gil(u32 place)
{
	struct object_search *here = search_at(place);
	u32 tid = look(current_task(), pid), runtime;
	struct python_thread *own = bpf_map_lookup_elem(&python_threads, &tid);
	struct python_layout *layout;
	u64 gil, holder;

	/* Of others, the memory cannot be read here. */
	if (!here || !own || here->task != (u64)current_task())
		return 0;
	runtime = own->runtime - 1;
	layout = bpf_map_lookup_elem(&python_layouts, &runtime);
	if (!layout || !layout->gil)
		return 0;
	/* What a walk has found may have been freed since. */
	if (python_word(own->thread + layout->thread_identity) != pthread_identity())
		return 0;
	gil = gil_of(own, layout, own->thread);
	if (here->object.address - gil >= GIL_BYTES)
		return 0;
	here->object.type = OBJECT_GIL;
	here->object.address = gil;
	/* Then the entry that has the GIL may have the number of the thread that made it. */
	if (has_several_interpreters(own->base, layout))
		return 0;
	holder = python_word(gil + GIL_HOLDER_AT);
	if (holder == own->thread || gil_of(own, layout, holder) != gil ||
	    !is_in_python_list(layout, holder))
		return 0;
	here->object.holder = python_thread_number(layout, holder);
	/* All threads of a process are of one namespace. */
	if (here->object.holder &&
	    python_thread_number(layout, own->thread) == task_tid(current_task()))
		here->object.flags |= OBJECT_HOLDER_OURS;
	return 0;
}

#endif
