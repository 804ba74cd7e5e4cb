/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Unwind tables: for each address of a file the rule that leads from a frame to its caller's. They
 * belong to files, not to processes, so a new process, a fork, an exec or a library that is loaded
 * late needs nothing if its files were met before. User space (src/bpf/unwind/tables.ts) fills them
 * in; a program that meets a file without a table asks for it.
 *
 * A row is four bytes: where in a page of 64 KiB of the file it begins, and the number of its rule.
 */
#ifndef TSTRACE_UNWIND_TABLES_H
#define TSTRACE_UNWIND_TABLES_H

#include "../kernel.h"
#include "../runtimes/python_layout.h"
#include "../runtimes/v8_layout.h"
#include "../stacks/stacks.h"
#include "vma.h"

/* For user space, too. */
enum unwind_constant {
	UNWIND_PAGE_BITS = 16,
	/* Rows in an element of `unwind_rows`. */
	UNWIND_CHUNK_ROWS = 1 << 18,
	UNWIND_MAX_CHUNKS = 64,
	UNWIND_MAX_RULES = 16384,
	/* Pages of all files; a file has its pages from the first with rows to the last. */
	UNWIND_MAX_PAGES = 1 << 17,
	UNWIND_MAX_FILES = 16384,
	UNWIND_REQUESTS_BYTES = 1 << 18,
	/* Instead of an inode: the code that the kernel maps into every process. */
	UNWIND_VDSO = 1,
};

EXPORT_TYPE(enum unwind_constant, unwind_constant);

/* src/unwind/rule.ts, CFA: where the stack pointer of the caller is. */
enum unwind_cfa {
	CFA_GAP,
	CFA_SP,
	CFA_FP,
	CFA_SP_DEREF,
	CFA_FP_DEREF,
	CFA_PLT,
	CFA_SIGNAL,
	CFA_END,
	CFA_UNKNOWN,
	CFA_ELSEWHERE,
	CFA_GO_C,
};

/* FP: where its frame pointer is. */
enum unwind_fp {
	FP_SAME,
	FP_AT_CFA,
	FP_UNDEFINED,
	FP_AT_FP,
};

/* RA: where its return address is. */
enum unwind_ra {
	RA_AT_CFA,
	RA_REGISTER,
};

struct unwind_rule {
	s32 cfa_offset;
	s16 fp_offset;
	s16 ra_offset;
	u8 cfa;
	u8 fp;
	u8 ra;
	u8 cfa_addend;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

struct unwind_page {
	u32 first; /* row: of all chunks */
	u32 count; /* 0: a gap */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_page);
} unwind_pages SEC(".maps");

struct unwind_chunk {
	u32 rows[UNWIND_CHUNK_ROWS];
};

/* Or clang only says that there is such a struct. */
EXPORT_TYPE(struct unwind_chunk, unwind_chunk);

struct unwind_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	/* By size: with types, Linux 6.1 takes only maps that have them, too. */
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct unwind_chunk));
};

/* User space adds elements as rows need them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_CHUNKS);
	__type(key, u32);
	__array(values, struct unwind_chunk_map);
} unwind_rows SEC(".maps");

/* A file as it was since its last change: what is read of it then is true of this key for ever.
 * Some file systems (btrfs) have several files with the same inode on the same device, too.
 */
struct unwind_file_key {
	u64 inode;
	s64 changed_sec;
	u32 changed_nsec;
	u32 device;
};

EXPORT_TYPE(struct unwind_file_key, unwind_file_key);

enum unwind_file_state {
	/* User space was asked. */
	UNWIND_FILE_ASKED,
	UNWIND_FILE_HAS_TABLE,
	/* It says nothing of its code, or cannot be read: all of it is a gap. */
	UNWIND_FILE_WITHOUT,
};

EXPORT_TYPE(enum unwind_file_state, unwind_file_state);

struct unwind_file {
	u32 state;
	u32 pages_at; /* in `unwind_pages` */
	u32 first_page;
	u32 pages;
	u32 used;    /* unwind_round, when it was last */
	u32 runtime; /* a runtime's in the file, from 1 on (lib/runtimes); 0: none is */
};

EXPORT_TYPE(struct unwind_file, unwind_file);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct unwind_file_key);
	__type(value, struct unwind_file);
} unwind_files SEC(".maps");

