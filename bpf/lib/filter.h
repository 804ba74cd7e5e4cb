/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Which tasks are traced: one test, the same for every tool. Kinds of filter narrow each other
 * (a thread of this process *and* in that cgroup), values of one kind add up (this PID *or* that).
 *
 * Also defines the programs that keep the set of processes right while tracing: filter_exec lets
 * COMMAND in at its first instruction, filter_fork lets children in, filter_exit takes the dead
 * out, so that a reused number is not mistaken for them. User space loads those it needs.
 */
#ifndef TSTRACE_FILTER_H
#define TSTRACE_FILTER_H

#include "glob.h"
#include "kernel.h"
#include "loss.h"
#include "pidns.h"

#define FILTER_ENTRIES 16384
/* kernel/cgroup/cgroup.c: the deepest hierarchies seen are below 20 levels. */
#define CGROUP_LEVELS	 64
#define FILTER_CPU_WORDS 128

const volatile bool filter_by_tgid = false;
const volatile bool filter_by_tid = false;
const volatile bool filter_by_comm = false;
/* Some of the names are patterns. */
const volatile bool filter_by_glob = false;
const volatile bool filter_by_cgroup = false;
/* The only one that is chosen; 0: there are none, or several. */
const volatile u64 filter_only_cgroup = 0;
const volatile bool filter_by_cpu = false;
const volatile bool filter_user_threads = false;
const volatile bool filter_kernel_threads = false;
const volatile u64 filter_cpus[FILTER_CPU_WORDS] = {};
/* Not this process, whatever else it is: tstrace's own. */
const volatile u32 filter_but_tgid = 0;
/* No process but this one can be in filter_tgids; 0: others can. */
const volatile u32 filter_only_tgid = 0;
/* COMMAND's process, let in when it executes; 0: there is none. */
const volatile u32 filter_command_tgid = 0;

struct comm_key {
	char comm[TASK_COMM_LEN];
};

#define FILTER_SET(name, key_type)                                                                 \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, FILTER_ENTRIES);                                               \
		__type(key, key_type);                                                             \
		__type(value, u8);                                                                 \
	} name SEC(".maps")

/* Of filter_comms: a thread of that name came by. */
#define FILTER_SEEN 2

/* Patterns that matched a thread, as the states that they end in. */
u64 filter_globs_seen;

FILTER_SET(filter_tgids, u32);
FILTER_SET(filter_tids, u32);
FILTER_SET(filter_comms, struct comm_key);
FILTER_SET(filter_cgroups, u64);

/*
 * The id of a cgroup's ancestor; level 0 is the root. On a kernel that lacks a field, libbpf makes
 * the instruction that would read it invalid; the barriers keep the compiler from moving it out
 * of the branch that the verifier finds to be dead.
 */
static __always_inline u64 ancestor_id(struct cgroup *cgroup, int level)
{
	u64 id = 0;

	if (bpf_core_field_exists(cgroup->ancestor_ids)) {
		barrier();
		bpf_core_read(&id, sizeof(id), &cgroup->ancestor_ids[level]);
		barrier();
	} else {
		struct cgroup___since_6_1 *newer = (void *)cgroup;
		struct cgroup *ancestor = NULL;

		barrier();
		bpf_core_read(&ancestor, sizeof(ancestor), &newer->ancestors[level]);
		id = BPF_CORE_READ(ancestor, kn, id);
		barrier();
	}
	return id;
}

/* How deep filter_only_cgroup lies, and 1; 0: no task of it was seen yet. A cgroup never moves. */
u32 filter_cgroup_depth;

static __always_inline bool filter_has_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = look(task, cgroups, dfl_cgrp);
	int level = look(cgroup, level);
	int only = filter_only_cgroup ? (int)filter_cgroup_depth - 1 : -1;

	if (only >= 0)
		return only <= level && ancestor_id(cgroup, only) == filter_only_cgroup;

	/* From the root down to the task's own cgroup: a cgroup's filter covers what is below it.
	 */
	for (int i = 0; i < CGROUP_LEVELS && i <= level; i++) {
		u64 id = ancestor_id(cgroup, i);

		if (filter_only_cgroup ? id == filter_only_cgroup
				       : !!bpf_map_lookup_elem(&filter_cgroups, &id)) {
			if (filter_only_cgroup)
				filter_cgroup_depth = i + 1;
			return true;
		}
		barrier_var(level); /* as in pid_nr() */
	}
	return false;
}

static __always_inline bool filter_has_comm(struct task_struct *task)
{
	struct comm_key key = {};
	u64 globs;
	u8 *seen;

	/* As a string, not as 16 bytes: what follows the terminator is left over from older names.
	 */
	bpf_core_read_str(&key.comm, sizeof(key.comm), &task->comm);
	seen = bpf_map_lookup_elem(&filter_comms, &key);
	if (seen) {
		/* Written once: what many CPUs read stays in their caches. */
		if (*seen != FILTER_SEEN)
			*seen = FILTER_SEEN;
		return true;
	}
	if (!filter_by_glob)
		return false;
	globs = glob_matches(key.comm);
	if (globs & ~filter_globs_seen)
		filter_globs_seen |= globs; /* what another CPU overwrites is seen again */
	return globs != 0;
}

