/** What folded stacks are taken for: by where they end, and how many of them do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Origin } from '../../../../src/aggregate/stack-profile.js';
import { withGuessedOrigin } from '../../../../src/converters/flamegraph/guess.js';
import { type Counts, profileOfStacks } from '../../profiles.js';

const guessed = (counts: Counts, origin: Origin = {}) =>
	withGuessedOrigin(profileOfStacks(counts, origin), () => undefined).origin;
const OFF_CPU = { tool: 'offcputime', unit: 'us' };

/** Functions in which threads leave the CPU, of all that a kernel has for it. */
const LEAVES =
	`schedule __schedule io_schedule io_schedule_timeout preempt_schedule_irq finish_task_switch.isra.0
	poll_schedule_timeout.constprop.0 do_nanosleep futex_wait_queue futex_do_wait do_wait wait_woken
	__wait_for_common wait_for_completion_interruptible __wait_on_bit out_of_line_wait_on_bit bit_wait_io
	folio_wait_bit_common wait_on_page_bit __wait_rcu_gp rwsem_down_read_slowpath __mutex_lock.constprop.0
	__down_interruptible __rt_mutex_slowlock rtlock_slowlock percpu_rwsem_wait do_epoll_wait ep_poll do_poll
	do_select do_sys_poll io_cqring_wait read_events do_sigtimedwait sigsuspend do_signal_stop ptrace_stop
	usleep_range_state msleep_interruptible worker_thread kthreadd kthread_worker_fn smpboot_thread_fn
	rcu_gp_kthread rcu_tasks_one_gp kswapd kcompactd khugepaged kdamond_fn jbd2_log_wait_commit kjournald2 irq_thread
	inet_csk_accept pipe_read anon_pipe_read pipe_write unix_stream_data_wait sk_wait_data
	exit_to_user_mode_loop irqentry_exit_to_user_mode`.split(/\s+/);

test('stacks that end where threads leave the CPU are of threads off the CPU', () => {
	for (const leaf of LEAVES) {
		assert.deepEqual(guessed({ [`app;main;${leaf}`]: 5 }), OFF_CPU, leaf);
		assert.deepEqual(guessed({ [`app;main;${leaf};memcpy`]: 5 }), {}, 'only at the end');
		assert.deepEqual(guessed({ [`app;main;my${leaf}`]: 5 }), {}, `my${leaf}`);
	}
});

test('four fifths of what was counted have to end there, however many stacks that is', () => {
	assert.deepEqual(guessed({ 'a;schedule': 80, b: 5, c: 5, d: 10 }), OFF_CPU);
	assert.deepEqual(guessed({ 'a;schedule': 79, b: 21 }), {});
	assert.deepEqual(guessed({ 'a;schedule': 1, 'b;schedule': 1, c: 10 }), {});
	assert.deepEqual(guessed({}), {});
});

test('what says what it is is not guessed', () => {
	for (const origin of [{ tool: 'perf' }, { event: 'cycles' }, { unit: 'samples' }])
		assert.deepEqual(guessed({ 'a;schedule': 1 }, origin), origin);
});
