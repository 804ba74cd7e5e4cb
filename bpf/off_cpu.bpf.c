/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * offcputime, offwaketime, wakeuptime, why: where threads wait, how long, and who ends that.
 *
 * A thread's stacks are the same when it resumes as when it stopped, and by then the duration is
 * known. So they are walked then, and only those that are chosen; see lib/sampling.h.
 */
#include "lib/filter.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/pidns.h"
#include "lib/stacks/stacks.h"
#include "lib/stacks/walk.h"
#include "lib/waits/chosen.h"
#include "lib/waits/entry.h"
#include "lib/waits/objects/objects.h"
#include "lib/waits/thread_accounts.h"
#include "lib/waits/wakers.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Where no hook runs in the thread that resumes: offcpu_switch_walks is attached. */
const volatile bool walk_at_switch = false;

/* The user stack of the thread that stops; kept now, for when it resumes. */
static __always_inline u64 kept_user_stack(void *ctx)
{
	struct scratch *here = scratch_here();
	u64 user = switched_user_stack(ctx), kept;

	if (!here)
		return LOST_STACK;
	kept = keep_stack(here, &here->user, user);
	if (kept != user)
		count_loss(LOSS_STACKS_FULL);
	return kept;
}

/* `walks`: the user stack of the thread that stops. */
static __always_inline int switched(unsigned long long *ctx, bool preempt, struct task_struct *prev,
				    struct task_struct *next, bool walks)
{
	struct cfs_rq *queue = queue_of(prev), *next_queue = queue_of(next);
	u32 zero = 0;
	struct chosen *wait;
	u64 now_ns;
	u16 left;

	if (ended_ns)
		return 0;
	now_ns = switch_time_ns(queue);
	/* Also of other threads: they may share the quota of a chosen one. */
	left = throttle_begins(prev, queue);
	if (prev->pid && is_followed(prev)) {
		off_cpu_begins(prev, preempt, stopped_state(ctx, prev), left, now_ns,
			       walks ? kept_user_stack(ctx) : NO_STACK);
	}
	wait = bpf_map_lookup_elem(&chosen_here, &zero);
	if (!wait || !next->pid || !choose_wait(next, next_queue, now_ns, wait))
		return 0;
	wait->key.kernel = task_kernel_stack(next);
	/* A new thread has no frames yet, and it leaves __schedule by another way. */
	if (walks || (!walk_wakers && wait->first_wait)) {
		wait->key.object =
			object_of(next, wait->parts.ns[OFFCPU_BLOCKED], NULL, PLACE_RESUMED);
		add_wait(next->pid);
	} else {
		wait->pid = next->pid;
	}
	return 0;
}

