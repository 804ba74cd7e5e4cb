/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * schedlat: for each thread, how long it ran and how long it waited for a CPU.
 *
 * What the scheduler counts itself (run time, switches, migrations) is not counted again: it is
 * read when tracing begins and ends, and when a thread ends. A switch only adds the latency of
 * the wait that ends.
 */
#include "lib/filter.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/pidns.h"
#include "lib/schedlat/latencies.h"
#include "lib/scheduling/clock.h"
#include "lib/scheduling/run_queue.h"
#include "lib/scheduling/run_time.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* A thread's totals since it began, as the scheduler counts them. */
struct thread_totals {
	u64 start_ns;
	u64 run_ns;
	u64 counted_ns; /* of it, what the kernel has counted */
	u64 switches;
	u64 preempted;
	u64 migrations;
	u64 waiting_ns; /* on a run queue now, or throttled, since then; 0: it is not */
	u32 pid;
	u32 tgid; /* in the caller's PID namespace, as is tid */
	u32 tid;
	u16 traced;
	u16 throttled; /* now */
	char comm[TASK_COMM_LEN];
	char process[TASK_COMM_LEN];
};

EXPORT_TYPE(struct thread_totals, thread_totals);

/* User space sets the sizes before loading. */
struct thread_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct thread_key);
	__type(value, struct thread_totals);
};

/* Threads that have ended, and those that are about to: they run on for a while. */
struct thread_map ended_0 SEC(".maps");
struct thread_map ended_1 SEC(".maps");
struct thread_map ending SEC(".maps");

static __always_inline void thread_key_of(struct thread_key *key, struct task_struct *task)
{
	key->start_ns = task->start_time;
	key->pid = task->pid;
}

static __always_inline u64 waiting_ns(struct task_struct *task)
{
	u64 last_queued = task->sched_info.last_queued;
	s64 since;

	if (!last_queued || task->on_cpu || task_state(task) != TASK_RUNNING || !clock_offset_ns)
		return 0;
	since = bpf_ktime_get_ns() - clock_offset_ns - last_queued;
	return since > 0 ? since : 0;
}

static __always_inline void read_counters(struct task_struct *task, struct thread_totals *totals)
{
	totals->preempted = task->nivcsw;
	totals->switches = task->nvcsw + totals->preempted;
	if (bpf_core_field_exists(task->se.nr_migrations))
		totals->migrations = task->se.nr_migrations;
}

static __always_inline void read_thread(struct task_struct *task, struct thread_totals *totals)
{
	totals->start_ns = task->start_time;
	totals->pid = task->pid;
	totals->tgid = task_tgid(task);
	totals->tid = task_tid(task);
	bpf_core_read_str(&totals->comm, sizeof(totals->comm), &task->comm);
	BPF_CORE_READ_STR_INTO(&totals->process, task, group_leader, comm);
	read_counters(task, totals);
	read_run_time(task, &totals->counted_ns, &totals->run_ns);
}

/* A thread has left its CPU for good. Its name was read when it began to end. */
static __always_inline void thread_ended(struct task_struct *task)
{
	struct thread_key key = {};
	struct thread_totals *totals;
	long error;

	thread_key_of(&key, task);
	totals = bpf_map_lookup_elem(&ending, &key);
	if (!totals)
		return;
	read_counters(task, totals);
	totals->counted_ns = task->se.sum_exec_runtime;
	totals->run_ns = totals->counted_ns;
	error = current_window() ? bpf_map_update_elem(&ended_1, &key, totals, BPF_ANY)
				 : bpf_map_update_elem(&ended_0, &key, totals, BPF_ANY);
	if (error)
		count_loss(LOSS_THREADS_FULL);
	bpf_map_delete_elem(&ending, &key);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(schedlat_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cfs_rq *left = queue_of(prev), *queue = queue_of(next);
	/* At every switch: read_run_time() needs the present distance of the clocks. */
	u64 now_ns = switch_time_ns(left);
	struct queued queued;

	sched_info_slice_ends(prev, left);
	if (!preempt && task_state(prev) & TASK_DEAD)
		thread_ended(prev);
	if (sched_info_wait_ends(next, queue, &queued) && filter_has_task(next) &&
	    queued_counts(&queued))
		latency_add(next, &queued, now_ns);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(schedlat_migrate, struct task_struct *task)
{
	sched_info_moved_asleep(task);
	return 0;
}

/* Attached before filter_exit, which takes the thread out of the filter. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(schedlat_exit, struct task_struct *task)
{
	struct thread_totals totals = {.traced = true};
	struct thread_key key = {};

	if (!filter_has_ending(task))
		return 0;
	thread_key_of(&key, task);
	read_thread(task, &totals);
	if (bpf_map_update_elem(&ending, &key, &totals, BPF_ANY))
		count_loss(LOSS_THREADS_FULL);
	return 0;
}

/* All threads there are; not the filtered ones only, as the filter may let others in later. */
SEC("iter/task")
int schedlat_threads(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = iterator_output(ctx);
	struct task_struct *task = ctx->task;
	struct thread_totals totals = {};
	struct thread_key key = {};

	/* A dead thread was counted as it ended; as a zombie it can be here for long. */
	if (!task || task_state(task) & TASK_DEAD)
		return 0;
	thread_key_of(&key, task);
	read_thread(task, &totals);
	totals.waiting_ns = waiting_ns(task);
	totals.throttled = totals.waiting_ns && is_throttled(task, queue_of(task));
	totals.traced = filter_has_task(task) || bpf_map_lookup_elem(&ending, &key);
	bpf_seq_write(seq, &totals, sizeof(totals));
	return 0;
}
