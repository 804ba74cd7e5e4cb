/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * syscount: which system calls are made, how often they fail, how long they take.
 *
 * Calls are counted where they return: there, number and result are both known, and one program is
 * enough. When they began is wanted for latencies only, which takes a second program at the entry.
 *
 * Each program is here twice: for raw tracepoints, and for perf's, which keep preemption off; see
 * src/bpf/calls/call-hooks.ts.
 */
#include "lib/filter.h"
#include "lib/groups.h"
#include "lib/histogram.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/pidns.h"
#include "lib/calls/calls.h"
#include "lib/syscount/failures.h"
#include "lib/syscount/slots.h"
#include "lib/syscount/times.h"
#include "lib/syscount/traits.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool timed = false;
/* A row for each errno, or for each process, goes through groups.h. */
const volatile bool by_errno = false;
const volatile bool only_failed = false;
const volatile u32 only_errno = 0; /* 0: all */
/* How much calls move, instead of how long they take. */
const volatile bool with_bytes = false;
/* What calls are about that fail. */
const volatile bool with_paths = false;

struct tally {
	u64 calls;
	u64 errors;
};

struct tallies {
	struct tally of[CALL_INDEXES];
};

/* In one element, so that user space reads and clears them with one system call each. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WINDOWS);
	__type(key, u32);
	__type(value, struct tallies);
} tallies SEC(".maps");

/* Both windows; user space makes it small where nothing is timed. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WINDOWS *CALL_SLOTS);
	__type(key, u32);
	__type(value, struct hist);
} hists SEC(".maps");

EXPORT_TYPE(struct tally, tally);

static __always_inline struct tally *tally_of(u32 index)
{
	u32 half = current_window();
	struct tallies *here = bpf_map_lookup_elem(&tallies, &half);
	u64 at = index;

	/* In 64 bits: a verifier that knows bounds of 32 bits may not know those of 64 (6.1). */
	barrier_var(at);
	if (!here || at >= CALL_INDEXES)
		return NULL;
	return &here->of[at];
}

/* What user space tells entries of groups.h apart by: 12 bits of errno, the call below. */
static __always_inline u32 kind_of(struct call *call, u32 error)
{
	u32 kind = group_by == GROUP_BY_NOTHING ? call->abi << CALL_NR_BITS | call->nr : 0;

	return kind | (by_errno ? error : !!error) << (CALL_NR_BITS + CALL_ABI_BITS);
}

/* The slower way, for which there is always room. */
static __always_inline void add_grouped(struct task_struct *task, struct call *call, u32 error,
					u64 duration_ns)
{
	group_add(task, kind_of(call, error), duration_ns);
}

/* By process, what is read and what is written are kinds of their own; else the call tells. */
static __always_inline void add_moved(struct task_struct *task, struct call *call, u32 error,
				      long result)
{
	u32 moves = call_traits_of(call) & CALL_MOVES;
	u32 kind = kind_of(call, error);

	if (group_by != GROUP_BY_NOTHING)
		kind |= moves;
	group_add(task, kind, moves && !error ? result : 0);
}

static __always_inline void add_timed(struct task_struct *task, struct call *call, u32 error,
				      u64 duration_ns)
{
	u32 slot = slot_of(call->index);
	struct hist *hist;
	struct tally *tally;

	if (slot >= CALL_SLOTS) {
		add_grouped(task, call, error, duration_ns);
		return;
	}
	slot += current_window() * used_slots;
	hist = bpf_map_lookup_elem(&hists, &slot);
	if (!hist)
		return;
	hist_add(hist, duration_ns);
	if (!error)
		return;
	tally = tally_of(call->index);
	if (tally)
		tally->errors++;
}

static __always_inline void add_counted(struct task_struct *task, struct call *call, u32 error)
{
	struct tally *tally = tally_of(call->index);

	if (!tally) {
		add_grouped(task, call, error, 0);
		return;
	}
	tally->calls++;
	if (error)
		tally->errors++;
}

/* Whether the task's call is one to time; all this only where some are not. */
static __always_inline bool enter_wanted(void *regs, long nr)
{
	struct call call;

	call_of(is_compat_call(regs), nr, &call);
	if (!call_wanted(&call) || call_never_returns(&call))
		return false;
	return !filter_is_set() || caller_wanted(current_task());
}

