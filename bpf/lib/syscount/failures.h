/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Calls that fail, by process, error, and the path or descriptor they were about. */
#ifndef TSTRACE_SYSCOUNT_FAILURES_H
#define TSTRACE_SYSCOUNT_FAILURES_H

#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"
#include "../window.h"
#include "../calls/arguments.h"
#include "../calls/calls.h"
#include "../objects/kernel_files.h"
#include "traits.h"

/* With the zero at its end; what is longer is cut. */
#define FAILURE_TEXT_BYTES 208

enum failure_about {
	FAILURE_NOTHING, /* neither a path nor a descriptor */
	FAILURE_PATH,
	FAILURE_PATH_CUT,
	FAILURE_PATH_UNREADABLE,
	FAILURE_DESCRIPTOR,	   /* `text` is the last part of its name, if it has one */
	FAILURE_DESCRIPTOR_CLOSED, /* there is none of this number */
};

EXPORT_TYPE(enum failure_about, failure_about);

struct failure_key {
	u32 tgid;
	u32 kind; /* as groups.h has it: errno, call */
	u32 about;
	s32 descriptor;
	u64 inode;
	u32 mode;
	u32 outside; /* number_outside() */
	char text[FAILURE_TEXT_BYTES];
};

struct failure_count {
	u64 count;
	char comm[TASK_COMM_LEN];
};

_Static_assert(sizeof(struct failure_key) == 240, "no padding: the key is hashed byte by byte");

EXPORT_TYPE(struct failure_key, failure_key);
EXPORT_TYPE(struct failure_count, failure_count);

/* User space sets the size before loading; 1 where paths are not asked for. */
struct failure_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct failure_key);
	__type(value, struct failure_count);
};

struct failure_map failures_0 SEC(".maps");
struct failure_map failures_1 SEC(".maps");

/* Of the program that runs on a CPU: none interrupts another one there. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct failure_key);
} failure_scratch SEC(".maps");

static __always_inline void failure_path(struct failure_key *key, u64 address)
{
	long length = bpf_probe_read_user_str(key->text, sizeof(key->text), (void *)address);
	u8 last = 0;

	if (length <= 0) {
		key->about = FAILURE_PATH_UNREADABLE;
		key->text[0] = 0;
		return;
	}
	/* One that takes all the room may have its end just there. */
	if (length == sizeof(key->text))
		bpf_probe_read_user(&last, sizeof(last), (void *)(address + sizeof(key->text) - 1));
	key->about = last ? FAILURE_PATH_CUT : FAILURE_PATH;
}

/* What the descriptor is as the call returns: nobody could tell later. */
static __always_inline void failure_descriptor(struct failure_key *key, struct task_struct *task,
					       s32 descriptor)
{
	struct file___held *file = (void *)file_of_descriptor(task, descriptor);
	const unsigned char *name;

	key->descriptor = descriptor;
	key->about = FAILURE_DESCRIPTOR_CLOSED;
	if (!file)
		return;
	key->about = FAILURE_DESCRIPTOR;
	key->inode = BPF_CORE_READ(file, f_inode, i_ino);
	key->mode = BPF_CORE_READ(file, f_inode, i_mode);
	name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	bpf_probe_read_kernel_str(key->text, sizeof(key->text), name);
}

/* Two call sites and not one with a chosen map, as in groups.h. */
static __always_inline struct failure_count *failure_lookup(u32 half, struct failure_key *key)
{
	return half ? bpf_map_lookup_elem(&failures_1, key) : bpf_map_lookup_elem(&failures_0, key);
}

static __always_inline void failure_count(struct task_struct *task, struct failure_key *key)
{
	u32 half = current_window();
	struct failure_count *entry = failure_lookup(half, key);

	if (!entry) {
		struct failure_count first = {};

		BPF_CORE_READ_STR_INTO(&first.comm, task, group_leader, comm);
		if (half)
			bpf_map_update_elem(&failures_1, key, &first, BPF_NOEXIST);
		else
			bpf_map_update_elem(&failures_0, key, &first, BPF_NOEXIST);
		/* Another CPU may have been first; only a full map leaves nothing to be found. */
		entry = failure_lookup(half, key);
		if (!entry) {
			count_loss(LOSS_FAILURES_FULL);
			return;
		}
	}
	__sync_fetch_and_add(&entry->count, 1);
}

/* Counts a call that failed; `kind` tells error and call. */
static __always_inline void add_failure(struct task_struct *task, void *registers,
					struct call *call, u32 kind)
{
	u32 traits = call_traits_of(call), zero = 0;
	u32 path = traits / CALL_PATH & CALL_PATH_MAX;
	s32 descriptor = call_argument(registers, call, 1);
	bool has_descriptor = traits & CALL_DESCRIPTOR && !(path && descriptor == AT_FDCWD);
	u64 address = path ? call_argument(registers, call, path) : 0;
	struct failure_key *key = bpf_map_lookup_elem(&failure_scratch, &zero);

	if (!key)
		return;
	__builtin_memset(key, 0, sizeof(*key));
	key->tgid = task_tgid(task);
	key->outside = number_outside(key->tgid, look(task, tgid));
	key->kind = kind;
	/* An empty path, or NULL, is about the descriptor before it: futimens() gives NULL. */
	if (path && (address || !has_descriptor))
		failure_path(key, address);
	if (has_descriptor && !key->text[0] && key->about != FAILURE_PATH_UNREADABLE)
		failure_descriptor(key, task, descriptor);
	failure_count(task, key);
}

#endif