/* A file without a table, and where it is mapped. */
struct unwind_request {
	struct unwind_file_key file;
	u64 start;
	u64 end;
	u32 tgid; /* in our PID namespace; 0: it cannot be seen from there */
	u32 unused_padding;
};

EXPORT_TYPE(struct unwind_request, unwind_request);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} unwind_requests SEC(".maps");

/* User space adds 1 now and then, so that it can tell which files were not used for long, and
 * before it gives the rows of a file to another one. */
u32 unwind_round;

/* What is known of the code at an address. */
enum code_kind {
	CODE_NONE,
	/* Made while the program runs. */
	CODE_WITHOUT_FILE,
	CODE_WITH_TABLE,
	CODE_WITHOUT_RULES,
	/* Its table is not there yet. */
	CODE_ASKED,
};

struct code {
	u64 start;
	u64 end;	 /* 0: nothing is remembered here */
	u64 file_offset; /* of `start` */
	struct inode *inode;
	s64 changed_sec;
	u32 changed_nsec;
	u32 kind;
	u32 pages_at;
	u32 first_page;
	u32 pages;
	u32 runtime; /* as in unwind_file */
};

/* Stacks go to and fro between a program and its libraries. A power of two. */
#define CODES_REMEMBERED 8
/* Of so many processes, on each CPU. A power of two. */
#define CODES_OF_PROCESSES 8

/* What the walks of a process have found on this CPU, while its mappings stay as they are:
 * codes_of(). */
struct codes {
	struct mm_struct *mm;
	u64 incarnation; /* another process may get the same mm_struct */
	u32 version;	 /* of its mappings */
	u32 round;
	u32 found;
	u32 runtime;	     /* as in unwind_file, of a file of its; 0: not known to have one */
	struct v8_layout v8; /* of `runtime` */
	struct code code[CODES_REMEMBERED];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES *CODES_OF_PROCESSES);
	__type(key, u32);
	__type(value, struct codes);
} unwind_codes SEC(".maps");

/* What find_code has come to. Too much for the stack, which it shares with three other functions.
 */
struct met {
	struct vma_bounds vma;
	bool has_file; /* or is the vdso */
	struct unwind_file_key key;
	struct unwind_file asked; /* as it is put into `unwind_files` */
};

/* A walk of the current thread's user stack: the frame it is at. */
struct unwind {
	u64 ip; /* of an exact frame the next instruction, elsewhere the one behind a call */
	u64 sp; /* 0: not known (arm64, behind a frame pointer) */
	u64 fp;
	u64 link; /* arm64: the link register */
	bool is_exact;
	bool has_link;
	bool is_by_pointer; /* frame pointers led here */
	bool is_guessed;    /* and, on the way, through code of a file that says nothing of it */
	u32 codes_at;	    /* in `unwind_codes` */
	u64 function;	    /* lib/runtimes/functions.h; 0: of none */
	u32 runtime;	    /* that functions are of */
	u32 depth;	    /* of the frame: how many are further in */
	u64 frame_ip;	    /* as it is added to the stack */
	u64 frame_sp;
	u32 file_runtime;   /* as in unwind_file, of the file that the frame is in */
	u64 file_base;	    /* where that would be mapped at offset 0 */
	bool is_pointed_to; /* where the frame pointer points has been read: */
	u64 pointed_fp;
	u64 pointed_ip;
	struct python_walk python;
	struct met met;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, u32);
	__type(value, struct unwind);
} unwinds SEC(".maps");

static __always_inline struct codes *codes_at(struct unwind *walk)
{
	u32 at = walk->codes_at;

	return bpf_map_lookup_elem(&unwind_codes, &at);
}

/* What is known of the process's runtime: its number, and where things are in it. */
static __always_inline void set_runtime(struct codes *codes, u32 runtime)
{
	u32 key = runtime - 1;
	struct v8_layout *v8 = runtime ? bpf_map_lookup_elem(&v8_layouts, &key) : NULL;

	/* Of another kind of runtime there are only zeros. */
	codes->runtime = v8 && v8->builtins_end ? runtime : 0;
	if (v8)
		codes->v8 = *v8;
}

#endif
