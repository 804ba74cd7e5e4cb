/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The kernel types that tstrace reads: only the fields it uses, relocated to the running kernel's
 * layout by CO-RE when an object is loaded. A vendored vmlinux.h would be megabytes, and tie the
 * build to one kernel.
 */
#ifndef TSTRACE_KERNEL_H
#define TSTRACE_KERNEL_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

typedef _Bool bool;
typedef __u8 u8;
typedef __u16 u16;
typedef __s16 s16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
#define true  1
#define false 0

#define NULL	      ((void *)0)
#define TASK_COMM_LEN 16
#define TASK_RUNNING  0
#define TASK_DEAD     0x0080
#define PF_EXITING    0x00000004
#define PF_KTHREAD    0x00200000
#define EFAULT	      14

/* Puts a type into the object's BTF for user space, though no map has it as key or value. */
#define EXPORT_TYPE(type, name) type *unused_##name __attribute__((unused))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct atomic {
	int counter;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
};

struct task_io_accounting {
	u64 read_bytes;
	u64 write_bytes;
};

struct signal_struct {
	struct atomic live;
	struct pid *pids[4];
	struct task_io_accounting ioac;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	/* Until 6.0 the ids of the ancestors, root first; since then (7f203bc89eb6) pointers. */
	u64 ancestor_ids[1];
};

struct cgroup___since_6_1 {
	struct cgroup *ancestors[1];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct rq {
	u64 clock;
	u64 clock_task; /* stands still while the CPU serves interrupts, or another guest */
	int cpu;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	u64 exec_start; /* by clock_task */
	u64 sum_exec_runtime;
	u64 nr_migrations;
	unsigned char sched_delayed; /* 6.12 */
	u64 prev_sum_exec_runtime;   /* before its last time slice */
	struct cfs_rq *cfs_rq;
};

/* kernel/sched/stats.h: the kernel's own run queue statistics of a thread. */
struct sched_info {
	unsigned long pcount;
	u64 run_delay;
	u64 last_queued;
};

struct task_struct {
	/* Until 5.13 `state`, since then (2f064a59a11f) `__state`; see task_state(). */
	unsigned int __state;
	unsigned int flags;
	/* Two ints, in 7.x u8s: CO-RE narrows only what is unsigned. */
	unsigned int on_cpu;
	unsigned int on_rq; /* see is_on_queue() */
	int prio;
	struct sched_entity se;
	struct sched_info sched_info;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	u64 start_time; /* CLOCK_MONOTONIC */
	u64 self_exec_id;
	int exit_state;
	void *stack;
	struct pid *thread_pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	char comm[TASK_COMM_LEN];
	struct signal_struct *signal;
	struct task_io_accounting ioac;
	struct css_set *cgroups;
	struct mm_struct *mm;
};

struct task_struct___until_5_13 {
	long state;
};

/* What a thread had in its registers when it entered the kernel. */
struct pt_regs___saved {
#ifdef __TARGET_ARCH_arm64
	u64 regs[31];
	u64 sp;
	u64 pc;
#else
	unsigned long bp;
	unsigned long si;
	unsigned long di;
	unsigned long ip;
	unsigned long cs;
	unsigned long sp;
#endif
};

struct file;

struct mm_struct {
	unsigned long brk;
	struct file *exe_file;
};

/* include/linux/slub_def.h, since 6.6 mm/slab.h */
struct kmem_cache {
	unsigned int size; /* of an object, with what the allocator adds */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* Where an iterator writes to. Ask once in a program, before it branches: see queue_of(). */
static __always_inline struct seq_file *iterator_output(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;

	barrier_var(seq);
	return seq;
}

/*
 * Since 5.11 programs get the current task as a pointer with a type, which they may follow. Before,
 * they get its address, and have to have what is there read for them.
 */
static __always_inline bool current_has_type(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf);
}

static __always_inline struct task_struct *current_task(void)
{
	struct task_struct *task;

	if (current_has_type()) {
		task = bpf_get_current_task_btf();
	} else {
		barrier();
		task = (void *)bpf_get_current_task();
		barrier();
	}
	return task;
}

/* look(task, signal, live) is task->signal->live for a task that may be the current one. */
#define look(from, ...)                                                                            \
	({                                                                                         \
		___type((from), __VA_ARGS__) seen;                                                 \
		if (current_has_type()) {                                                          \
			seen = ___arrow((from), __VA_ARGS__);                                      \
		} else {                                                                           \
			barrier();                                                                 \
			BPF_CORE_READ_INTO(&seen, (from), __VA_ARGS__);                            \
			barrier();                                                                 \
		}                                                                                  \
		seen;                                                                              \
	})

/* The scheduler's state of a task: TASK_RUNNING or a mask of TASK_* bits. */
static __always_inline u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___until_5_13 *)task)->state;
}

/*
 * Whether a task runs or waits to run; false: it sleeps. Read in as many bytes as it has: where
 * clang works out the address apart from the load, CO-RE does not narrow that.
 */
static __always_inline bool is_on_queue(struct task_struct *task)
{
	u32 on_rq = 0;

	bpf_core_read(&on_rq, bpf_core_field_size(task->on_rq), &task->on_rq);
	return on_rq != 0;
}

/*
 * The run queue (of its group) that a task is on, or was last; NULL without
 * CONFIG_FAIR_GROUP_SCHED. Load it once in a program, before it branches: each time the verifier
 * meets such a load, it searches the kernel's types from end to end, up to four times (6.4,
 * btf_nested_type_is_trusted), which takes up to 2 ms. So it does for any other pointer out of a
 * task: what is seldom needed is read by BPF_CORE_READ.
 */
static __always_inline struct cfs_rq *queue_of(struct task_struct *task)
{
	struct cfs_rq *queue = NULL;

	if (bpf_core_field_exists(task->se.cfs_rq)) {
		barrier();
		queue = task->se.cfs_rq;
		barrier_var(queue);
	}
	return queue;
}

#endif
