/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What descriptors of system calls are: a file by its path, a pipe, a socket by its addresses. Each
 * is told to user space once, in a record of its own, and has a number from then on.
 */
#ifndef TSTRACE_TRACE_FILES_H
#define TSTRACE_TRACE_FILES_H

#include "records.h"
#include "../kernel.h"
#include "../objects/describe.h"
#include "../objects/kernel_files.h"
#include "../objects/path.h"
#include "../objects/record.h"

/* A secret, so that nobody can prepare files that seem to be one. */
const volatile u64 files_seed = 0;

/* Numbers that user space knows; those that nobody uses go first, and are told again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u8);
} files_told SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr___hash {
	u64 hash_len;
};

struct dentry___hash {
	struct qstr___hash d_name;
};

struct fs_struct___pwd {
	struct path___held pwd;
};

struct task_struct___pwd {
	struct fs_struct___pwd *fs;
};

#pragma clang attribute pop

/* The words of the search that lie in front of the object, where the record's header goes. */
#define FILE_HEADER_WORD (SEARCHED_WORDS - sizeof(struct call_record) / sizeof(u64))
_Static_assert(__builtin_offsetof(struct object_search, object) ==
		       __builtin_offsetof(struct object_search, stack) +
			       SEARCHED_WORDS * sizeof(u64),
	       "the record's header and the object are in one piece");

/* Of the object in this CPU's place, without what may differ from one call to the next. */
__noinline int hash_file(u32 place)
{
	struct object_search *here = search_at(place);
	u64 hash = files_seed;
	u64 *words;

	if (!here)
		return 0;
	words = (u64 *)&here->object;
	for (u32 i = 0; i < OBJECT_KEY_WORDS; i++) {
		hash = (hash ^ words[i]) * SPREAD;
		hash ^= hash >> 32;
	}
	here->hash = hash ? hash : 1;
	return 0;
}

/* Tells user space what the object in this CPU's place is. */
__noinline int tell_file(u32 place)
{
	struct object_search *here = search_at(place);
	struct call_record *record;
	u64 bytes, hash;
	u8 yes = 1;

	if (!here)
		return 0;
	if (here->object.dentry)
		copy_path(here, place);
	bytes = here->object.text_bytes;
	barrier_var(bytes);
	if (bytes > PATH_BYTES + NAME_BYTES)
		bytes = PATH_BYTES + NAME_BYTES;
	bytes += __builtin_offsetof(struct wait_object, text);
	record = (void *)&here->stack[FILE_HEADER_WORD];
	__builtin_memset(record, 0, sizeof(*record));
	/* As late as the call that it is told for, whose record comes behind it. */
	record->end_ns = here->told_ns;
	record->type = RECORD_FILE;
	record->bytes = bytes;
	hash = here->hash;
	record->duration_ns = hash;
	/* Where there is no room the number stays unknown, and is told the next time. */
	if (!bpf_ringbuf_output(&records, record, sizeof(*record) + bytes, BPF_RB_NO_WAKEUP))
		bpf_map_update_elem(&files_told, &hash, &yes, BPF_ANY);
	return 0;
}

/* include/linux/dcache.h, d_unhashed(): a file that is deleted. */
static __always_inline bool is_unhashed(struct dentry___held *dentry)
{
	return BPF_CORE_READ(dentry, d_hash.pprev) == NULL;
}

/* Describes `here->file`, and gives it its number. */
__noinline int know_file(u32 place)
{
	struct object_search *here = search_at(place);
	struct dentry___held *dentry;
	u64 hash;

	if (!here)
		return 0;
	if (here->file)
		describe_file(place);
	dentry = (void *)here->object.dentry;
	if (dentry && is_unhashed(dentry))
		here->object.flags |= OBJECT_DELETED;
	/* What it is called counts: a file that was renamed is told again. */
	here->object.address = here->name_hash;
	hash_file(place);
	hash = here->hash;
	if (!bpf_map_lookup_elem(&files_told, &hash))
		tell_file(place);
	return 0;
}

/* The number of what a descriptor is, or the current folder; 0: nothing. */
static __always_inline u64 file_id(struct call_slot *slot, s32 descriptor)
{
	struct task_struct *task = current_task();
	struct known_file *known = &slot->files[descriptor & (KNOWN_FILES - 1)];
	struct task_struct___pwd *folder = (void *)task;
	struct object_search *here;
	struct file___held *file;
	struct dentry___held *dentry;
	u64 at = 0, mount, name = 0, hash;

	if (descriptor == AT_FDCWD) {
		dentry = BPF_CORE_READ(folder, fs, pwd.dentry);
		mount = (u64)BPF_CORE_READ(folder, fs, pwd.mnt);
	} else {
		at = file_of_descriptor(task, descriptor);
		file = (void *)at;
		if (!at)
			return 0;
		dentry = BPF_CORE_READ(file, f_path.dentry);
		mount = (u64)BPF_CORE_READ(file, f_path.mnt);
	}
	if (!dentry)
		return 0;
	bpf_core_read(&name, sizeof(name), &((struct dentry___hash *)dentry)->d_name.hash_len);
	/* Pipes have no name; the next one may lie where the last one was. */
	if (!name && at)
		name = BPF_CORE_READ(file, f_inode, i_ino);
	/* What it was called while it had a name is another one. */
	if (is_unhashed(dentry))
		name = ~name;
	if (known->id && known->file == at && known->place == ((u64)dentry ^ mount) &&
	    known->name == name)
		return known->id;
	here = search_at(PLACE_CALL);
	if (!here)
		return 0;
	__builtin_memset(&here->object, 0, OBJECT_KEY_BYTES);
	here->object.text_bytes = 0;
	here->task = (u64)task;
	here->file = at;
	here->name_hash = name;
	here->told_ns = slot->record.end_ns;
	if (!at) {
		here->object.type = OBJECT_FILE;
		here->object.dentry = (u64)dentry;
		here->object.mount = mount;
	}
	know_file(PLACE_CALL);
	hash = here->hash;
	known->file = at;
	known->place = (u64)dentry ^ mount;
	known->name = name;
	/* What had no room is to be told the next time. */
	known->id = bpf_map_lookup_elem(&files_told, &hash) ? hash : 0;
	/* A socket's addresses come and go. */
	if (here->object.type >= OBJECT_UNIX && here->object.type <= OBJECT_SOCKET)
		known->id = 0;
	return hash;
}

#endif
