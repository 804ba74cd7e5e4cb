/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What a CPU is executing: its current thread, or an interrupt that has nothing to do with that
 * thread. Ask here before you say that the thread did something.
 *
 * The kernel's preempt_count says whether it is an interrupt. Programs at the tracepoints where
 * interrupts begin and end keep, by CPU, what the interrupt serves. Without preempt_count only
 * these programs know of interrupts, and they do not see those between CPUs.
 */
#ifndef TSTRACE_SCHEDULING_INTERRUPTS_H
#define TSTRACE_SCHEDULING_INTERRUPTS_H

#include "../kernel.h"
#include "preempt_count.h"

enum cpu_context_kind {
	CONTEXT_THREAD,
	CONTEXT_SOFTIRQ,
	CONTEXT_HARDIRQ,
	/* A thread that is leaving its CPU, for which the scheduler takes threads from others. */
	CONTEXT_SCHEDULER,
};

enum interrupt {
	INTERRUPT_OTHER,
	INTERRUPT_TIMER,
	INTERRUPT_NETWORK,
	INTERRUPT_BLOCK,
	INTERRUPT_TASKLET,
	INTERRUPT_BALANCE,
	INTERRUPT_RCU,
	INTERRUPT_DEVICE,
};

EXPORT_TYPE(enum cpu_context_kind, cpu_context_kind);
EXPORT_TYPE(enum interrupt, interrupt);

/* What a CPU is executing. */
struct cpu_context {
	u8 kind; /* enum cpu_context_kind */
	u8 interrupt;
	/* It is the current thread that does it, in an interrupt's context or not. */
	bool by_thread;
	u32 irq; /* number of a device's interrupt */
};

/* include/linux/interrupt.h */
enum softirq {
	SOFTIRQ_HI,
	SOFTIRQ_TIMER,
	SOFTIRQ_NET_TX,
	SOFTIRQ_NET_RX,
	SOFTIRQ_BLOCK,
	SOFTIRQ_IRQ_POLL,
	SOFTIRQ_TASKLET,
	SOFTIRQ_SCHED,
	SOFTIRQ_HRTIMER,
	SOFTIRQ_RCU,
	SOFTIRQ_NONE,
};

/* Nobody's PID: several, or an interrupt. */
#define NOT_A_THREAD 0xffffffff

struct interrupts {
	u32 softirq; /* plus 1; 0: none is being served */
	u32 irq;     /* the same, of a device's */
	u32 timer;   /* an hrtimer expires, in a hard interrupt */
	/* PID of the thread that wants received packets to be looked at; 0: nobody does. */
	u32 raised_by;
	/* The same, of those that are being looked at. */
	u32 serves;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct interrupts);
} interrupts SEC(".maps");

static __always_inline u8 interrupt_of(u32 softirq)
{
	switch (softirq) {
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		return INTERRUPT_TIMER;
	case SOFTIRQ_NET_TX:
	case SOFTIRQ_NET_RX:
		return INTERRUPT_NETWORK;
	case SOFTIRQ_BLOCK:
	case SOFTIRQ_IRQ_POLL:
		return INTERRUPT_BLOCK;
	case SOFTIRQ_HI:
	case SOFTIRQ_TASKLET:
		return INTERRUPT_TASKLET;
	case SOFTIRQ_SCHED:
		return INTERRUPT_BALANCE;
	case SOFTIRQ_RCU:
		return INTERRUPT_RCU;
	default:
		return INTERRUPT_OTHER;
	}
}

static __always_inline struct interrupts *this_cpus_interrupts(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&interrupts, &zero);
}

/* What this CPU is executing, `current` being its thread. */
static __always_inline void read_cpu_context(struct task_struct *current,
					     struct cpu_context *context)
{
	struct interrupts *now;
	bool hard, soft;
	u32 count;

