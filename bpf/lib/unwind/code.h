/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The code at an address: which file it is of, and which rule leads from it to its caller. */
#ifndef TSTRACE_UNWIND_CODE_H
#define TSTRACE_UNWIND_CODE_H

#include "../kernel.h"
#include "../pidns.h"
#include "tables.h"

static __always_inline void ask_for_table(struct met *met)
{
	struct unwind_request *request;

	request = bpf_ringbuf_reserve(&unwind_requests, sizeof(*request), 0);
	if (!request) {
		/* The next walk through the file asks again. */
		bpf_map_delete_elem(&unwind_files, &met->key);
		return;
	}
	request->file = met->key;
	request->start = met->vma.start;
	request->end = met->vma.end;
	request->tgid = current_tgid();
	request->unused_padding = 0;
	bpf_ringbuf_submit(request, 0);
}

/* What is known of a file; asks for its table if nothing is. */
static __always_inline void code_of_file(struct met *met, struct code *code)
{
	struct unwind_file *file = bpf_map_lookup_elem(&unwind_files, &met->key);

	code->kind = CODE_ASKED;
	if (!file) {
		__builtin_memset(&met->asked, 0, sizeof(met->asked));
		met->asked.state = UNWIND_FILE_ASKED;
		met->asked.used = unwind_round;
		if (bpf_map_update_elem(&unwind_files, &met->key, &met->asked, BPF_NOEXIST) == 0)
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
	code->runtime = file->runtime;
	/* User space may have forgotten the file meanwhile, and its element be another file's. */
	barrier();
	if (bpf_map_lookup_elem(&unwind_files, &met->key) != file)
		code->kind = CODE_ASKED;
}

/* Whether the mapping that was met still is what was read. Apart, as find_code has no stack left.
 */
__noinline int still_mapped(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct task_struct *task = current_task();

	return walk && is_still_mapped(BPF_CORE_READ(task, mm), &walk->met.vma);
}

static __always_inline void read_file_key(struct inode *inode, struct unwind_file_key *key)
{
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	read_change_time(inode, &key->changed_sec, &key->changed_nsec);
}

/* Reads what code there is at an address, and of which file, if of any; false: there is none. */
static __always_inline bool meet_code(struct met *met, u32 index, u64 address)
{
	struct task_struct *task = current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct inode *inode;

	if (!mm || !read_vma(mm, address, index, &met->vma))
		return false;
	__builtin_memset(&met->key, 0, sizeof(met->key));
	inode = met->vma.inode;
	met->has_file = inode || met->vma.start == vdso_start(mm);
	if (inode)
		read_file_key(inode, &met->key);
	else
		met->key.inode = UNWIND_VDSO;
	return true;
}

/* Finds the code at an address; 0: no code is there. A function of its own, verified once. */
__noinline int find_code(u32 index, u64 address)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct codes *codes;
	struct code *code;
	struct met *met;

	if (!walk || !meet_code(&walk->met, index, address) || !still_mapped(index))
		return 0;
	codes = codes_at(walk);
	if (!codes)
		return 0;
	met = &walk->met;
	code = &codes->code[codes->found++ % CODES_REMEMBERED];
	code->start = met->vma.start;
	code->end = met->vma.end;
	code->file_offset = met->vma.file_offset;
	code->inode = met->vma.inode;
	code->changed_sec = met->key.changed_sec;
	code->changed_nsec = met->key.changed_nsec;
	code->kind = CODE_WITHOUT_FILE;
	code->runtime = 0;
	if (met->has_file)
		code_of_file(met, code);
	return 1;
}

/* Whether what is remembered of code still is so, if its mapping is the same. */
static __always_inline bool is_unchanged(struct code *code)
{
	s64 sec;
	u32 nsec;

	if (code->kind == CODE_ASKED)
		return false;
	if (!code->inode)
		return true;
	read_change_time(code->inode, &sec, &nsec);
	return sec == code->changed_sec && nsec == code->changed_nsec;
}

/* The runtime that is in the program of the current process. A function of its own, verified once.
 */
__noinline int runtime_of_program(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct task_struct *task = current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct inode *inode = mm ? BPF_CORE_READ(mm, exe_file, f_inode) : NULL;
	struct unwind_file *file;

	if (!walk || !inode)
		return 0;
	__builtin_memset(&walk->met.key, 0, sizeof(walk->met.key));
	read_file_key(inode, &walk->met.key);
	file = bpf_map_lookup_elem(&unwind_files, &walk->met.key);
	return file ? file->runtime : 0;
}

/*
 * Where a walk of the current process remembers code, with what earlier ones have left there: to
 * find the mapping of an address takes as long as five frames. What they found counts as long as
 * it is certain that it still is so. A function of its own, verified once.
 */
__noinline int codes_of(u32 index)
{
	struct unwind *walk = bpf_map_lookup_elem(&unwinds, &index);
	struct task_struct *task = current_task();
	/* Not by look(): the verifier lets nobody count with a pointer that it knows. */
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	u64 incarnation = BPF_CORE_READ(task, group_leader, start_time) + look(task, self_exec_id);
	struct codes *codes;
	u32 version, round = unwind_round, runtime = 0;
	bool is_process, is_known, is_same;

	if (!walk || !mm)
		return 0;
	walk->codes_at = index * CODES_OF_PROCESSES +
			 ((u64)mm * 0x9e3779b97f4a7c15 >> 32) % CODES_OF_PROCESSES;
	codes = codes_at(walk);
	if (!codes)
		return 0;
	version = mappings_version(mm);
	is_process = codes->mm == mm && codes->incarnation == incarnation;
	is_known = is_process && codes->round == round;
	is_same = is_known && version % 2 == 0 && codes->version == version;
	if (!is_known && runtimes_known)
		runtime = runtime_of_program(index);
	/* One that a walk has come to stays: it may be in a library, or known by another inode. */
	if (runtime || !is_process)
		set_runtime(codes, runtime);
	codes->mm = mm;
	codes->incarnation = incarnation;
	codes->version = version;
	codes->round = round;
	for (u32 i = 0; i < CODES_REMEMBERED; i++) {
		struct code *code = &codes->code[i];

		if (code->end && !(is_same && is_unchanged(code)))
			code->end = 0;
	}
	return 0;
}

/* Without branches, as in maple_slot(): the verifier would follow the rest of a frame for each. */
static __always_inline struct code *known_code(struct codes *codes, u64 address)
{
	u32 found = CODES_REMEMBERED;

#pragma unroll
	for (u32 i = 0; i < CODES_REMEMBERED; i++) {
		struct code *code = &codes->code[i];
		u64 above = address - code->start, below = address - code->end;
		/* User addresses have no sign: it tells which is larger. */
		u32 is_here = (~above & below) >> 63;

		barrier_var(is_here);
		found ^= (found ^ i) & -is_here;
		barrier_var(found);
	}
	return found < CODES_REMEMBERED ? &codes->code[found] : NULL;
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

		/* Adds half if `begins` is at most `within`. The verifier would follow both ways
		 * of a branch, at each step. */
		at += half & ~(u32)((within - begins) >> 32);
		left -= half;
	}
	row = chunk->rows[at % UNWIND_CHUNK_ROWS];
	key = row >> 16;
	return bpf_map_lookup_elem(&unwind_rules, &key);
}

#endif