static __always_inline bool filter_has_cpu(u32 cpu)
{
	u32 word = cpu / 64;

	return word < FILTER_CPU_WORDS && (filter_cpus[word] >> (cpu % 64) & 1);
}

/* Whether not all tasks are wanted, wherever they run; constant when a program is loaded. */
static __always_inline bool filter_by_task(void)
{
	return filter_by_tgid || filter_by_tid || filter_by_comm || filter_by_cgroup ||
	       filter_user_threads || filter_kernel_threads || filter_but_tgid;
}

/* The same, or not all CPUs. */
static __always_inline bool filter_is_set(void)
{
	return filter_by_task() || filter_by_cpu;
}

/* Whether the task is not chosen, and cannot be later: a process of another number. */
static __always_inline bool filter_never_has(struct task_struct *task)
{
	return filter_only_tgid && task_tgid(task) != filter_only_tgid;
}

/*
 * When processes began that filter_exit took out last, by their numbers. Threads that end at the
 * same time on several CPUs come there in any order: some after the one that took their process
 * out.
 */
#define FILTER_ENDED 256
u64 filter_ended_since_ns[FILTER_ENDED];

static __always_inline bool filter_took_out(struct task_struct *task)
{
	u64 since_ns = BPF_CORE_READ(task, group_leader, start_time);

	return since_ns && filter_ended_since_ns[(u32)task->tgid % FILTER_ENDED] == since_ns;
}

/* `ends`: whether threads are chosen whose process was taken out a moment ago. */
static __noinline bool filter_has_task_of_some(struct task_struct *task, bool ends)
{
	if (filter_user_threads && (look(task, flags) & PF_KTHREAD))
		return false;
	if (filter_kernel_threads && !(look(task, flags) & PF_KTHREAD))
		return false;
	if (filter_but_tgid && task_tgid(task) == filter_but_tgid)
		return false;
	if (filter_by_tgid) {
		u32 tgid = task_tgid(task);

		/* Most threads are other processes': of them nothing has to be looked up. */
		if (filter_only_tgid && tgid != filter_only_tgid)
			return false;
		if (!bpf_map_lookup_elem(&filter_tgids, &tgid) && !(ends && filter_took_out(task)))
			return false;
	}
	if (filter_by_tid) {
		u32 tid = task_tid(task);

		if (!bpf_map_lookup_elem(&filter_tids, &tid))
			return false;
	}
	if (filter_by_comm && !filter_has_comm(task))
		return false;
	return !filter_by_cgroup || filter_has_cgroup(task);
}

/* Whether the task is one that the user asked for, wherever it runs. */
static __always_inline bool filter_has_task(struct task_struct *task)
{
	return !filter_by_task() || filter_has_task_of_some(task, false);
}

/* The same at sched_process_exit, before filter_exit. */
static __always_inline bool filter_has_ending(struct task_struct *task)
{
	return !filter_by_task() || filter_has_task_of_some(task, true);
}

/* Whether the task, about to run or running on this CPU, is one that the user asked for. */
static __always_inline bool filter_has(struct task_struct *task)
{
	return (!filter_by_cpu || filter_has_cpu(bpf_get_smp_processor_id())) &&
	       filter_has_task(task);
}

static __always_inline void filter_let_in(void *set, u32 number)
{
	u8 yes = 1;

	if (number && bpf_map_update_elem(set, &number, &yes, BPF_ANY))
		count_loss(LOSS_FILTER_FULL);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(filter_exec, struct task_struct *task)
{
	u32 tgid = task_tgid(task);

	if (tgid == filter_command_tgid)
		filter_let_in(&filter_tgids, tgid);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(filter_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 number;

	if (filter_by_tgid) {
		number = task_tgid(parent);
		if (bpf_map_lookup_elem(&filter_tgids, &number))
			filter_let_in(&filter_tgids, task_tgid(child));
	}
	if (filter_by_tid) {
		number = task_tid(parent);
		if (bpf_map_lookup_elem(&filter_tids, &number))
			filter_let_in(&filter_tids, task_tid(child));
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(filter_exit, struct task_struct *task)
{
	u32 number = task_tid(task);

	bpf_map_delete_elem(&filter_tids, &number);
	/* kernel/exit.c, do_exit: the last thread has already been counted out of `live`. */
	if (BPF_CORE_READ(task, signal, live.counter) == 0) {
		number = task_tgid(task);
		if (bpf_map_lookup_elem(&filter_tgids, &number))
			filter_ended_since_ns[(u32)task->tgid % FILTER_ENDED] =
				BPF_CORE_READ(task, group_leader, start_time);
		bpf_map_delete_elem(&filter_tgids, &number);
	}
	return 0;
}

#endif
