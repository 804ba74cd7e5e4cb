/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Process and thread numbers as the caller of tstrace sees them: those of its own PID namespace. */
#ifndef TSTRACE_PIDNS_H
#define TSTRACE_PIDNS_H

#include "kernel.h"

/* include/linux/pid_namespace.h: MAX_PID_NS_LEVEL */
#define PIDNS_LEVELS 33

/* Inode number of the caller's PID namespace; 0: it is the first one, where numbers are global. */
const volatile u32 pidns_inum = 0;

/* The number of `pid`, of a namespace of that level, in the caller's; 0 when it cannot be seen from
 * there. */
static __always_inline u32 pid_nr_of(struct pid *pid, u32 level)
{
	struct upid upid;

	for (u32 i = 0; i < PIDNS_LEVELS && i <= level; i++) {
		if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]))
			return 0;
		if (BPF_CORE_READ(upid.ns, ns.inum) == pidns_inum)
			return upid.nr;
		/* Or clang counts down from `level` to 0, where older verifiers see no end. */
		barrier_var(level);
	}
	return 0;
}

static __noinline u32 pid_nr(struct pid *pid)
{
	return pid ? pid_nr_of(pid, look(pid, level)) : 0;
}

static __always_inline u32 task_tid(struct task_struct *task)
{
	return pidns_inum ? pid_nr(look(task, thread_pid)) : (u32)look(task, pid);
}

static __always_inline u32 task_tgid(struct task_struct *task)
{
	return pidns_inum ? pid_nr(look(task, signal, pids[PIDTYPE_TGID])) : (u32)look(task, tgid);
}

/* The same of a task whose address a helper has read, which the verifier lets nobody follow. */
static __always_inline u32 read_tgid(struct task_struct *task)
{
	struct pid *pid;

	if (!pidns_inum)
		return BPF_CORE_READ(task, tgid);
	pid = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
	return pid ? pid_nr_of(pid, BPF_CORE_READ(pid, level)) : 0;
}

/*
 * What tells threads or processes apart that have no number in the caller's PID namespace: their
 * numbers in the first one. 0 for all others. `number`: as above; `first`: in the first namespace.
 */
static __always_inline u32 number_outside(u32 number, u32 first)
{
	return pidns_inum && !number ? first : 0;
}

/* Of the current thread; a function of its own, verified once. */
__noinline int current_tgid(void)
{
	return task_tgid(current_task());
}

/* The PID namespace the task lives in (not the one its children will: nsproxy has only that). */
static __always_inline u32 task_pidns(struct task_struct *task)
{
	struct pid *pid = look(task, thread_pid);
	struct upid upid;
	u32 level;

	if (!pid)
		return 0;
	level = look(pid, level);
	if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]))
		return 0;
	return BPF_CORE_READ(upid.ns, ns.inum);
}

#endif