static __always_inline void call_entered(void *regs, long nr)
{
	/* Of 32-bit programs that end, a place stays taken until its stack is another one's. */
	if ((filter_is_set() || filter_calls || nr == exit_nr[CALL_NATIVE] ||
	     nr == exit_group_nr[CALL_NATIVE]) &&
	    !enter_wanted(regs, nr))
		return;
	call_begins(regs);
}

/* `task`, `regs`: of the thread that made it; NULL where they are not needed. */
static __always_inline void call_left(struct call *call, struct task_struct *task, void *regs,
				      long result)
{
	u64 duration_ns = 0;
	bool begin_known = true;
	u32 error;

	if (!call_wanted(call))
		return;
	/* Of a new child too: its place may be taken still by a 32-bit program that has ended. */
	if (timed)
		begin_known = call_ends(regs, &duration_ns);
	if (!filter_has(task) || is_new_child(call, result))
		return;
	/* arm64 gave it in 32 bits and not extended, until 5.15. */
	if (call->abi == CALL_COMPAT)
		result = (s32)result;
	error = (u64)result >= (u64)-MAX_ERRNO ? -result : 0;
	if ((only_failed && !error) || (only_errno && error != only_errno))
		return;
	if (!begin_known) {
		count_loss(LOSS_CALL_START_UNKNOWN);
		return;
	}
	if (with_paths)
		add_failure(task, regs, call, kind_of(call, error));
	else if (with_bytes)
		add_moved(task, call, error, result);
	else if (group_by != GROUP_BY_NOTHING || by_errno)
		add_grouped(task, call, error, duration_ns);
	else if (timed)
		add_timed(task, call, error, duration_ns);
	else
		add_counted(task, call, error);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(syscount_enter, struct pt_regs *regs, long nr)
{
	call_entered(regs, nr);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscount_exit, struct pt_regs *regs, long result)
{
	/* Only where it is needed: see is_compat_call(). */
	bool needed = filter_is_set() || group_by != GROUP_BY_NOTHING || with_paths;
	struct call call;

	ended_call_of(regs, result, &call);
	call_left(&call, needed ? current_task() : NULL, regs, result);
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int syscount_enter_perf(struct trace_event_raw_sys_enter *event)
{
	call_entered(saved_registers(current_task()), event->id);
	return FOR_PERF_TOO;
}

SEC("tp/raw_syscalls/sys_exit")
int syscount_exit_perf(struct trace_event_raw_sys_exit *event)
{
	struct task_struct *task = current_task();
	struct call call;

	/* What the event tells costs less than the registers. */
	ended_call(is_compat(task), event->id, event->ret, &call);
	call_left(&call, task, timed || with_paths ? saved_registers(task) : NULL, event->ret);
	return FOR_PERF_TOO;
}

/* A call that has not returned. */
struct open_call {
	u64 since_ns; /* CLOCK_MONOTONIC; 0: it is not known */
	u32 nr;
	u32 abi;
	u32 tgid;
	u32 tid;
	u64 id; /* number_outside() of its process */
	char comm[TASK_COMM_LEN];
};

EXPORT_TYPE(struct open_call, open_call);

/* Run at the end: what has not returned is in the tasks' own state. */
SEC("iter/task")
int open_calls(struct bpf_iter__task *ctx)
{
	struct open_call open = {};
	struct task_struct *task = ctx->task;
	struct call call;
	s64 nr;

	/* Nor is it known on which CPU it will return. */
	if (filter_by_cpu || !task || !task->pid || task->flags & PF_KTHREAD || task->exit_state ||
	    !filter_has_task(task))
		return 0;
	nr = open_call_number(task);
	if (nr < 0)
		return 0;
	call_of(is_compat(task), nr, &call);
	if (!call_wanted(&call) || call_never_returns(&call))
		return 0;
	if (timed)
		open.since_ns = call_since_ns(task);
	open.nr = call.nr;
	open.abi = call.abi;
	open.tgid = task_tgid(task);
	open.tid = task_tid(task);
	open.id = number_outside(open.tgid, task->tgid);
	if (group_by == GROUP_BY_PROCESS)
		BPF_CORE_READ_STR_INTO(&open.comm, task, group_leader, comm);
	else
		bpf_core_read_str(&open.comm, sizeof(open.comm), &task->comm);
	bpf_seq_write(ctx->meta->seq, &open, sizeof(open));
	return 0;
}
