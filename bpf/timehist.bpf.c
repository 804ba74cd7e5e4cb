/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * timehist: every switch of the scheduler, one by one.
 *
 * A line is about one time slice of a thread. What came before it (how long the thread was off the
 * CPU, how long of that it was runnable) is known as the time slice begins, and kept by CPU until
 * it ends.
 */
#include "lib/filter.h"
#include "lib/interrupts.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/offcpu.h"
#include "lib/pidns.h"
#include "lib/timehist_events.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The current time slice on this CPU. */
struct slice {
	u64 since_ns;
	u64 wait_ns;
	u64 delay_ns;
	u64 throttled_ns; /* neither in delay_ns nor asleep */
	u32 pid;	  /* the kernel's; 0: no thread that was chosen */
	u32 flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct slice);
} slices SEC(".maps");

/* include/linux/sched/prio.h: below it are real-time tasks. */
#define MAX_RT_PRIO 100

/* Takes what `task` was throttled of the last `waited_ns` out of its delay. */
static __always_inline void take_throttled(struct slice *slice, struct task_struct *task,
					   struct cfs_rq *queue, u16 left, u64 waited_ns)
{
	slice->throttled_ns = throttled_part(task, queue, left, waited_ns, clock_of(queue));
	if (slice->throttled_ns > slice->delay_ns)
		slice->throttled_ns = slice->delay_ns;
	slice->delay_ns -= slice->throttled_ns;
}

/*
 * `prev` leaves this CPU, and the kernel did not trace how it got it (in sandboxes that hide
 * threads, the thread after a hidden one). The kernel has counted how long it ran and waited.
 */
static __always_inline void slice_by_sched_info(struct slice *slice, struct task_struct *prev,
						u64 now_ns)
{
	struct off_cpu *off = off_cpu_of(prev);
	u64 run_ns, away_ns;

	slice->since_ns = now_ns;
	slice->wait_ns = 0;
	slice->delay_ns = 0;
	slice->throttled_ns = 0;
	slice->flags = TIMEHIST_ALL_UNKNOWN;
	if (!has_sched_info || !off || !off->since_ns || prev->prio < MAX_RT_PRIO)
		return;
	barrier();
	run_ns = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;
	away_ns = now_ns - off->since_ns;
	if (run_ns <= away_ns) {
		slice->flags = 0;
		slice->since_ns = now_ns - run_ns;
		slice->wait_ns = away_ns - run_ns;
		slice->delay_ns = prev->sched_info.run_delay - off->run_delay;
		if (slice->delay_ns > slice->wait_ns)
			slice->delay_ns = slice->wait_ns;
		if (off->left_throttled)
			take_throttled(slice, prev, queue_of(prev), off->left_throttled, away_ns);
		/* Known after all: not a wait that was lost. */
		off->since_ns = 0;
	}
	barrier();
}

/* `prev` leaves this CPU, and is one that was chosen. */
static __always_inline void slice_ends(void *ctx, struct slice *slice, struct task_struct *prev,
				       struct task_struct *next, u32 state, u64 now_ns)
{
	struct timehist_event *event = reserve_event();

	if (!event)
		return;
	event->time_ns = now_ns;
	event->type = TIMEHIST_SWITCH;
	event->flags = slice->flags;
	event->wait_ns = slice->wait_ns;
	event->delay_ns = slice->delay_ns;
	/* What is known of the clocks' distance may have been corrected meanwhile: clock.h. */
	event->run_ns = (s64)(now_ns - slice->since_ns) < 0 ? 0 : now_ns - slice->since_ns;
	event->state = state;
	about(event, prev);
	if (with_other || with_stack)
		about_other(event, next);
	if (with_stack) {
		long bytes = bpf_get_stack(ctx, event->frames, sizeof(event->frames), 0);
		u32 count = bytes < 0 ? 0 : (u32)bytes / sizeof(u64);

		if (bytes < 0)
			count_loss(LOSS_STACK_WALK_FAILED);
		/* User space reads up to the first 0. */
		if (count < TIMEHIST_FRAMES)
			event->frames[count] = 0;
	}
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* `next` gets this CPU: what it did before. */
static __always_inline void slice_begins(struct slice *slice, struct task_struct *next, u64 now_ns)
{
	struct cfs_rq *queue = queue_of(next);
	struct off_cpu *off = off_cpu_of(next);
	struct offcpu_parts parts;

	slice->wait_ns = 0;
	slice->delay_ns = 0;
	slice->throttled_ns = 0;
	slice->flags = 0;
	if (off && off->since_ns) {
		slice->wait_ns = now_ns - off->since_ns;
		if ((s64)slice->wait_ns < 0)
			slice->wait_ns = 0;
		offcpu_split(next, queue, off, slice->wait_ns, kept_clock_of(queue), &parts);
		slice->delay_ns = parts.ns[OFFCPU_RUN_QUEUE] + parts.ns[OFFCPU_PREEMPTED];
		slice->throttled_ns = parts.ns[OFFCPU_THROTTLED];
		off_cpu_ends(next, off);
		return;
	}
	if (offcpu_first_wait(next, queue, &parts, &slice->delay_ns)) {
		slice->wait_ns = slice->delay_ns;
		return;
	}
	slice->flags = TIMEHIST_WAIT_UNKNOWN;
	if (off && off->moved_asleep) {
		off->moved_asleep = false;
		count_loss(LOSS_WAITS_MISBOOKED);
		slice->flags |= TIMEHIST_DELAY_UNKNOWN;
		return;
	}
	if (!has_sched_info) {
		slice->flags |= TIMEHIST_DELAY_UNKNOWN;
		return;
	}
	barrier();
	/* In this queue, at least. */
	if (next->sched_info.last_queued)
		slice->delay_ns = clock_of(queue) - next->sched_info.last_queued;
	if ((s64)slice->delay_ns < 0)
		slice->delay_ns = 0;
	take_throttled(slice, next, queue, off ? off->left_throttled : 0, slice->delay_ns);
	barrier();
}

/* `next` gets this CPU at `now_ns`; without its quota it would have had one earlier. */
static __always_inline void report_throttled(struct task_struct *next, u64 throttled_ns, u64 now_ns)
{
	struct timehist_event *event;

	if (!throttled_ns || (filter_by_cpu && !filter_has_cpu(bpf_get_smp_processor_id())))
		return;
	event = reserve_event();
	if (!event)
		return;
	event->time_ns = now_ns;
	event->type = TIMEHIST_THROTTLED;
	event->flags = 0;
	event->wait_ns = 0;
	event->delay_ns = throttled_ns;
	event->run_ns = 0;
	event->state = 0;
	about(event, next);
	if (with_stack)
		event->frames[0] = 0;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

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
	u64 now_ns = switch_time_ns(prev);
	/* Also of other threads: they may share the quota of a chosen one. */
	u16 left = throttle_begins(prev);

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
				slice_by_sched_info(slice, prev, now_ns);
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
		slice_begins(slice, next, now_ns);
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
	event->delay_ns = 0;
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

	read_cpu_context(current, &context);
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
	struct off_cpu *off;

	if (!task || !task->pid || task->on_cpu)
		return 0;
	asleep = is_queued_asleep(task);
	throttled = task_state(task) == TASK_RUNNING && is_throttled(task);
	if (!asleep && !throttled)
		return 0;
	off = off_cpu_new(task);
	if (!off || off->since_ns)
		return 0;
	off->moved_asleep = asleep;
	off->left_throttled = throttled ? throttle_begins(task) : 0;
	return 0;
}