/* Two programs: what is never executed takes the kernel time, too, as a program is loaded. */
SEC("tp_btf/sched_switch")
int BPF_PROG(offcpu_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switched(ctx, preempt, prev, next, false);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(offcpu_switch_walks, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return switched(ctx, preempt, prev, next, true);
}

/* Not sched_wakeup: that may come on the CPU of the thread that is woken, in an interrupt there. */
SEC("tp_btf/sched_waking")
int BPF_PROG(offcpu_waking, struct task_struct *task)
{
	struct off_cpu *off = off_cpu_of(task);
	s64 blocked_ns;
	u64 now_ns;

	/* It may be on its CPU, and only about to sleep. */
	if (!off || !off->since_ns || off->waker.known || ended_ns)
		return 0;
	if (!walk_wakers) {
		read_waker(current_task(), task, &off->waker);
		return 0;
	}
	off->waker.known = true;
	now_ns = bpf_ktime_get_ns();
	blocked_ns = now_ns - off->since_ns;
	if (blocked_ns < 0)
		blocked_ns = 0;
	off->woken_ns = now_ns;
	/* Most are not chosen, and need not be known. */
	if (!off->preempted && blocked_wanted(off, blocked_ns) &&
	    sample_by_duration(blocked_ns, period_ns, &off->blocked)) {
		read_waker(current_task(), task, &off->waker);
		walk_waker(ctx, &off->waker);
	}
	return 0;
}

/* In the context of the thread that resumed: its stacks are the current ones. */
static __always_inline int resumed(void *ctx)
{
	u32 zero = 0;
	struct chosen *wait = bpf_map_lookup_elem(&chosen_here, &zero);
	u32 pid;

	if (!wait || !wait->pid)
		return 0;
	pid = wait->pid;
	wait->pid = 0;
	/* Not another thread: one that is new, and was seen to wait as tracing began. */
	if (pid == (u32)bpf_get_current_pid_tgid()) {
		/* First: the verifier follows what comes behind a walk many times. */
		wait->key.object = object_of(current_task(), wait->parts.ns[OFFCPU_BLOCKED], ctx,
					     PLACE_RESUMED);
		wait->key.user = switched_user_stack(ctx);
	}
	add_wait(pid);
	return 0;
}

/* kernel/sched/core.c, __schedule (6.14): the last thing it does. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(offcpu_resumed)
{
	return resumed(ctx);
}

/* Nearly the same moment on kernels that have no such tracepoint, and allow kprobes. */
SEC("kprobe/finish_task_switch")
int offcpu_finish(void *ctx)
{
	return resumed(ctx);
}

/* What gcc calls it where it has changed its arguments. */
SEC("kprobe/finish_task_switch.isra.0")
int offcpu_finish_isra(void *ctx)
{
	return resumed(ctx);
}

/* Run once when everything is attached: threads that wait already. */
SEC("iter/task")
int seed_waiting(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	/*
	 * For all the same: where threads are many, the last is seen long after the first. As a
	 * double of user space's, which has 53 bits.
	 */
	if (!begun_ns)
		begun_ns = bpf_ktime_get_ns() & ~1023ULL;
	if (!task)
		offcpu_seeded = true;
	else if (task->pid && is_followed(task))
		off_cpu_seed(task,
			     walk_at_switch && !(task->flags & PF_KTHREAD) ? NOT_WALKED : NO_STACK,
			     begun_ns);
	return 0;
}

/* A thread that waits still; its user stack is for user space to walk. */
struct still_waiting {
	struct stack_key key;
	struct offcpu_parts parts;
	struct user_registers registers;
	u32 tid; /* in the caller's PID namespace, whatever the key is by */
	u32 unused_padding;
};

EXPORT_TYPE(struct still_waiting, still_waiting);

/* A wait that ends is filtered by the CPU it ends on; one that does not, by the last one. */
static __always_inline bool was_on_chosen_cpu(struct task_struct *task)
{
	bool chosen = true;

	if (!filter_by_cpu || !has_sched_info)
		return true;
	barrier();
	if (bpf_core_field_exists(task->se.cfs_rq->rq->cpu))
		chosen = filter_has_cpu(task->se.cfs_rq->rq->cpu);
	barrier();
	return chosen;
}

/* Run once after ended_ns was set. */
SEC("iter/task")
int end_waiting(struct bpf_iter__task *ctx)
{
	struct still_waiting waiting = {};
	struct sampled sampled;
	struct scratch *here = scratch_here();
	struct task_struct *task = ctx->task;
	struct cfs_rq *queue;
	struct off_cpu *off;
	u64 duration_ns, blocked_ns, kernel;

	if (!here || !task || !task->pid || task->exit_state || !filter_has_task(task))
		return 0;
	queue = queue_of(task);
	off = off_cpu_of(task);
	if (!off || !off->since_ns || off->since_ns >= ended_ns)
		return 0;
	duration_ns = ended_ns - off->since_ns;
	if (!(walk_wakers || wait_wanted(off, duration_ns)) || !was_on_chosen_cpu(task))
		return 0;
	if (!walk_wakers)
		offcpu_split(task, queue, off, duration_ns, ended_ns - clock_offset_ns,
			     &waiting.parts);
	else if (!choose_blocked(task, queue, off, duration_ns, ended_ns - clock_offset_ns,
				 &waiting.parts, &sampled, &blocked_ns) ||
		 !wait_wanted(off, blocked_ns))
		return 0;
	stack_key_of(task, &waiting.key);
	/* Before the walk, behind which the verifier follows everything many times. */
	waiting.key.object =
		object_of(task, waiting.parts.ns[OFFCPU_BLOCKED], NULL, PLACE_ITERATOR);
	if (with_wakers && !off->preempted)
		waiting.key.waker = kept_waker(&off->waker);
	/* What was not walked as it stopped can be walked from outside. */
	waiting.key.user = off->user_stack == LOST_STACK || off->user_stack == NOT_WALKED
				   ? NO_STACK
				   : off->user_stack;
	kernel = task_kernel_stack(task);
	waiting.key.kernel = keep_stack(here, &here->kernel, kernel);
	if (waiting.key.kernel != kernel)
		count_loss(LOSS_STACKS_FULL);
	read_user_registers(task, &waiting.registers);
	waiting.tid = task_tid(task);
	/* Where the buffer is full, the kernel empties it and calls again for the same task. */
	bpf_seq_write(ctx->meta->seq, &waiting, sizeof(waiting));
	return 0;
}

/* Run while there are ends that nobody was found for yet, and once at the end. */
SEC("iter/task_file")
int find_holders(struct bpf_iter__task_file *ctx)
{
	report_holder(ctx);
	return 0;
}
