/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What timehist tells user space: one record for a time slice, a wake-up or a migration, as
 * short as what was asked for, in a ring that user space looks into by itself now and then.
 */
#ifndef TSTRACE_TIMEHIST_EVENTS_H
#define TSTRACE_TIMEHIST_EVENTS_H

#include "../kernel.h"
#include "../loss.h"
#include "../pidns.h"

#define TIMEHIST_FRAMES 16

enum timehist_type {
	TIMEHIST_SWITCH,
	TIMEHIST_WAKEUP,
	TIMEHIST_MIGRATE,
	/* It had no CPU quota, for latency_ns of its wait before this time slice. */
	TIMEHIST_THROTTLED,
};

enum timehist_flag {
	/* It was not seen to leave the CPU. */
	TIMEHIST_WAIT_UNKNOWN = 1,
	TIMEHIST_LATENCY_UNKNOWN = 2,
	/* It was not seen to get this CPU. */
	TIMEHIST_RUN_UNKNOWN = 4,
	TIMEHIST_ALL_UNKNOWN = 7,
};

EXPORT_TYPE(enum timehist_type, timehist_type);
EXPORT_TYPE(enum timehist_flag, timehist_flag);

/* The other thread of an event: the next one, the one woken, the one moved. */
const volatile bool with_other = false;
const volatile bool with_stack = false;

struct timehist_event {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u64 wait_ns; /* off the CPU, all in all */
	u64 latency_ns;
	u64 run_ns;
	u32 tgid;
	u32 tid;
	char comm[TASK_COMM_LEN];
	u32 state; /* TASK_*; OFFCPU_RUNNABLE: it could have gone on */
	u16 cpu;
	u8 type;
	u8 flags;
	/* Only with_other. */
	u32 other_tgid;
	u32 other_tid;
	char other_comm[TASK_COMM_LEN];
	u32 from_cpu;
	u32 to_cpu;
	/* Of wake-ups and migrations: what did it; see scheduling/interrupts.h. */
	u32 irq;
	u8 context;
	u8 interrupt;
	bool by_thread;
	/* Only with_stack, leaf first. */
	u64 frames[TIMEHIST_FRAMES];
};

#define BYTES_ALONE	 __builtin_offsetof(struct timehist_event, other_tgid)
#define BYTES_WITH_OTHER __builtin_offsetof(struct timehist_event, frames)

EXPORT_TYPE(struct timehist_event, timehist_event);

/* User space sets the size before loading, and looks by itself now and then: no event wakes it. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* Only as large as what is asked for: the branches that are not taken are gone once loaded. */
static __always_inline struct timehist_event *reserve_event(void)
{
	struct timehist_event *event;

	if (with_stack)
		event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	else if (with_other)
		event = bpf_ringbuf_reserve(&events, BYTES_WITH_OTHER, 0);
	else
		event = bpf_ringbuf_reserve(&events, BYTES_ALONE, 0);
	if (!event)
		count_loss(LOSS_EVENTS_RING_FULL);
	return event;
}

/* With what follows the terminator, which user space leaves out. */
static __always_inline void copy_comm(char *to, struct task_struct *task)
{
	if (current_has_type()) {
		((u64 *)to)[0] = ((u64 *)task->comm)[0];
		((u64 *)to)[1] = ((u64 *)task->comm)[1];
	} else {
		barrier();
		bpf_core_read(to, TASK_COMM_LEN, &task->comm);
		barrier();
	}
}

static __always_inline void about(struct timehist_event *event, struct task_struct *task)
{
	u32 pid = look(task, pid);

	event->tgid = pid ? task_tgid(task) : 0;
	event->tid = pid ? task_tid(task) : 0;
	copy_comm(event->comm, task);
	event->cpu = bpf_get_smp_processor_id();
}

static __always_inline void about_other(struct timehist_event *event, struct task_struct *task)
{
	u32 pid = look(task, pid);

	event->other_tgid = pid ? task_tgid(task) : 0;
	event->other_tid = pid ? task_tid(task) : 0;
	copy_comm(event->other_comm, task);
}

#endif
