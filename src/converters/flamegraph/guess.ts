/** What stacks are of, where they do not say it. */
import type { Origin, StackProfile } from '../../aggregate/stack-profile.js';
import type { Notify } from '../../input/format-reader.js';

/**
 * Where threads leave the CPU: kernel/sched/core.c, and what calls it to wait, as the call itself need not be
 * in a stack. Running threads are hardly ever in one of these with nothing above it.
 */
const LEAVES_CPU = new RegExp(
	`^(${[
		'_*schedule|io_schedule|preempt_schedule|finish_task_switch|poll_schedule|do_nanosleep',
		'futex_wait|futex_do_wait|do_wait|wait_woken|_*wait_for_common|wait_for_completion|_*wait_on_bit',
		'bit_wait|out_of_line_wait|folio_wait|wait_on_page|_*wait_rcu|rwsem_down|_*mutex_lock|_*down',
		'_*rt_mutex|rtlock|percpu_rwsem_wait|do_epoll_wait|ep_poll|do_poll|do_select|do_sys_poll',
		'io_cqring_wait|read_events|do_sigtimedwait|sigsuspend|do_signal_stop|ptrace_stop|usleep_range',
		'msleep|worker_thread|kthreadd|kthread_worker_fn|smpboot_thread_fn|rcu_gp|rcu_tasks|kswapd',
		'kcompactd|khugepaged|kdamond|jbd2|kjournald2|irq_thread|inet_csk_accept|(anon_)?pipe_read',
		'(anon_)?pipe_write|unix_stream_data_wait|sk_wait|exit_to_user_mode|irqentry_exit_to_user_mode',
	].join('|')})(_|\\.|$)`,
);
/** Of what was counted. */
const MOST = 0.8;

/**
 * Folded stacks say neither what was counted nor in which unit. Those that end in the scheduler are of
 * threads off the CPU, and offcputime, of tstrace and of bcc, counts microseconds.
 */
export function withGuessedOrigin(profile: StackProfile, notify: Notify): StackProfile {
	const { frames, stacks, origin } = profile;
	if (!isUnsaid(origin)) return profile;
	const leaves = Array.from({ length: frames.size }, (_, i) => LEAVES_CPU.test(frames.name(i)));
	let total = 0;
	let offCpu = 0;
	for (const [stack, value] of stacks.values().entries()) {
		total += value;
		if (leaves[stacks.frameAt(stack, stacks.depth(stack) - 1)]) offCpu += value;
	}
	if (total === 0 || offCpu / total < MOST) return profile;
	notify(
		'drawn as off-CPU time in us, because the stacks end where threads wait; if that is wrong, give ' +
			'--title, --colors and --countname',
	);
	return { ...profile, origin: { tool: 'offcputime', unit: 'us' } };
}

/** Whether a recording does not say what was counted, nor in which unit. */
export function isUnsaid({ tool, event, unit }: Origin): boolean {
	return tool === undefined && event === undefined && unit === undefined;
}
