import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from '../../../src/aggregate/stack.js';
import type { StackRow } from '../../../src/aggregate/stack-rows.js';
import {
	kindForPrograms,
	mainKind,
	splitByKind,
	waitKind,
} from '../../../src/aggregate/wait-kinds.js';

/** Root first; what stands before the bar is the program's, names in brackets are the C library's. */
function stack(text: string): Frame[] {
	const [user = '', kernel = ''] = text.split('|');
	const words = (part: string) => part.trim().split(/\s+/).filter(Boolean);
	return [
		...words(user).map((name): Frame => {
			const inCLibrary = name.startsWith('(');
			return { name: inCLibrary ? name.slice(1, -1) : name, kind: 'user', inCLibrary };
		}),
		...words(kernel).map((name): Frame => ({ name, kind: 'kernel' })),
	];
}

/** As kernels from 5.10 to 7.2 have them. */
const STACKS: readonly (readonly [kind: string, stack: string])[] = [
	['disk read', 'main (pread) | ksys_pread64 vfs_read iomap_dio_rw __iomap_dio_rw blk_io_schedule'],
	[
		'disk read',
		'| __x64_sys_execve bprm_execve kernel_read filemap_read folio_wait_bit_common io_schedule',
	],
	[
		'disk read',
		'| do_sys_openat2 path_openat link_path_walk ext4_lookup __ext4_find_entry __wait_on_buffer bit_wait_io',
	],
	[
		'disk write',
		'| do_fsync ext4_sync_file blkdev_issue_flush submit_bio_wait wait_for_completion_io',
	],
	[
		'disk write',
		'| ksys_write vfs_write ext4_file_write_iter balance_dirty_pages io_schedule_timeout',
	],
	['disk write', '| do_fsync ext4_sync_file jbd2_log_wait_commit schedule'],
	[
		'disk write',
		'| ret_from_fork kthread kjournald2 jbd2_journal_commit_transaction folio_wait_bit io_schedule',
	],
	['disk write', '| do_fsync __sync_dirty_buffer out_of_line_wait_on_bit'],
	[
		'page fault',
		'main | asm_exc_page_fault do_user_addr_fault handle_mm_fault filemap_fault folio_wait_bit_common',
	],
	[
		'page fault',
		'| ksys_write vfs_write fault_in_readable asm_exc_page_fault filemap_fault io_schedule',
	],
	['swap-in', '| asm_exc_page_fault handle_mm_fault do_swap_page swap_read_folio submit_bio_wait'],
	[
		'memory reclaim',
		'| asm_exc_page_fault try_charge_memcg try_to_free_mem_cgroup_pages shrink_folio_list folio_wait_writeback io_schedule',
	],
	[
		'memory reclaim',
		'| do_syscall_64 exit_to_user_mode_loop mem_cgroup_handle_over_high schedule_timeout_killable',
	],
	['file lock', '| __do_sys_flock locks_lock_inode_wait schedule'],
	[
		'file server',
		'| ksys_read vfs_read fuse_file_read_iter fuse_simple_request request_wait_answer',
	],
	['file server', '| vfs_read nfs_file_read rpc_wait_bit_killable schedule'],
	['socket receive', '| __sys_recvfrom tcp_recvmsg sk_wait_data wait_woken schedule_timeout'],
	['socket send', '| __sys_sendto tcp_sendmsg sk_stream_wait_memory wait_woken'],
	['socket accept', '| __sys_accept4 unix_accept skb_recv_datagram __skb_wait_for_more_packets'],
	['socket connect', '| __sys_connect __inet_stream_connect wait_woken'],
	[
		'unix socket',
		'| __sys_recvfrom sock_recvmsg __unix_dgram_recvmsg __skb_wait_for_more_packets schedule_timeout',
	],
	['unix socket', '| __sys_sendto unix_stream_sendmsg sock_alloc_send_pskb schedule_timeout'],
	['pipe', '| ksys_read vfs_read pipe_read schedule'],
	['poll', '| do_epoll_wait schedule_hrtimeout_range_clock'],
	['poll', '| do_sys_poll poll_schedule_timeout.constprop.0'],
	[
		'lock',
		'f (pthread_mutex_lock) (__lll_lock_wait) | do_futex futex_wait futex_wait_queue schedule',
	],
	[
		'condition',
		'f (pthread_cond_wait@@GLIBC_2.3.2) (__futex_abstimed_wait_common) | do_futex futex_wait schedule',
	],
	// What is further in has no name, or was put into its caller.
	['condition', 'f (sem_clockwait@@GLIBC_2.34) | do_futex futex_wait schedule'],
	['lock', 'f (pthread_mutex_clocklock@GLIBC_2.30) | do_futex futex_wait schedule'],
	['futex', 'main.park runtime.futex | do_futex futex_wait futex_wait_queue_me'],
	[
		'lock',
		'run (__pthread_rwlock_rdlock) (__futex_abstimed_wait_common) | do_futex futex_wait schedule',
	],
	// Without the C library's debug file: sem_wait, malloc, and a program's own call.
	['condition', 'work (libc.so.6+0x8ac40) | do_futex futex_wait schedule'],
	['lock', 'work (malloc) (libc.so.6+0x8a120) | do_futex futex_wait schedule'],
	['futex', 'work (syscall) | do_futex futex_wait schedule'],
	// Its caller is missing.
	['condition', '(__futex_abstimed_wait_common) | do_futex futex_wait schedule'],
	[
		'lock',
		'ObjectMonitor::EnterI(JavaThread*) os::PlatformEvent::park() (pthread_cond_wait) | do_futex futex_wait',
	],
	[
		'sleep',
		'JavaThread::sleep(long) os::PlatformEvent::park_nanos(long) (pthread_cond_timedwait) | do_futex futex_wait',
	],
	[
		'lock',
		'LockAcquireExtended ProcSleep WaitLatch (epoll_wait) | do_epoll_wait schedule_hrtimeout_range',
	],
	[
		'lock',
		'_PyEval_EvalFrameDefault take_gil (pthread_cond_timedwait) | do_futex futex_wait schedule',
	],
	// Not while it waits for a disk.
	[
		'disk write',
		'LWLockAcquire XLogWrite (fdatasync) | do_fsync ext4_sync_file blkdev_issue_flush submit_bio_wait',
	],
	[
		'lock',
		'f (pthread_cond_wait) (__pthread_mutex_cond_lock) (__lll_lock_wait) | do_futex futex_wait schedule',
	],
	// Readers of file systems of others wait for the page, too.
	[
		'file server',
		'| vfs_read nfs_file_read generic_file_read_iter filemap_read folio_wait_bit_common io_schedule',
	],
	[
		'file server',
		'| do_fsync nfs_file_fsync file_write_and_wait_range folio_wait_writeback io_schedule',
	],
	[
		'file server',
		'| ksys_read vfs_read fuse_file_read_iter filemap_read folio_wait_bit_common io_schedule',
	],
	['event', '| ksys_read vfs_read fuse_dev_read fuse_dev_do_read schedule'],
	[
		'page fault',
		'| asm_exc_page_fault handle_mm_fault shmem_fault shmem_get_folio_gfp handle_userfault schedule',
	],
	['file server', '| do_filp_open vfs_open fanotify_handle_event fanotify_get_response schedule'],
	[
		'memory reclaim',
		'| handle_mm_fault do_swap_page migration_entry_wait migration_entry_wait_on_locked io_schedule',
	],
	['kernel thread', '| ret_from_fork kthread md_thread schedule_timeout'],
	['other: dm_wait_event', '| __x64_sys_ioctl ctl_ioctl dev_wait dm_wait_event schedule'],
	['kernel thread', '| ret_from_fork kthread nfs4_callback_svc svc_recv schedule'],
	['kernel thread', '| ret_from_fork io_wq_worker schedule_timeout'],
	[
		'disk read',
		'| ret_from_fork io_wq_worker io_read ext4_file_read_iter filemap_read io_schedule',
	],
	[
		'disk write',
		'| asm_exc_page_fault handle_mm_fault fault_dirty_shared_page balance_dirty_pages io_schedule_timeout',
	],
	[
		'disk write',
		'| handle_mm_fault ext4_page_mkwrite start_this_handle wait_transaction_locked schedule',
	],
	[
		'disk read',
		'| do_unlinkat lookup_one_qstr_excl ext4_lookup __ext4_find_entry __wait_on_buffer',
	],
	[
		'disk write',
		'| shrink_dcache_for_umount evict truncate_inode_pages_final folio_wait_writeback io_schedule',
	],
	['disk write', '| vfs_truncate do_truncate ext4_setattr inode_dio_wait schedule'],
	[
		'kernel lock',
		'| ksys_write anon_pipe_write rt_spin_lock rtlock_slowlock_locked schedule_rtlock',
	],
	['lock', '| do_futex futex_wait_requeue_pi rt_mutex_wait_proxy_lock schedule'],
	['child', '| __do_sys_vfork _do_fork wait_for_completion_killable schedule_timeout'],
	[
		'other: copy_net_ns',
		'| __do_sys_clone kernel_clone copy_process copy_net_ns wait_for_completion',
	],
	[
		'lock',
		'ObjectMonitor::EnterI(JavaThread*) os::PlatformEvent::park() (pthread_cond_wait) | futex_wait',
	],
	[
		'sleep',
		'JavaThread::sleep(long) os::PlatformEvent::park_nanos(long) (pthread_cond_timedwait) | futex_wait',
	],
	// A function of the program, not of the C library.
	['futex', 'pthread_mutex_lock syscall_stub | do_futex futex_wait schedule'],
	['lock', '| do_futex futex_lock_pi rt_mutex_wait_proxy_lock schedule'],
	['kernel lock', '| vm_mmap_pgoff down_write_killable rwsem_down_write_slowpath'],
	// The pipe's own lock, not its bytes.
	['kernel lock', '| ksys_write pipe_write __mutex_lock.constprop.0 schedule_preempt_disabled'],
	['sleep', '| __x64_sys_clock_nanosleep common_nsleep hrtimer_nanosleep do_nanosleep'],
	['child', '| kernel_wait4 do_wait schedule'],
	['child', '| __do_sys_vfork kernel_clone wait_for_vfork_done wait_for_completion_state'],
	['stopped', '| get_signal do_signal_stop schedule'],
	['kernel thread', '| ret_from_fork_asm ret_from_fork kthread worker_thread schedule'],
	['kernel thread', '| ret_from_fork kthread rcu_tasks_kthread rcu_tasks_one_gp schedule'],
	['kernel thread', '| ret_from_fork_asm ret_from_fork kthreadd schedule'],
	['other: flush_it', '| kthread worker_thread process_one_work flush_it wait_for_completion'],
	['other: drm_wait_vblank', '| __x64_sys_ioctl drm_ioctl drm_wait_vblank schedule_timeout'],
	['other: no kernel stack', 'main |'],
];

