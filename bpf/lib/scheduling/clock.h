/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* What time it is at a context switch, for next to nothing: by the clock the scheduler has just
 * read. */
#ifndef TSTRACE_SCHEDULING_CLOCK_H
#define TSTRACE_SCHEDULING_CLOCK_H

#include "../kernel.h"

/* The kernel has sched_info and keeps it up to date; otherwise programs trace wake-ups. */
const volatile bool has_sched_info = false;

/* bpf_ktime_get_ns() - rq->clock, and the rq->clock at that moment. */
u64 clock_offset_ns;
u64 clock_measured_ns;

/* The run queue's clock, in ns since some time near boot: the clock of sched_info. */
static __always_inline u64 clock_of(struct cfs_rq *queue)
{
	return queue->rq->clock;
}

/* The same; 0 where the kernel keeps no sched_info, as it may also lack a clock to read. */
static __always_inline u64 kept_clock_of(struct cfs_rq *queue)
{
	u64 clock = 0;

	if (has_sched_info) {
		barrier();
		clock = clock_of(queue);
		barrier();
	}
	return clock;
}

#define CLOCK_PERIOD_NS 1000000
#define CLOCK_SLEW	1024
/* Also after a long pause: one late reading must not spoil the times after it. */
#define CLOCK_MAX_SLEW_NS 50000

/*
 * CLOCK_MONOTONIC, as a thread leaves this CPU; `queue`: its own. The scheduler has just read its
 * own clock for this switch; that of CLOCK_MONOTONIC is read only now and then, to know how far the
 * two are apart. If a hypervisor takes the CPU away between the two readings, they seem further
 * apart than they are: so the distance may shrink at once, but grow only as slowly as clocks drift.
 */
static __always_inline u64 switch_time_ns(struct cfs_rq *queue)
{
	u64 clock, since_ns, offset_ns, most_ns;

	if (!has_sched_info)
		return bpf_ktime_get_ns();
	barrier();
	clock = clock_of(queue);
	barrier();
	since_ns = clock - clock_measured_ns;
	if ((s64)since_ns > CLOCK_PERIOD_NS || !clock_offset_ns) {
		offset_ns = bpf_ktime_get_ns() - clock;
		most_ns = since_ns / CLOCK_SLEW;
		if (most_ns > CLOCK_MAX_SLEW_NS)
			most_ns = CLOCK_MAX_SLEW_NS;
		if (clock_offset_ns && (s64)(offset_ns - clock_offset_ns) > (s64)most_ns)
			offset_ns = clock_offset_ns + most_ns;
		clock_offset_ns = offset_ns;
		clock_measured_ns = clock;
	}
	return clock + clock_offset_ns;
}

#endif
