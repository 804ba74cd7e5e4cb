/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* profile: what runs, sampled by a perf event on each CPU, which user space opens. */
#include "lib/filter.h"
#include "lib/kernel.h"
#include "lib/loss.h"
#include "lib/stacks/stacks.h"
#include "lib/stacks/sums.h"
#include "lib/stacks/walk.h"
#include "lib/window.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile bool include_idle = false;
/* What a sample counts as: more than 1 once user space has lowered the rate while tracing. */
volatile u64 sample_weight;

SEC("perf_event")
int profile_sample(void *ctx)
{
	struct task_struct *task = current_task();
	struct scratch *here = scratch_here();
	struct stack_key key = {};
	struct stack_sum *sum;

	if ((!look(task, pid) && !include_idle) || !filter_has(task))
		return 0;
	stack_key_of(task, &key);
	key.kernel = current_kernel_stack(ctx, here);
	key.user = current_user_stack(ctx, here);
	sum = sum_of(&key);
	if (!sum)
		return 0;
	add_to(&sum->count, ONE);
	add_to(&sum->parts[0], sample_weight);
	return 0;
}
