/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Programs at perf's tracepoints of system calls, where those at raw ones can be preempted. */
#ifndef TSTRACE_CALLS_PERF_TRACEPOINTS_H
#define TSTRACE_CALLS_PERF_TRACEPOINTS_H

#include "../kernel.h"

/* kernel/events/core.c, perf_trace_run_bpf_submit: with 0 nobody's perf event sees the call. */
#define FOR_PERF_TOO 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* What they hand over: include/trace/events/syscalls.h. */
struct trace_event_raw_sys_enter {
	long id;
};

struct trace_event_raw_sys_exit {
	long id;
	long ret;
};

#pragma clang attribute pop

#endif
