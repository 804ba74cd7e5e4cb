/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * timehist: every switch of the scheduler, one by one.
 *
 * A line is about one time slice of a thread. What came before it (how long the thread was off the
 * CPU, how long of that it was runnable) is known as the time slice begins, and kept by CPU until
 * it ends.
 */
#include "lib/filter.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/pidns.h"
#include "lib/scheduling/interrupts.h"
#include "lib/scheduling/off_cpu.h"
#include "lib/timehist/events.h"
#include "lib/timehist/slices.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* One that ends is taken out of the filter before it leaves its CPU for the last time. */
static __always_inline bool is_chosen(struct task_struct *task)
{
	struct off_cpu *off;

	if (filter_has_task(task))
		return true;
	if (!(task->flags & PF_EXITING))
		return false;
	off = off_cpu_of(task);
	return off && off->since_ns;
}

/* A thread that the filter chose no longer (other name, other control group) has no more waits. */
static __always_inline bool is_wanted(struct task_struct *task)
{
	return filter_has_task(task) || task->flags & PF_EXITING;
}

/* Otherwise its exit would be reported as if it was chosen, and had waited all the time. */
static __always_inline void wait_forgotten(struct task_struct *task)
{
	struct off_cpu *off = off_cpu_of(task);

	if (off && off->since_ns)
		off_cpu_ends(task, off);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(timehist_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 zero = 0, state;
	struct slice *slice = bpf_map_lookup_elem(&slices, &zero);
	struct cfs_rq *queue = queue_of(prev), *next_queue = queue_of(next);
	u64 now_ns = switch_time_ns(queue);
	/* Also of other threads: they may share the quota of a chosen one. */
	u16 left = throttle_begins(prev, queue);

	if (!slice)
		return 0;
	/* A thread was seen to get this CPU, and not seen to leave it: its line is missing. */
	if (slice->pid && slice->pid != (u32)prev->pid &&
	    (!filter_by_cpu || filter_has_cpu(bpf_get_smp_processor_id())))
		count_loss(LOSS_WAITS_UNSEEN);
	/* A thread chosen as its time slice began is chosen until it ends, even if it exits. */
	if (prev->pid && (slice->pid == (u32)prev->pid || is_chosen(prev))) {
		state = stopped_state(ctx, prev);
		if (!filter_by_cpu || filter_has_cpu(bpf_get_smp_processor_id())) {
			if (slice->pid != (u32)prev->pid) {
				slice_by_sched_info(slice, prev, queue, now_ns);
				report_throttled(prev, slice->throttled_ns, slice->since_ns);
			}
			slice_ends(ctx, slice, prev, next,
				   preempt || !state ? OFFCPU_RUNNABLE : state, now_ns);
		}
		if (is_wanted(prev))
			off_cpu_begins(prev, preempt, state, left, now_ns, 0);
		else
			wait_forgotten(prev);
	}
	slice->pid = 0;
	if (next->pid && is_chosen(next)) {
		slice_begins(slice, next, next_queue, now_ns);
		slice->pid = next->pid;
		slice->since_ns = now_ns;
		report_throttled(next, slice->throttled_ns, now_ns);
	} else if (filter_by_comm || filter_by_cgroup) {
		wait_forgotten(next);
	}
	return 0;
}

/* The current thread, or an interrupt that came while it ran, does something to another one. */
static __always_inline void report_other(struct task_struct *current, struct cpu_context *context,
					 struct task_struct *other, u8 type, u32 from_cpu,
					 u32 to_cpu)
{
	struct timehist_event *event;

	/* Either may be the chosen one: users ask what wakes a thread, and which threads it wakes.
	 */
	if (!filter_has_task(other) &&
	    (!context->by_thread || !look(current, pid) || !filter_has_task(current)))
		return;
	if (filter_by_cpu && !filter_has_cpu(bpf_get_smp_processor_id()))
		return;
	event = reserve_event();
	if (!event)
		return;
	/* Not the scheduler's clock, which may not have been read for a while. */
	event->time_ns = bpf_ktime_get_ns();
	event->type = type;
	event->flags = TIMEHIST_ALL_UNKNOWN;
	event->wait_ns = 0;
	event->latency_ns = 0;
	event->run_ns = 0;
	event->state = 0;
	about(event, current);
	about_other(event, other);
	event->irq = context->irq;
	event->context = context->kind;
	event->interrupt = context->interrupt;
	event->by_thread = context->by_thread;
	event->from_cpu = from_cpu;
	event->to_cpu = to_cpu;
	if (with_stack)
		event->frames[0] = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline void report_wakeup(struct task_struct *task)
{
	struct task_struct *current = current_task();
	struct cpu_context context;

	read_waker_context(current, task, &context);
	report_other(current, &context, task, TIMEHIST_WAKEUP, 0, 0);
}

/* Not sched_wakeup: that may come on the CPU of the thread that is woken, in an interrupt there. */
SEC("tp_btf/sched_waking")
int BPF_PROG(timehist_waking, struct task_struct *task)
{
	report_wakeup(task);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(timehist_wakeup_new, struct task_struct *task)
{
	report_wakeup(task);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(timehist_migrate, struct task_struct *task, int to_cpu)
{
	struct task_struct *current = current_task();
	struct cpu_context context;

	read_mover_context(current, &context);
	/* kernel/sched/core.c, set_task_cpu: the tracepoint comes before it is done. */
	report_other(current, &context, task, TIMEHIST_MIGRATE, task->se.cfs_rq->rq->cpu, to_cpu);
	return 0;
}

/* Run once when everything is attached: threads whose sched_info is not enough for their next wait.
 */
SEC("iter/task")
int seed_waiting(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	bool asleep, throttled;
	struct cfs_rq *queue;
	struct off_cpu *off;

	if (!task || !task->pid || task->on_cpu)
		return 0;
	queue = queue_of(task);
	asleep = is_queued_asleep(task);
	throttled = task_state(task) == TASK_RUNNING && is_throttled(task, queue);
	if (!asleep && !throttled)
		return 0;
	off = off_cpu_new(task);
	if (!off || off->since_ns)
		return 0;
	off->moved_asleep = asleep;
	off->left_throttled = throttled ? throttle_begins(task, queue) : 0;
	return 0;
}
