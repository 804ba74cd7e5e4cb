/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* How long a thread has run since it began. */
#ifndef TSTRACE_SCHEDULING_RUN_TIME_H
#define TSTRACE_SCHEDULING_RUN_TIME_H

#include "../kernel.h"
#include "clock.h"

/*
 * The kernel updates a thread's run time when it leaves its CPU, and at each tick. If it is on a
 * CPU now, the clock says for how long it has run since then; for that somebody has to ask
 * switch_time_ns() at every switch.
 */
static __always_inline void read_run_time(struct task_struct *task, u64 *counted_ns, u64 *run_ns)
{
	u64 sum = 0, start = 0, again, behind;
	struct rq *rq;
	s64 since;

	for (int i = 0; i < 3; i++) {
		sum = task->se.sum_exec_runtime;
		barrier();
		start = task->se.exec_start;
		barrier();
		again = task->se.sum_exec_runtime;
		if (sum == again)
			break;
	}
	*counted_ns = sum;
	*run_ns = sum;
	/* A kernel without sched_info may also lack the way to a run queue. */
	if (!has_sched_info || !task->on_cpu || !clock_offset_ns)
		return;
	barrier();
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	behind = BPF_CORE_READ(rq, clock) - BPF_CORE_READ(rq, clock_task);
	since = bpf_ktime_get_ns() - clock_offset_ns - behind - start;
	if (since > 0)
		*run_ns += since;
}

#endif
