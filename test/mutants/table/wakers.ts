/** Who ends waits: offwaketime, wakeuptime, offcputime --by waker. */
import type { Mutation } from '../mutation.js';

export const OF_WAKERS: readonly Mutation[] = [
	{
		id: 'W2',
		file: 'bpf/off_cpu.bpf.c',
		from: '\t\tread_waker(current_task(), &off->waker);\n\t\twalk_waker(ctx',
		to: '\t\tread_waker(task, &off->waker);\n\t\twalk_waker(ctx',
		bug: 'the thread that is woken is named as its waker',
		test: 'live/blocked-time',
		only: 'the thread on the other CPU',
	},
	{
		id: 'W3',
		file: 'bpf/lib/chosen_waits.h',
		from: '\t\tparts->ns[OFFCPU_BLOCKED] = off->blocked.weighed_ns;',
		to: '\t\tparts->ns[OFFCPU_BLOCKED] = duration_ns;',
		bug: 'a sampled wait counts for no more than itself, and the time in the run queue is in it',
		test: 'live/blocked-time',
		only: 'sampled',
	},
	{
		id: 'W5',
		file: 'src/aggregate/stack-rows.ts',
		from: 'of.map((each) => each?.key.pid),',
		to: '[],',
		bug: 'a waker has no number, and reads like the thread that it wakes',
		test: 'live/blocked-time',
		only: 'text says who woke whom',
	},
	{
		id: 'W6',
		file: 'bpf/lib/wait_records.h',
		from: 'return followed_wakers || filter_has_task(task);',
		to: 'return filter_has_task(task);',
		bug: 'waits of wakers outside the filter are not recorded, so that they seem to have run',
		test: 'live/chains',
		only: 'a waker that slept',
	},
	{
		id: 'W7',
		file: 'bpf/lib/chosen_waits.h',
		from: 'u64 begin_ns = off->preempted ? off->since_ns : off->woken_ns;',
		to: 'u64 begin_ns = off->woken_ns;',
		bug: 'a waker that was preempted seems to have run meanwhile',
		test: 'live/chains',
		only: 'what a waker ran',
	},
	{
		id: 'W8',
		file: 'src/aggregate/chains.ts',
		from: 'begin_ns: Math.max(begin, begin_ns),',
		to: 'begin_ns: begin,',
		bug: "a waker's wait counts also for the time before others waited for it",
		test: 'unit/aggregate/chains',
		only: 'only what lies within the wait',
	},
];
