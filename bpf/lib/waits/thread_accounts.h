/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What `why` adds up for each thread: from when to when it was, and how long it ran. With its waits
 * (records.h) that is all of its time. Where it ran, samples say.
 */
#ifndef TSTRACE_WAITS_THREAD_ACCOUNTS_H
#define TSTRACE_WAITS_THREAD_ACCOUNTS_H

#include "../filter.h"
#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"
#include "../scheduling/run_time.h"
#include "../stacks/stacks.h"
#include "../stacks/sums.h"
#include "../stacks/walk.h"
#include "chosen.h"
#include "entry.h"
#include "wakers.h"

struct thread_account {
	u64 born_ns; /* CLOCK_MONOTONIC, as is the next */
	u64 at_ns;
	u64 run_ns; /* since it began */
	u32 pid;    /* the kernel's */
	u32 tgid;   /* in the caller's PID namespace, as is tid */
	u32 tid;
	u8 preempted; /* of one that waits for a CPU: it was taken off its own */
	u8 traced;    /* it is chosen now */
	u16 unused_padding;
	u64 ready_ns; /* CLOCK_MONOTONIC: since when it waits for a CPU; 0: it does not */
	/* From and to disks, since it began, as in /proc/PID/io; see read_disk_bytes() */
	u64 read_bytes;
	u64 written_bytes;
	char comm[TASK_COMM_LEN];
};

EXPORT_TYPE(struct thread_account, thread_account);

/* Threads that end while tracing; user space sets the size, and looks by itself now and then. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ended_threads SEC(".maps");

/* What of a wait for a CPU is not over: no record has it. */
static __always_inline void read_readiness(struct task_struct *task, struct thread_account *account)
{
	struct off_cpu *off = off_cpu_of(task);

	if (!off || !off->since_ns || task->on_cpu)
		return;
	account->preempted = off->preempted;
	/* As tracing begins nobody knows whether what is on a run queue was woken or preempted. */
	account->ready_ns = off->state == OFFCPU_RUNNABLE ? off->since_ns : off->woken_ns;
}

/*
 * A process's sum is what its threads have, and what those had that have ended: its first thread
 * tells both. Distributions build kernels that count this (CONFIG_TASK_IO_ACCOUNTING); where one
 * does not, it is 0.
 */
static __always_inline void read_disk_bytes(struct task_struct *task,
					    struct thread_account *account)
{
	if (!bpf_core_field_exists(task->ioac.read_bytes))
		return;
	barrier();
	account->read_bytes = task->ioac.read_bytes;
	account->written_bytes = task->ioac.write_bytes;
	if (task->pid == task->tgid) {
		account->read_bytes += BPF_CORE_READ(task, signal, ioac.read_bytes);
		account->written_bytes += BPF_CORE_READ(task, signal, ioac.write_bytes);
	}
	barrier();
}

static __always_inline void read_account(struct task_struct *task, struct thread_account *account)
{
	u64 counted_ns;

	account->born_ns = task->start_time;
	account->at_ns = bpf_ktime_get_ns();
	read_run_time(task, &counted_ns, &account->run_ns);
	account->pid = task->pid;
	account->tgid = task_tgid(task);
	account->tid = task_tid(task);
	read_disk_bytes(task, account);
	bpf_core_read_str(&account->comm, sizeof(account->comm), &task->comm);
}

/* Attached before filter_exit, which takes the thread out of the filter. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(account_ended, struct task_struct *task)
{
	struct thread_account account = {}, *kept;

	if (!filter_has_ending(task))
		return 0;
	read_account(task, &account);
	account.traced = true;
	kept = bpf_ringbuf_reserve(&ended_threads, sizeof(*kept), 0);
	if (!kept) {
		count_loss(LOSS_ENDED_THREADS_FULL);
		return 0;
	}
	*kept = account;
	bpf_ringbuf_submit(kept, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Run as tracing begins, and as it ends: all threads, as the filter may let others in later. */
SEC("iter/task")
int read_accounts(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = iterator_output(ctx);
	struct task_struct *task = ctx->task;
	struct thread_account account = {};

	/* One that has ended was counted then; as a zombie it can be here for long. */
	if (!task || !task->pid || task->exit_state)
		return 0;
	read_account(task, &account);
	account.traced = filter_has_task(task);
	read_readiness(task, &account);
	bpf_seq_write(seq, &account, sizeof(account));
	return 0;
}

/* Where threads run, at each tick of a clock on every CPU. */
SEC("perf_event")
int sample_running(void *ctx)
{
	struct task_struct *task = current_task();
	u32 index = SAMPLE_SCRATCH;
	struct scratch *here = bpf_map_lookup_elem(&scratch, &index);
	struct stack_key key = {}, others = {};
	struct stack_sum none = {}, *sum;
	u64 kernel, user;

	if (!here || ended_ns || !look(task, pid) || !filter_has(task))
		return 0;
	here->index = index;
	stack_key_of(task, &key);
	kernel = current_kernel_stack(ctx, here);
	user = current_user_stack(ctx, here);
	key.kernel = keep_stack(here, &here->kernel, kernel);
	key.user = keep_stack(here, &here->user, user);
	if (key.kernel != kernel || key.user != user)
		count_loss(LOSS_STACKS_FULL);
	none.first_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&sums, &key, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&sums, &key);
	if (!sum) {
		count_loss(LOSS_STACKS_FULL);
		sum = bpf_map_lookup_elem(&sums, &others);
	}
	if (!sum)
		return 0;
	add_to(&sum->count, ONE);
	add_to(&sum->parts[0], 1);
	return 0;
}

#endif