	context->kind = CONTEXT_THREAD;
	context->interrupt = INTERRUPT_OTHER;
	context->by_thread = true;
	context->irq = 0;
	if (read_preempt_count(current, &count) && !(count & (in_hardirq | SERVING_SOFTIRQ)))
		return;
	now = this_cpus_interrupts();
	if (!now)
		return;
	hard = count ? count & in_hardirq : now->timer || now->irq;
	soft = count ? true : now->softirq;
	if (hard) {
		context->kind = CONTEXT_HARDIRQ;
		context->by_thread = false;
		/* Some timers are devices' interrupts, too. */
		if (now->timer) {
			context->interrupt = INTERRUPT_TIMER;
		} else if (now->irq) {
			context->interrupt = INTERRUPT_DEVICE;
			context->irq = now->irq - 1;
		}
	} else if (soft) {
		context->kind = CONTEXT_SOFTIRQ;
		context->interrupt = interrupt_of(now->softirq - 1);
		/*
		 * A thread that sends to its own machine puts packets where the network's softirq
		 * looks for them, wants it to look, and serves it itself at the end of its call.
		 */
		context->by_thread = now->softirq == SOFTIRQ_NET_RX + 1 && now->serves &&
				     now->serves == (u32)look(current, pid);
	}
}

/* The same, as a thread is moved: one that leaves its CPU idle does not do that on its own behalf.
 */
static __always_inline void read_mover_context(struct task_struct *current,
					       struct cpu_context *context)
{
	read_cpu_context(current, context);
	if (context->kind == CONTEXT_THREAD && look(current, pid) && !is_on_queue(current)) {
		context->kind = CONTEXT_SCHEDULER;
		context->by_thread = false;
	}
}

/*
 * Threads that serve softirqs: kernel/softirq.c. Where an interrupt ends, it is none for the kernel
 * any more when it wakes them; real-time kernels leave them most softirqs.
 */
static __always_inline bool serves_softirqs(struct task_struct *task)
{
	static const char all[8] = "ksoftirq", timers[8] = "ktimers/";
	u64 name = 0;

	if (!(task->flags & PF_KTHREAD))
		return false;
	bpf_core_read(&name, sizeof(name), &task->comm);
	return name == *(const u64 *)all || name == *(const u64 *)timers;
}

/* The same, as a thread is woken. */
static __always_inline void read_waker_context(struct task_struct *current,
					       struct task_struct *woken,
					       struct cpu_context *context)
{
	read_cpu_context(current, context);
	if (context->kind == CONTEXT_THREAD && serves_softirqs(woken)) {
		context->kind = CONTEXT_HARDIRQ;
		context->by_thread = false;
	}
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raise, unsigned int softirq)
{
	struct interrupts *now = this_cpus_interrupts();
	struct task_struct *current = current_task();
	struct cpu_context context;
	u32 raiser;

	if (softirq != SOFTIRQ_NET_RX || !now)
		return 0;
	read_cpu_context(current, &context);
	raiser = context.kind == CONTEXT_THREAD ? (u32)look(current, pid) : 0;
	if (!raiser || (now->raised_by && now->raised_by != raiser))
		raiser = NOT_A_THREAD;
	now->raised_by = raiser;
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int softirq)
{
	struct interrupts *now = this_cpus_interrupts();

	if (!now)
		return 0;
	now->softirq = softirq + 1;
	if (softirq == SOFTIRQ_NET_RX) {
		now->serves = now->raised_by;
		now->raised_by = 0;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit)
{
	struct interrupts *now = this_cpus_interrupts();

	if (now)
		now->softirq = 0;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_entry, int irq)
{
	struct interrupts *now = this_cpus_interrupts();

	if (now)
		now->irq = irq + 1;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_exit)
{
	struct interrupts *now = this_cpus_interrupts();

	if (now)
		now->irq = 0;
	return 0;
}

/* Some expire in a softirq, which may be interrupted by a device. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_entry)
{
	struct interrupts *now = this_cpus_interrupts();
	u32 count;

	if (now)
		now->timer = read_preempt_count(current_task(), &count)
				     ? (count & in_hardirq) != 0
				     : now->softirq != SOFTIRQ_HRTIMER + 1;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(hrtimer_exit)
{
	struct interrupts *now = this_cpus_interrupts();

	if (now)
		now->timer = 0;
	return 0;
}

#endif
