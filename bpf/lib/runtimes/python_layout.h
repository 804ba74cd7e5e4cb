/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Files that CPython is in, as user space has read them: see python.h. */
#ifndef TSTRACE_RUNTIMES_PYTHON_LAYOUT_H
#define TSTRACE_RUNTIMES_PYTHON_LAYOUT_H

#include "../kernel.h"
#include "../stacks/scratch.h"

/* For user space, too. */
enum python_constant {
	/* Of a frame or a code object: all that a walk looks at is among these. */
	PYTHON_OBJECT_BYTES = 80,
	/* Read at once: most frames lie right above their callers. */
	PYTHON_WINDOW_BYTES = 1024,
	/* Of functions that a walk remembers. A power of two. */
	PYTHON_CODES_REMEMBERED = 16,
};

EXPORT_TYPE(enum python_constant, python_constant);

/* What tells how many Python frames a C frame runs. */
enum python_segments {
	PYTHON_ENTRIES,	       /* an entry in their list: 3.12 and newer */
	PYTHON_MARKS,	       /* a mark in the outermost: 3.11 */
	PYTHON_ONE_FRAME_EACH, /* it is always one: 3.9 and 3.10 */
};

EXPORT_TYPE(enum python_segments, python_segments);

/*
 * Where things are in a file that CPython is in. What is in the file counts from where its code
 * would be mapped at offset 0; all else is offsets in structs of CPython's.
 */
struct python_layout {
	u64 interpreters; /* the first one */
	u64 code_type;	  /* PyCode_Type; 0: no CPython is in this file */
	u64 eval_start;	  /* _PyEval_EvalFrameDefault; from the beginning of the file */
	u64 eval_end;
	u32 interpreter_next;
	u32 interpreter_threads;
	u32 thread_previous;
	u32 thread_next;
	u32 thread_identity; /* pthread_self() */
	u32 thread_frame;    /* the innermost frame; 0: a record says which it is */
	u32 thread_record; /* _PyCFrame of the innermost C frame: 3.10 to 3.12; 0: there are none */
	u32 record_frame;
	u32 record_previous; /* 0: records do not say where on the stack C frames are */
	u32 segments;	     /* enum python_segments */
	u32 frame_code;
	u32 frame_previous;
	u32 frame_owner; /* or the mark */
	u32 code_print;	 /* from co_argcount to co_firstlineno */
	u32 thread_interpreter;
	u32 thread_number; /* gettid(); 0: it does not say */
	/* The interpreter's lock, in the file; or where the thread's interpreter has its address.
	 * 0: unknown */
	u64 gil;
	u32 gil_of_interpreter;
	/* In a frame, where in its code it is: an address, or, of PYTHON_ONE_FRAME_EACH, a number.
	 * 0: lines are not told */
	u32 frame_instruction;
	u32 code_instructions; /* what such addresses count from */
	u32 unused_padding;
};

EXPORT_TYPE(struct python_layout, python_layout);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct python_layout);
} python_layouts SEC(".maps");

/* Which thread of CPython's a thread of the kernel's is, as a walk of it has found out. */
struct python_thread {
	u64 thread;
	u64 base;    /* of the file that CPython is in */
	u32 runtime; /* as in unwind_file */
	u32 unused_padding;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct python_thread);
} python_threads SEC(".maps");

/* A walk's way through the Python frames of its thread, of one C frame at a time. */
struct python_walk {
	u32 runtime;   /* as in unwind_file; 0: the walk came to no CPython yet */
	u32 count;     /* of `words` */
	u32 taken;     /* of all C frames so far */
	u32 looked_at; /* frames, likewise */
	u32 threads_looked_at;
	u64 base; /* of the file */
	u64 identity;
	u64 interpreter;
	u64 thread;
	bool has_several; /* interpreters, whose lists are not all through */
	bool is_again;	  /* this search is not the walk's first one */
	u64 record;
	struct python_thread found; /* too large for the stack of a program */
	u64 frame;		    /* the next one to read; 0: there is none */
	u64 entry;	/* where on the stack the C frame is that runs them; 0: none was found */
	bool is_cut;	/* it runs more */
	u32 is_waiting; /* there are such frames */
	/* Memory that was read at once, with the frame at `window_last` as its end; and room for
	 * what the verifier takes to be behind it. */
	u64 window_at;
	u64 window_last;
	u8 window[PYTHON_WINDOW_BYTES + PYTHON_OBJECT_BYTES];
	u8 object[160]; /* a code object */
	/* Code objects that the walk has come to, and their words, 0: of CPython's own. */
	u64 codes[PYTHON_CODES_REMEMBERED];
	u64 words_of_codes[PYTHON_CODES_REMEMBERED];
	u64 words[STACK_DEPTH];
	/* take_instructions: a word for each of these; how many are there; the frame that was
	 * looked at last. */
	u64 instructions[STACK_DEPTH];
	u64 last;
	u32 instructed;
};

#endif