for (const [kind, text] of STACKS) {
	test(`${kind}: ${text}`, () => {
		assert.equal(waitKind(stack(text)), kind);
	});
}

const PARTS = ['blocked', 'run queue', 'preempted', 'throttled'];

function row(parts: readonly number[], variance = 0): StackRow {
	const frames = stack('| ksys_read pipe_read schedule');
	const value = parts.reduce((sum, part) => sum + part, 0);
	return { key: { comm: 'a' }, frames, parts, value, count: 1, variance };
}

test('the kind of a row is that of most of its time', () => {
	assert.equal(mainKind(row([5, 4, 0, 0]), { parts: PARTS }), 'pipe');
	assert.equal(mainKind(row([4, 5, 0, 0]), { parts: PARTS }), 'run queue');
	assert.equal(mainKind(row([1, 2, 3, 4]), { parts: PARTS }), 'CPU quota');
});

test('a row by kind: its parts apart, which add up to it', () => {
	const findings = { kind: 'stacks', unit: 'ns', about: {}, noun: 'wait', notices: [] } as const;
	const rows = splitByKind({ ...findings, parts: PARTS, stacks: [row([40, 30, 20, 10], 100)] });
	assert.deepEqual(
		rows.map(({ key, value }) => [key.kind, key.comm, value]),
		[
			['pipe', 'a', 40],
			['run queue', 'a', 30],
			['preempted', 'a', 20],
			['CPU quota', 'a', 10],
		],
	);
	assert.deepEqual(
		rows.map(({ variance }) => Math.round(variance)),
		[16, 9, 4, 1],
	);
});

test('for programs a kind is one word; the function of one that no rule is about stands apart', () => {
	assert.deepEqual(kindForPrograms('swap-in'), { kind: 'swap_in' });
	assert.deepEqual(kindForPrograms('virtual CPU'), { kind: 'virtual_cpu' });
	assert.deepEqual(kindForPrograms('other: do_it'), { kind: 'other', at: 'do_it' });
});
