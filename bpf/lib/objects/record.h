/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What is kept of an object that threads waited for, and where it is put together: objects.h. */
#ifndef TSTRACE_OBJECTS_RECORD_H
#define TSTRACE_OBJECTS_RECORD_H

#include "../kernel.h"
#include "kernel_files.h"

enum object_type {
	OBJECT_NONE,
	OBJECT_CHANGED, /* the descriptor was closed, or used again, while the thread waited */
	OBJECT_SEVERAL, /* one of several, and which is not known */
	OBJECT_FILE,
	OBJECT_BLOCK,
	OBJECT_CHARACTER,
	OBJECT_PIPE,
	OBJECT_UNIX,
	OBJECT_INET,
	OBJECT_SOCKET, /* of another family */
	OBJECT_EVENT,  /* eventfd, timerfd, inotify, … */
	OBJECT_FUTEX,
	OBJECT_CHILD,
	OBJECT_MAPPED, /* a file, of which a page was missing */
	OBJECT_GIL,    /* the lock of a Python interpreter */
};

enum object_flag {
	OBJECT_LISTENS = 1,
	OBJECT_WRITES = 2,	  /* to a pipe */
	OBJECT_DELETED = 4,	  /* the file has no name any more */
	OBJECT_CUT = 8,		  /* the path has more folders in front */
	OBJECT_WITHOUT_ROOT = 16, /* what it is named by is no path */
	OBJECT_IN_HEAP = 32,	  /* a futex, in what the process got by brk() */
	OBJECT_ACCEPTED =
		64, /* a unix socket that listens, or whose peer has made the connection */
	OBJECT_HOLDER_OURS = 128, /* `holder` is a number of the caller's PID namespace */
};

enum object_constant {
	/* Of a path's names as many as begin there. */
	PATH_BYTES = 1024,
	PATH_NAMES = 64,
	/* NAME_MAX, and the 0 behind it */
	NAME_BYTES = 256,
	/* sun_path, and the 0 that the kernel puts behind a path that fills it */
	UNIX_PATH_BYTES = 108 + 1,
};

EXPORT_TYPE(enum object_type, object_type);
EXPORT_TYPE(enum object_flag, object_flag);
EXPORT_TYPE(enum object_constant, object_constant);

struct wait_object {
	u32 type;
	u32 flags;
	u32 device; /* dev_t, as the kernel has it */
	u32 pid;    /* of a child; whose futex: in the caller's PID namespace */
	u64 inode;
	u64 peer_inode;
	u64 address; /* of a futex, a GIL; how many descriptors there were; when a child began */
	/* Only to tell one from another. */
	u64 dentry;
	u64 mount;
	u8 local[16];
	u8 remote[16];
	u16 family;
	u16 protocol;
	u16 local_port;
	u16 remote_port;
	u32 network; /* the inode of its network namespace */
	u32 holder;  /* of a GIL: which thread had it last, as its process numbers it; 0: unknown */
	/* Up to here it is what tells objects apart. */
	u64 first_ns; /* CLOCK_MONOTONIC */
	u64 user_sp;  /* of the first that waited for it */
	/* Keys of what is at the other end: ends.h; 0: nothing that could be found. */
	u64 other_end;
	u64 listener;
	u64 own_listener;
	u32 text_bytes;
	u32 unused_padding_2;
	/* The names of a path, leaf first, a 0 behind each; a unix socket's address; a thread's
	 * name. */
	char text[PATH_BYTES + NAME_BYTES];
};

EXPORT_TYPE(struct wait_object, wait_object);

#define OBJECT_KEY_BYTES __builtin_offsetof(struct wait_object, first_ns)
#define OBJECT_KEY_WORDS (OBJECT_KEY_BYTES / sizeof(u64))
_Static_assert(OBJECT_KEY_BYTES % sizeof(u64) == 0, "it is hashed word by word");

/* How much of a kernel stack is searched, from where the thread entered the kernel. With some room:
 * since 5.13 the kernel may leave up to 1,024 bytes free there, by chance. */
#define SEARCHED_WORDS 384
/* Of that, at a time: a function of its own, which the verifier follows once. */
#define WORDS_AT_ONCE 16

/*
 * An object, while it is looked for. Addresses are not kept as pointers, so that functions of their
 * own can take them from here; what they say of verifiers holds for all kernels from 5.10 on.
 */
struct object_search {
	u64 task;
	u64 registers;
	u64 lowest; /* of what is in use of its kernel stack */
	u64 file;
	u64 chosen;
	u64 hash;
	/* Of is_awaited() */
	u64 next_child;
	u64 last_child;
	u64 children; /* that were looked at */
	/* Of files that calls are about: when the call ended; what the file is called. */
	u64 told_ns;
	u64 name_hash;
	/* Of copy_name() */
	u64 dentry;
	u64 mount;
	u32 at;
	u32 words; /* of the stack */
	u64 stack[SEARCHED_WORDS];
	struct wait_object object;
};

/* One is used where threads resume, where interrupts are off, and in another object at system
 * calls; the others in iterators, which threads that resume may interrupt; two of them may run at
 * once. */
enum object_place {
	PLACE_RESUMED,
	PLACE_CALL = PLACE_RESUMED,
	PLACE_ITERATOR,
	PLACE_HOLDERS,
	OBJECT_PLACES,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OBJECT_PLACES);
	__type(key, u32);
	__type(value, struct object_search);
} object_searches SEC(".maps");

static __always_inline struct object_search *search_at(u32 place)
{
	return bpf_map_lookup_elem(&object_searches, &place);
}

#endif
