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
		file: 'bpf/off_cpu.bpf.c',
		from: '\t\tparts->ns[OFFCPU_BLOCKED] = off->blocked.weighed_ns;',
		to: '\t\tparts->ns[OFFCPU_BLOCKED] = duration_ns;',
		bug: 'a sampled wait counts for no more than itself, and the time in the run queue is in it',
		test: 'live/blocked-time',
		only: 'sampled',
	},
	{
		id: 'W5',
		file: 'src/aggregate/stack-rows.ts',
		from: 'of.map((row) => row.waker?.key.pid),',
		to: '[],',
		bug: 'a waker has no number, and reads like the thread that it wakes',
		test: 'live/blocked-time',
		only: 'text says who woke whom',
	},
	{
		id: 'N6',
		file: 'src/waits/waits.ts',
		from: 'ended.map(woken(UNSEEN_WAKER))',
		to: 'ended',
		bug: 'nobody is named where the waker was not seen',
		test: 'live/wakers-unseen',
	},
];
