/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Unwind tables: for each address of a file the rule that leads from a frame to its caller's. They
 * belong to files, not to processes, so a new process, a fork, an exec or a library that is loaded
 * late needs nothing if its files were met before. User space (src/bpf/unwind.ts) fills them in; a
 * program that meets a file without a table asks for it.
 *
 * A row is four bytes: where in a page of 64 KiB of the file it begins, and the number of its rule.
 */
#ifndef TSTRACE_UNWIND_H
#define TSTRACE_UNWIND_H

#include "kernel.h"
#include "loss.h"
#include "pidns.h"
#include "stacks.h"
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

struct unwind_file_key {
	u64 inode;
	u32 device;
	u32 unused_padding;
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
	s64 changed_sec;
	u32 changed_nsec;
	u32 state;
	u32 pages_at; /* in `unwind_pages` */
	u32 first_page;
	u32 pages;
	u32 used; /* unwind_round, when it was last */
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
	s64 changed_sec;
	u32 changed_nsec;
	u32 tgid; /* in our PID namespace; 0: it cannot be seen from there */
	u64 start;
	u64 end;
};

EXPORT_TYPE(struct unwind_request, unwind_request);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} unwind_requests SEC(".maps");

/* User space adds 1 now and then, so that it can tell which files were not used for long. */
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
	u64 end;
	u64 file_offset; /* of `start` */
	u32 kind;
	u32 pages_at;
	u32 first_page;
	u32 pages;
};

/* Stacks go to and fro between a program and its libraries. A power of two. */
#define CODES_REMEMBERED 4

/* What find_code has come to. Too much for the stack, which it shares with three other functions.
 */
struct met {
	struct vma_bounds vma;
	struct unwind_file_key key;
	struct unwind_file asked; /* as it is put into `unwind_files` */
	struct change_time changed;
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
	u8 codes;	    /* that were found */
	struct code code[CODES_REMEMBERED];
	struct met met;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, u32);
	__type(value, struct unwind);
} unwinds SEC(".maps");

static __always_inline void ask_for_table(struct met *met)
{
	struct unwind_request *request;

	request = bpf_ringbuf_reserve(&unwind_requests, sizeof(*request), 0);
	if (!request) {
		/* Who meets it next asks again. */
		bpf_map_delete_elem(&unwind_files, &met->key);
		return;
	}
	request->file = met->key;
	request->changed_sec = met->changed.sec;
	request->changed_nsec = met->changed.nsec;
	request->tgid = task_tgid(current_task());
	request->start = met->vma.start;
	request->end = met->vma.end;
	bpf_ringbuf_submit(request, 0);
}

/* What is known of a file; asks for its table if nothing is, or if the file has changed since. */
static __always_inline void code_of_file(struct met *met, struct code *code)
{
	struct unwind_file *file = bpf_map_lookup_elem(&unwind_files, &met->key);
	struct change_time *changed = &met->changed;

	code->kind = CODE_ASKED;
	if (!file || file->changed_sec != changed->sec || file->changed_nsec != changed->nsec) {
		if (file && file->state == UNWIND_FILE_ASKED)
			return;
		__builtin_memset(&met->asked, 0, sizeof(met->asked));
		met->asked.changed_sec = changed->sec;
		met->asked.changed_nsec = changed->nsec;
		met->asked.state = UNWIND_FILE_ASKED;
		met->asked.used = unwind_round;
		if (bpf_map_update_elem(&unwind_files, &met->key, &met->asked,
					file ? BPF_EXIST : BPF_NOEXIST) == 0)
			ask_for_table(met);
		return;
	}
	file->used = unwind_round;
	if (file->state == UNWIND_FILE_ASKED)
		return;
	code->kind = file->state == UNWIND_FILE_HAS_TABLE ? CODE_WITH_TABLE : CODE_WITHOUT_RULES;
	code->pages_at = file->pages_at;
	code->first_page = file->first_page;
	code->pages = file->pages;
}

/* Finds the code at an address; 0: no code is there. A function of its own, verified once. */
__noinline int find_code(u32 index, u64 address)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct mm_struct *mm = look(current_task(), mm);
	struct inode *inode;
	struct code *code;
	struct met *met;

	if (!walk || !mm)
		return 0;
	met = &walk->met;
	if (!read_vma(mm, address, index, &met->vma))
		return 0;
	code = &walk->code[walk->codes++ % CODES_REMEMBERED];
	code->start = met->vma.start;
	code->end = met->vma.end;
	code->file_offset = met->vma.file_offset;
	inode = met->vma.inode;
	__builtin_memset(&met->key, 0, sizeof(met->key));
	__builtin_memset(&met->changed, 0, sizeof(met->changed));
	if (inode) {
		met->key.inode = BPF_CORE_READ(inode, i_ino);
		met->key.device = BPF_CORE_READ(inode, i_sb, s_dev);
		read_change_time(inode, &met->changed);
	} else if (met->vma.start == vdso_start(mm)) {
		met->key.inode = UNWIND_VDSO;
	} else {
		code->kind = CODE_WITHOUT_FILE;
		return 1;
	}
	code_of_file(met, code);
	return 1;
}

static __always_inline struct code *known_code(struct unwind *walk, u64 address)
{
#pragma unroll
	for (u32 i = 0; i < CODES_REMEMBERED; i++) {
		struct code *code = &walk->code[i];

		if (address >= code->start && address < code->end)
			return code;
	}
	return NULL;
}

/* The rule for an address; NULL: a gap. */
static __always_inline struct unwind_rule *rule_at(struct code *code, u64 address)
{
	u64 offset = address - code->start + code->file_offset;
	u64 page = (offset >> UNWIND_PAGE_BITS) - code->first_page;
	u32 within = offset & ((1 << UNWIND_PAGE_BITS) - 1), zero = 0, key, at, left, row;
	struct unwind_page *rows;
	struct unwind_chunk *chunk;
	void *chunk_map;

	if (page >= code->pages)
		return NULL;
	key = code->pages_at + page;
	rows = bpf_map_lookup_elem(&unwind_pages, &key);
	if (!rows || !rows->count)
		return NULL;
	at = rows->first % UNWIND_CHUNK_ROWS;
	key = rows->first / UNWIND_CHUNK_ROWS;
	left = rows->count;
	chunk_map = bpf_map_lookup_elem(&unwind_rows, &key);
	if (!chunk_map)
		return NULL;
	chunk = bpf_map_lookup_elem(chunk_map, &zero);
	if (!chunk)
		return NULL;
	/* The last row that begins at `within` or before; the first one begins with the page. */
	for (u32 i = 0; i <= UNWIND_PAGE_BITS && left > 1; i++) {
		u32 half = left / 2;
		u64 begins = (u16)chunk->rows[(at + half) % UNWIND_CHUNK_ROWS];

		/* `at` goes on by half, or not: without a branch, of which the verifier follows
		 * each. */
		at += half & ~(u32)((within - begins) >> 32);
		left -= half;
	}
	row = chunk->rows[at % UNWIND_CHUNK_ROWS];
	key = row >> 16;
	return bpf_map_lookup_elem(&unwind_rules, &key);
}

#endif
