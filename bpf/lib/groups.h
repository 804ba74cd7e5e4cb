/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Histograms by group (thread, process, cgroup, …), where a full array of buckets for each would
 * take 18 kB: one hash entry for each bucket that is in use, with its own count, sum, minimum and
 * maximum. User space drains the half that is not written to; see window.h.
 */
#ifndef TSTRACE_GROUPS_H
#define TSTRACE_GROUPS_H

#include "histogram.h"
#include "kernel.h"
#include "loss.h"
#include "pidns.h"
#include "window.h"

enum group_by {
	GROUP_BY_NOTHING,
	GROUP_BY_PROCESS,
	GROUP_BY_THREAD,
	GROUP_BY_PIDNS,
	GROUP_BY_CGROUP,
	GROUP_BY_CPU,
	GROUP_BY_COMM,
};

EXPORT_TYPE(enum group_by, group_by);

const volatile enum group_by group_by = GROUP_BY_NOTHING;

struct group_key {
	u32 bucket;
	u32 kind;
	/*
	 * What GROUP_BY says: a process and thread number, an inode number, a CPU. Of a process or
	 * thread, `id` is number_outside().
	 */
	u32 tgid;
	u32 tid;
	u64 id;
	char comm[TASK_COMM_LEN];
};

struct group_bucket {
	u64 count;
	u64 sum;
	u64 min;
	u64 max;
	/*
	 * The name of the task that was counted here last, and when: names change with exec. Of
	 * two within a jiffy (4 ms) user space may take the older.
	 */
	u64 named_jiffies;
	char comm[TASK_COMM_LEN];
};

_Static_assert(sizeof(struct group_key) == 40, "no padding: the key is hashed byte by byte");

EXPORT_TYPE(struct group_key, group_key);
EXPORT_TYPE(struct group_bucket, group_bucket);

/* User space sets the size before loading; 1 where nothing is grouped. */
struct group_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct group_key);
	__type(value, struct group_bucket);
};

struct group_map groups_0 SEC(".maps");
struct group_map groups_1 SEC(".maps");

static __always_inline void group_key_of(struct group_key *key, struct task_struct *task)
{
	switch (group_by) {
	case GROUP_BY_NOTHING:
		break;
	case GROUP_BY_THREAD:
		key->tid = task_tid(task);
		key->tgid = task_tgid(task);
		key->id = number_outside(key->tid, look(task, pid));
		break;
	case GROUP_BY_PROCESS:
		key->tgid = task_tgid(task);
		key->id = number_outside(key->tgid, look(task, tgid));
		break;
	case GROUP_BY_PIDNS:
		key->id = task_pidns(task);
		break;
	case GROUP_BY_CGROUP:
		key->id = look(task, cgroups, dfl_cgrp, kn, id);
		break;
	case GROUP_BY_CPU:
		key->id = bpf_get_smp_processor_id();
		break;
	case GROUP_BY_COMM:
		bpf_core_read_str(&key->comm, sizeof(key->comm), &task->comm);
		break;
	}
}

/* Two call sites and not one with a chosen map: the verifier then knows the map, and inlines. */
static __always_inline struct group_bucket *group_lookup(u32 half, struct group_key *key)
{
	return half ? bpf_map_lookup_elem(&groups_1, key) : bpf_map_lookup_elem(&groups_0, key);
}

static __always_inline long group_insert(u32 half, struct group_key *key,
					 struct group_bucket *value)
{
	return half ? bpf_map_update_elem(&groups_1, key, value, BPF_NOEXIST)
		    : bpf_map_update_elem(&groups_0, key, value, BPF_NOEXIST);
}

static __always_inline void group_name(struct group_bucket *entry, struct task_struct *task)
{
	if (group_by == GROUP_BY_PROCESS)
		task = look(task, group_leader);
	else if (group_by != GROUP_BY_THREAD)
		return;
	bpf_core_read_str(&entry->comm, sizeof(entry->comm), &task->comm);
	entry->named_jiffies = bpf_jiffies64();
}

/* Counts `value` for the task's group; `kind` tells apart what --split shows apart. */
static __always_inline void group_add(struct task_struct *task, u32 kind, u64 value)
{
	struct group_key key = {.bucket = hist_bucket(value), .kind = kind};
	u32 half = current_window();
	struct group_bucket *entry;

	group_key_of(&key, task);
	entry = group_lookup(half, &key);
	if (!entry) {
		struct group_bucket first = {.min = value, .max = value};

		group_insert(half, &key, &first);
		/* Another CPU may have been first; only a full map leaves nothing to be found. */
		entry = group_lookup(half, &key);
		if (!entry) {
			count_loss(LOSS_GROUPS_FULL);
			return;
		}
	}
	group_name(entry, task);
	__sync_fetch_and_add(&entry->count, 1);
	/* Adding nothing becomes an atomic OR, which kernels before 5.12 do not have. */
	if (value)
		__sync_fetch_and_add(&entry->sum, value);
	/*
	 * Two CPUs that end a wait of one group in the same few nanoseconds can overwrite each
	 * other's extreme with one from the same bucket, 1.6 % away at most. BPF has no
	 * compare-and-exchange before 5.12.
	 */
	if (value < entry->min)
		entry->min = value;
	if (value > entry->max)
		entry->max = value;
}

#endif
