/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * runqlat: how long runnable threads waited for a CPU.
 *
 * One wait lasts from a wake-up, a fork or a preemption until the thread gets a CPU. There are
 * two ways to know when it began; user space loads one.
 */
#include "lib/filter.h"
#include "lib/groups.h"
#include "lib/histogram.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/pidns.h"
#include "lib/scheduling/run_queue.h"
#include "lib/scheduling/stamped_run_queue.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool split_kinds = false;
/* Waits at least this long become events instead of histogram entries; 0: there are no events. */
const volatile u64 slower_than_ns = 0;

/* Both windows of the histograms that are not grouped, one for each kind of wait. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WINDOWS *QUEUED_KINDS);
	__type(key, u32);
	__type(value, struct hist);
} hists SEC(".maps");

struct slow_wait {
	u64 end_ns; /* CLOCK_MONOTONIC */
	u64 latency_ns;
	u64 throttled_ns; /* of them */
	u32 cpu;
	u32 kind;
	u32 tgid;
	u32 tid;
	u32 prev_tgid;
	u32 prev_tid;
	char comm[TASK_COMM_LEN];
	char prev_comm[TASK_COMM_LEN];
};

/* User space sets the size before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} slow_waits SEC(".maps");

EXPORT_TYPE(struct slow_wait, slow_wait);

static __always_inline void report_slow(struct task_struct *prev, struct task_struct *next,
					struct queued *queued)
{
	struct slow_wait *event = bpf_ringbuf_reserve(&slow_waits, sizeof(*event), 0);

	if (!event) {
		count_loss(LOSS_EVENTS_RING_FULL);
		return;
	}
	event->end_ns = bpf_ktime_get_ns();
	event->latency_ns = queued->latency_ns;
	event->throttled_ns = queued->throttled_ns;
	event->cpu = bpf_get_smp_processor_id();
	event->kind = queued->kind;
	event->tgid = task_tgid(next);
	event->tid = task_tid(next);
	event->prev_tgid = task_tgid(prev);
	event->prev_tid = task_tid(prev);
	bpf_core_read_str(&event->comm, sizeof(event->comm), &next->comm);
	bpf_core_read_str(&event->prev_comm, sizeof(event->prev_comm), &prev->comm);
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void count_wait(struct task_struct *task, u32 kind, u64 latency_ns)
{
	struct hist *hist;
	u32 key;

	if (group_by != GROUP_BY_NOTHING) {
		group_add(task, kind, latency_ns);
		return;
	}
	key = current_window() * QUEUED_KINDS + kind;
	hist = bpf_map_lookup_elem(&hists, &key);
	if (hist)
		hist_add(hist, latency_ns);
}

/* A wait of `next` is over; `prev` ran in its place. */
static __always_inline void wait_over(struct task_struct *prev, struct task_struct *next,
				      struct queued *queued)
{
	u64 latency_ns = queued->latency_ns;

	if (!filter_has(next) || !queued_counts(queued))
		return;
	if (slower_than_ns) {
		if (latency_ns >= slower_than_ns)
			report_slow(prev, next, queued);
		return;
	}
	if (!split_kinds) {
		count_wait(next, QUEUED_WAKEUP, latency_ns);
		return;
	}
	if (queued->throttled_ns) {
		count_wait(next, QUEUED_THROTTLED, queued->throttled_ns);
		latency_ns -= queued->throttled_ns;
		if (!latency_ns)
			return;
	}
	count_wait(next, queued->kind, latency_ns);
}

/* With sched_info: one program, and nothing at wake-up. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switch_sched_info, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cfs_rq *left = queue_of(prev), *queue = queue_of(next);
	struct queued queued;

	sched_info_slice_ends(prev, left);
	if (sched_info_wait_ends(next, queue, &queued))
		wait_over(prev, next, &queued);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrate_sched_info, struct task_struct *task)
{
	sched_info_moved_asleep(task);
	return 0;
}

/* With time stamps, where the kernel keeps no sched_info. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(wakeup_hash, struct task_struct *task)
{
	if (filter_has_task(task))
		stamp_wait_begins(task, QUEUED_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wakeup_new_hash, struct task_struct *task)
{
	if (filter_has_task(task))
		stamp_wait_begins(task, QUEUED_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_hash, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct queued queued;

	if (waits_again(preempt, prev) && filter_has_task(prev))
		stamp_wait_begins(prev, QUEUED_PREEMPTED);
	if (stamp_wait_ends(next, &queued))
		wait_over(prev, next, &queued);
	return 0;
}
