/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * trace: every system call with its arguments and its result, one record for each.
 *
 * What a program hands over is taken as the call begins, before anybody can change it; what it gets
 * is taken as the call returns. Pages that are not in memory cannot be read at the entry: the call
 * brings them in, and they are read as it returns.
 *
 * Each program is here twice: for raw tracepoints, and for perf's, which keep preemption off; see
 * src/bpf/calls/call-hooks.ts.
 */
#include "lib/trace/call.h"
#include "lib/trace/call_stacks.h"
#include "lib/trace/captures.h"
#include "lib/trace/records.h"
#include "lib/calls/calls.h"
#include "lib/filter.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/pidns.h"
#include "lib/window.h"

/* include/uapi/asm-generic/errno-base.h */
#define EEXIST 17

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/sys_enter")
int BPF_PROG(trace_enter, struct pt_regs *regs, long nr)
{
	call_entered(regs, nr);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(trace_exit, struct pt_regs *regs, long result)
{
	call_left(regs, result);
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int trace_enter_perf(struct trace_event_raw_sys_enter *event)
{
	call_entered(saved_registers(current_task()), event->id);
	return FOR_PERF_TOO;
}

SEC("tp/raw_syscalls/sys_exit")
int trace_exit_perf(struct trace_event_raw_sys_exit *event)
{
	call_left(saved_registers(current_task()), event->ret);
	return FOR_PERF_TOO;
}

/* Behind the programs above, at the same tracepoints: with stacks only. */
SEC("tp_btf/sys_enter")
int BPF_PROG(trace_enter_stack, struct pt_regs *regs, long nr)
{
	call_pending_done(ctx, regs);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(trace_exit_stack, struct pt_regs *regs, long result)
{
	call_pending_done(ctx, regs);
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int trace_enter_stack_perf(struct trace_event_raw_sys_enter *event)
{
	call_pending_done(event, saved_registers(current_task()));
	return FOR_PERF_TOO;
}

SEC("tp/raw_syscalls/sys_exit")
int trace_exit_stack_perf(struct trace_event_raw_sys_exit *event)
{
	call_pending_done(event, saved_registers(current_task()));
	return FOR_PERF_TOO;
}

/* What a record of a thread that ends or gets a signal begins with, in the thread's own slot. */
static __always_inline struct call_slot *event_slot(struct task_struct *task, u64 registers,
						    u8 type, u8 arguments)
{
	struct call_slot *slot = slot_at(slot_take(registers));

	if (!slot || slot->since_ns) {
		count_loss(LOSS_WAIT_TABLE_FULL);
		return NULL;
	}
	slot->record.end_ns = bpf_ktime_get_ns();
	slot->record.duration_ns = 0;
	slot->record.call = 0;
	slot->record.type = type;
	slot->record.flags = 0;
	slot->record.arguments = arguments;
	slot->record.bytes = arguments * sizeof(u64);
	record_about(&slot->record, task);
	return slot;
}

/* The call that a thread was in as it ended never returns. */
static __always_inline void call_ends_with_thread(struct task_struct *task, struct call_slot *slot)
{
	slot->record.end_ns = bpf_ktime_get_ns();
	slot->record.duration_ns = slot->record.end_ns - slot->since_ns;
	slot->record.flags |= RECORD_UNFINISHED;
	record_about(&slot->record, task);
	if (unfinished_wanted(slot))
		record_leaves(slot);
	slot->since_ns = 0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct signal_struct___ends {
	int group_exit_code;
	unsigned int flags;
};

struct task_struct___ends {
	int exit_code;
	u64 start_time;
	struct signal_struct___ends *signal;
	struct task_struct___ends *group_leader;
};

#pragma clang attribute pop

/* Processes whose end was told, by their numbers and when they began. */
struct process_told {
	u64 since_ns;
	u64 tgid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct process_told);
	__type(value, u8);
} processes_told SEC(".maps");

/*
 * Of threads that end at the same time on several CPUs, more than one may find that none is left:
 * kernel/exit.c, do_exit, counts a thread out of `live` before it comes here.
 */
static __always_inline bool is_last_thread(struct task_struct *task)
{
	struct process_told told = {
		.since_ns = BPF_CORE_READ(task, group_leader, start_time),
		.tgid = task->tgid,
	};
	u8 yes = 1;

	return BPF_CORE_READ(task, signal, live.counter) == 0 &&
	       bpf_map_update_elem(&processes_told, &told, &yes, BPF_NOEXIST) != -EEXIST;
}

/* include/linux/sched/signal.h */
#define SIGNAL_GROUP_EXIT 4

/* What wait() tells of a process, and since when it lives: kernel/exit.c, wait_task_zombie(). */
static __always_inline void process_ends(struct call_slot *slot, struct task_struct *task)
{
	struct task_struct___ends *leader = (void *)BPF_CORE_READ(task, group_leader);

	slot->record.flags = RECORD_LAST_THREAD;
	slot->record.duration_ns = slot->record.end_ns - BPF_CORE_READ(leader, start_time);
	slot->record.result = BPF_CORE_READ(leader, signal, flags) & SIGNAL_GROUP_EXIT
				      ? BPF_CORE_READ(leader, signal, group_exit_code)
				      : BPF_CORE_READ(leader, exit_code);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(trace_thread_ends, struct task_struct *task)
{
	u64 registers = task_registers_number(task);
	struct call_slot *slot = slot_at(slot_find(registers));
	bool known = slot != NULL;

	if (slot && slot->since_ns)
		call_ends_with_thread(task, slot);
	/* The filter may have forgotten a process whose last thread ends. */
	if (with_ends && !(task->flags & PF_KTHREAD) && (known || filter_has_ending(task))) {
		slot = event_slot(task, registers, RECORD_EXIT, 0);
		if (slot) {
			slot->record.result =
				BPF_CORE_READ((struct task_struct___ends *)task, exit_code);
			slot->record.duration_ns = slot->record.end_ns - task->start_time;
			if (is_last_thread(task))
				process_ends(slot, task);
			capture_parent(slot);
			record_leaves(slot);
		}
	}
	if (slot)
		slot->registers = 0;
	return 0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kill___sent {
	int _pid;
};

union sifields___sent {
	struct kill___sent _kill;
};

struct kernel_siginfo___sent {
	int si_code;
	union sifields___sent _sifields;
};

#pragma clang attribute pop

/* Of the current thread, at a signal: before 5.11 its task is a number, too, but `information` in
 * ctx[1] is a pointer. */
static __always_inline u64 signalled_number(unsigned long long *ctx, void *information,
					    struct task_struct *task)
{
	unsigned long long *at = &ctx[1];
	u64 number, address = 0;

	if (can_read_registers() || current_has_type())
		return task_registers_number(task);
	barrier();
	barrier_var(at); /* or clang reads ctx[1] by this address, too, which is not allowed */
	bpf_probe_read_kernel(&address, sizeof(address), at);
	number = address_number((u64)saved_registers(task), information, address);
	barrier();
	return number;
}

#define SIGKILL 9

/* Each thread of a process that ends, by another signal or by exit_group, is killed by the kernel
 * itself: kernel/signal.c, complete_signal(), zap_other_threads(). Nobody has sent that. */
static __always_inline bool is_sent(struct task_struct *task, int signal)
{
	struct task_struct___ends *killed = (void *)task;

	return signal != SIGKILL ||
	       (BPF_CORE_READ(killed, signal, group_exit_code) & 0x7f) == SIGKILL;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(trace_signal, int signal, void *information)
{
	struct kernel_siginfo___sent *sent = information;
	struct task_struct *task = current_task();
	struct call_slot *slot;
	u64 *arguments;

	if (!filter_has_task(task) || !is_sent(task, signal))
		return 0;
	slot = event_slot(task, signalled_number(ctx, information, task), RECORD_SIGNAL, 2);
	if (!slot)
		return 0;
	slot->record.result = signal;
	arguments = (u64 *)slot->data;
	arguments[0] = (s64)BPF_CORE_READ(sent, si_code);
	arguments[1] = (u32)BPF_CORE_READ(sent, _sifields._kill._pid);
	record_leaves(slot);
	return 0;
}

/* One that began before tracing did. */
struct old_call {
	struct call_record record;
	u64 arguments[CALL_ARGUMENTS];
};

/* Run at the end: what has not returned. A call that began before tracing is in registers only. */
SEC("iter/task")
int open_calls(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = iterator_output(ctx);
	struct task_struct *task = ctx->task;
	struct old_call old = {};
	struct call_plan *plan;
	struct call_slot *slot;
	struct call call;
	u64 bytes;
	s64 nr;

	if (!task || !task->pid || task->flags & PF_KTHREAD || task->exit_state ||
	    !filter_has_task(task))
		return 0;
	slot = slot_at(slot_find(task_registers_number(task)));
	if (slot && slot->since_ns) {
		/* Else it has returned, and programs were detached before its record left. */
		if (!(slot->pending & PENDING_RECORD)) {
			slot->record.end_ns = bpf_ktime_get_ns();
			slot->record.duration_ns = slot->record.end_ns - slot->since_ns;
			slot->record.flags |= RECORD_UNFINISHED;
		}
		slot->record.lost = 0;
		record_about(&slot->record, task);
		bytes = slot->record.bytes;
		barrier_var(bytes);
		if (bytes <= RECORD_DATA_BYTES && unfinished_wanted(slot))
			bpf_seq_write(seq, &slot->record, sizeof(slot->record) + bytes);
		return 0;
	}
	nr = open_call_number(task);
	if (nr < 0 || by_path || by_descriptor || only_failed || only_successful)
		return 0;
	call_of(is_compat(task), nr, &call);
	if (!call_wanted(&call) || call_never_returns(&call))
		return 0;
	old.record.end_ns = bpf_ktime_get_ns();
	old.record.call = packed_call(&call);
	old.record.flags = RECORD_UNFINISHED | RECORD_BEGAN_BEFORE;
	old.record.tgid = task_tgid(task);
	old.record.tid = task_tid(task);
	bpf_core_read_str(old.record.comm, sizeof(old.record.comm), &task->comm);
	plan = plan_of(plan_index(&call));
	if (plan && call.abi == CALL_NATIVE &&
	    !read_arguments(saved_registers(task), old.arguments)) {
		old.record.arguments = plan->arguments;
		old.record.bytes = plan->arguments * sizeof(u64);
	}
	bytes = old.record.bytes;
	barrier_var(bytes);
	if (bytes <= sizeof(old.arguments))
		bpf_seq_write(seq, &old, sizeof(old.record) + bytes);
	return 0;
}
