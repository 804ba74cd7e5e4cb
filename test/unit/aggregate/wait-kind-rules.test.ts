/**
 * The tables of kinds of waits, one function at a time: where it is in the kernel's source says for what it waits, and a
 * function that only ends like it is another one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame } from '../../../src/aggregate/stack.js';
import { waitKind } from '../../../src/aggregate/wait-kinds.js';

const kernel = (...names: string[]): Frame[] => names.map((name) => ({ name, kind: 'kernel' }));
const user = (name: string, inCLibrary = false): Frame => ({ name, kind: 'user', inCLibrary });
const words = (text: string) => text.trim().split(/\s+/);

/** Functions that wait, by what for. */
const WAITS: Readonly<Record<string, string>> = {
	disk: `io_schedule io_schedule_timeout blk_io_schedule wait_for_completion_io wait_for_completion_io_timeout
		folio_wait_bit folio_wait_bit_common wait_on_page_bit folio_lock __folio_lock __lock_page lock_page_killable
		__wait_on_buffer __wait_on_bit_lock bit_wait_io submit_bio_wait blk_wait_io blk_mq_get_tag
		__blk_mq_alloc_requests blk_execute_rq rq_qos_wait wbt_wait __bio_queue_enter blk_queue_enter
		iomap_dio_rw __iomap_dio_rw blkdev_direct_IO __blkdev_direct_IO_simple dio_await_completion
		__blockdev_direct_IO inode_dio_wait xfs_buf_iowait dm_io sync_io md_super_wait md_write_start
		raid5_get_active_stripe raid1_write_request wait_barrier`,
	'disk write': `jbd2_log_wait_commit wait_transaction_locked start_this_handle do_get_write_access
		xlog_wait_on_iclog xfs_log_force_seq btrfs_commit_transaction btrfs_wait_ordered_range wait_current_trans
		blkdev_issue_flush wb_wait_for_completion balance_dirty_pages balance_dirty_pages_ratelimited_flags
		__filemap_fdatawait_range filemap_fdatawait_range __sync_dirty_buffer fsync_buffers_list
		sync_mapping_buffers write_dirty_buffer folio_wait_writeback wait_on_page_writeback`,
	'page fault': 'handle_userfault',
	'memory reclaim': `mem_cgroup_handle_over_high __mem_cgroup_handle_over_high mem_cgroup_oom_synchronize
		reclaim_throttle throttle_direct_reclaim congestion_wait wait_iff_congested try_to_free_pages
		try_to_free_mem_cgroup_pages do_try_to_free_pages migration_entry_wait pmd_migration_entry_wait
		__migration_entry_wait migration_entry_wait_on_locked`,
	'file lock': `locks_lock_inode_wait posix_lock_inode_wait flock_lock_inode_wait do_lock_file_wait fcntl_setlk
		fcntl_setlk64 __do_sys_flock __x64_sys_flock __arm64_sys_flock __break_lease`,
	'file server': `request_wait_answer fuse_simple_request __fuse_simple_request fuse_get_req
		rpc_wait_bit_killable __rpc_execute nfs_wait_bit_killable nfs4_wait_clnt_recover wait_for_response
		compound_send_recv p9_client_rpc p9_virtio_zc_request ceph_mdsc_wait_request ceph_osdc_wait_request
		ceph_wait_on_async_create netfs_wait_for_read afs_wait_for_call_to_complete fanotify_get_response
		fanotify_handle_event`,
	'socket receive': `sk_wait_data __skb_wait_for_more_packets __skb_recv_udp skb_recv_datagram tcp_recvmsg
		udp_recvmsg udpv6_recvmsg raw_recvmsg rawv6_recvmsg ping_recvmsg packet_recvmsg netlink_recvmsg inet_recvmsg
		inet6_recvmsg sctp_recvmsg vsock_connectible_recvmsg tipc_recvmsg tipc_recvstream_recvmsg xsk_recvmsg
		mptcp_recvmsg tls_sw_recvmsg tls_sw_splice_read tcp_splice_read sock_recvmsg __sys_recvfrom ___sys_recvmsg`,
	'socket send': `sk_stream_wait_memory sk_stream_wait_close sock_alloc_send_pskb sock_alloc_send_skb
		sock_wait_for_wmem tcp_sendmsg_locked udp_sendmsg udpv6_sendmsg raw_sendmsg packet_sendmsg netlink_sendmsg
		inet_sendmsg inet6_sendmsg sctp_sendmsg vsock_connectible_sendmsg tipc_sendmsg mptcp_sendmsg tls_sw_sendmsg
		tls_device_sendpage tcp_close __tcp_close inet_shutdown sock_sendmsg __sys_sendto ___sys_sendmsg`,
	'socket accept': `unix_accept inet_csk_accept inet_csk_wait_for_connect inet_accept do_accept vsock_accept
		__sys_accept4 __sys_accept4_file`,
	'socket connect': `inet_stream_connect __inet_stream_connect inet_wait_for_connect __sys_connect
		__sys_connect_file tcp_v4_connect tcp_v6_connect sk_stream_wait_connect vsock_connect`,
	'unix socket':
		'unix_stream_read_generic unix_dgram_sendmsg unix_wait_for_peer __unix_dgram_recvmsg',
	pipe: `pipe_read pipe_write anon_pipe_read anon_pipe_write pipe_wait pipe_wait_readable fifo_open
		wait_for_partner splice_from_pipe splice_pipe_to_pipe wait_for_space vmsplice_to_pipe ipipe_prep opipe_prep
		link_pipe`,
	poll: `ep_poll do_epoll_wait do_epoll_pwait __x64_sys_epoll_pwait __arm64_sys_epoll_pwait do_sys_poll do_poll
		do_select do_pselect core_sys_select poll_schedule_timeout do_restart_poll`,
	io_uring: `io_cqring_wait io_uring_cancel_generic io_wq_put_and_exit io_sq_thread_park __do_sys_io_uring_enter
		__arm64_sys_io_uring_enter read_events __x64_sys_io_getevents __arm64_sys_io_pgetevents do_io_getevents`,
	'kernel thread': 'io_wq_worker io_wqe_worker io_sq_thread',
	lock: 'futex_lock_pi futex_lock_pi_atomic futex_wait_requeue_pi',
	futex: `futex_wait __futex_wait futex_wait_queue_me futex_do_wait do_futex __x64_sys_futex
		__arm64_sys_futex_wait`,
	'kernel lock': `mutex_lock __mutex_lock mutex_lock_interruptible ww_mutex_lock __ww_mutex_lock
		rwsem_down_read_slowpath rwsem_down_write_slowpath down __down __down_common down_interruptible down_read
		down_write_killable rt_mutex_lock __rt_mutex_slowlock_locked rt_spin_lock rt_read_lock rt_write_lock
		rtlock_slowlock_locked rwbase_write_lock __rwbase_read_lock percpu_down_write __percpu_down_read
		percpu_rwsem_wait __lock_sock __lock_sock_fast lock_sock_nested synchronize_rcu synchronize_rcu_expedited
		synchronize_srcu __synchronize_srcu __wait_rcu_gp rcu_barrier rcu_barrier_tasks __wait_on_freeing_inode
		d_alloc_parallel cgroup_lock_and_drain_offline cgroup_kn_lock_live cpus_read_lock`,
	sleep: `do_nanosleep hrtimer_nanosleep common_nsleep common_nsleep_timens alarm_timer_nsleep
		alarmtimer_do_nsleep msleep msleep_interruptible usleep_range usleep_range_state`,
	child: `do_wait __do_wait kernel_wait kernel_wait4 kernel_waitid __do_sys_wait4 __do_sys_waitid
		wait_for_vfork_done kernel_clone _do_fork`,
	signal: `do_sigtimedwait sigsuspend __do_sys_rt_sigtimedwait __x64_sys_rt_sigsuspend
		__arm64_sys_rt_sigtimedwait __do_sys_pause __x64_sys_pause`,
	stopped: `ptrace_stop do_signal_stop do_jobctl_trap do_freezer_trap __refrigerator cgroup_enter_frozen`,
	event: `eventfd_read eventfd_write timerfd_read timerfd_read_iter signalfd_dequeue signalfd_read inotify_read
		fanotify_read userfaultfd_read perf_read fuse_dev_do_read fuse_uring_send_in_task`,
	terminal: `n_tty_read n_tty_write tty_wait_until_sent tty_write_lock iterate_tty_write vt_waitactive
		wait_until_sent do_con_write`,
	IPC: `do_semtimedop __do_semtimedop do_semop do_msgrcv do_msgsnd do_mq_timedreceive do_mq_timedsend wq_sleep`,
	'virtual CPU': 'kvm_vcpu_block kvm_vcpu_halt kvm_vcpu_check_block kvm_arch_vcpu_ioctl_run',
};

test('the kind of each function of the kernel that waits, and of no other', () => {
	for (const [kind, names] of Object.entries(WAITS))
		for (const name of words(names)) {
			assert.equal(waitKind(kernel(name, 'schedule')), kind, name);
			assert.equal(waitKind(kernel(`my_${name}`, 'schedule')), `other: my_${name}`);
		}
});

/** Further out than the wait for a disk: what the disk was wanted for. */
const PURPOSES: Readonly<Record<string, string>> = {
	'memory reclaim': `try_to_free_pages do_try_to_free_pages shrink_node shrink_node_memcgs shrink_lruvec
		shrink_slab shrink_folio_list shrink_page_list shrink_inactive_list shrink_active_list shrink_zones shrink_one
		shrink_many reclaim_throttle throttle_direct_reclaim mem_cgroup_out_of_memory mem_cgroup_oom_synchronize
		mem_cgroup_handle_over_high __mem_cgroup_handle_over_high try_charge_memcg obj_cgroup_charge
		__alloc_pages_direct_reclaim __alloc_pages_direct_compact compact_zone compact_zone_order congestion_wait
		wait_iff_congested out_of_memory __migration_entry_wait`,
	'swap-in': `do_swap_page swap_readpage swap_read_folio swapin_readahead read_swap_cache_async
		swap_cluster_readahead shmem_swapin shmem_swapin_folio`,
	'page fault': `asm_exc_page_fault exc_page_fault do_user_addr_fault do_page_fault do_translation_fault
		do_mem_abort handle_mm_fault filemap_fault fault_in_readable fixup_user_fault`,
	'disk write': `jbd2_journal_commit_transaction kjournald2 xlog_cil_push_work xfs_log_force xfsaild
		btrfs_commit_transaction blkdev_issue_discard balance_dirty_pages wb_workfn wb_writeback
		writeback_sb_inodes __filemap_fdatawait_range filemap_write_and_wait_range file_write_and_wait_range
		do_writepages pageout swap_writepage do_fsync vfs_fsync vfs_fsync_range __x64_sys_fsync __arm64_sys_fdatasync
		__x64_sys_sync __x64_sys_syncfs __x64_sys_msync __x64_sys_write __x64_sys_writev __x64_sys_pwritev2
		__arm64_sys_pwrite64 ksys_sync ksys_sync_file_range ksys_write ksys_pwrite64 do_writev do_pwritev vfs_write
		vfs_writev do_iter_write iterate_supers sync_filesystem sync_inodes_sb ext4_sync_file xfs_file_write_iter
		generic_file_write_iter blkdev_write_iter truncate_inode_pages truncate_inode_pages_range vfs_truncate
		vfs_fallocate vfs_unlink vfs_rename vfs_mkdir vfs_rmdir vfs_link vfs_symlink vfs_create do_unlinkat
		do_renameat2 do_mkdirat do_rmdir do_linkat do_symlinkat filename_unlinkat`,
	'disk read': `do_readv do_preadv vfs_read vfs_readv ksys_read ksys_pread64 ksys_readahead __kernel_read
		kernel_read kernel_read_file filemap_read filemap_get_pages filemap_update_page filemap_splice_read
		generic_file_read_iter generic_file_buffered_read generic_file_splice_read blkdev_read_iter
		xfs_file_read_iter read_cache_folio do_read_cache_folio iterate_dir __ext4_find_entry ext4_readdir ext4_bread
		ext4_find_entry ext4_lookup ext4_iget ext4_read_bh ext4_get_inode_loc __bread_gfp bh_read link_path_walk
		path_openat path_lookupat lookup_slow __lookup_slow walk_component do_filp_open bprm_execve load_elf_binary
		copy_splice_read xfs_dir_lookup xfs_iget xfs_buf_read_map btrfs_search_slot btrfs_read_folio
		btrfs_lookup_dentry`,
};

test('what a disk was waited for, by each function that tells it', () => {
	for (const [kind, names] of Object.entries(PURPOSES))
		for (const name of words(names))
			assert.equal(waitKind(kernel(name, 'folio_wait_bit', 'io_schedule')), kind, name);
	// Device mapper and md read by these, and write.
	for (const name of ['sync_io', 'sync_page_io'])
		assert.equal(waitKind(kernel('vfs_read', name, 'submit_bio_wait')), 'disk read', name);
	// Who asked for a page says more than that it is written.
	assert.equal(waitKind(kernel('vfs_read', 'folio_wait_writeback', 'io_schedule')), 'disk read');
	assert.equal(waitKind(kernel('ioctl_x', 'folio_wait_writeback', 'io_schedule')), 'disk write');
	// The innermost decides.
	assert.equal(waitKind(kernel('vfs_read', 'shrink_node', 'io_schedule')), 'memory reclaim');
	assert.equal(waitKind(kernel('shrink_node', 'vfs_read', 'io_schedule')), 'disk read');
});

test('pages of file systems that others serve are waited for as those of disks are', () => {
	const servers = `nfs_file_read nfs4_file_open fuse_file_read_iter fuse_readahead cifs_readahead smb2_query_info
		netfs_readahead ceph_read_iter v9fs_file_read_iter afs_file_read_iter`;
	for (const name of words(servers)) {
		const frames = kernel('vfs_read', name, 'folio_wait_bit', 'io_schedule');
		assert.equal(waitKind(frames), 'file server', name);
		// Only where it has called the wait.
		assert.notEqual(waitKind(kernel('io_schedule', name)), 'file server', name);
	}
	for (const name of ['my_nfs_read', 'fuse_dev_write', 'fuse_uring_commit', 'ext4_readahead'])
		assert.equal(waitKind(kernel(name, 'folio_wait_bit', 'io_schedule')), 'disk', name);
});

/** Functions of C libraries above a futex, by what they are for. */
const CALLS: Readonly<Record<string, string>> = {
	lock: `__lll_lock_wait __lll_lock_wait_private __GI___lll_lock_wait pthread_mutex_lock __pthread_mutex_lock
		pthread_mutex_timedlock pthread_mutex_clocklock __pthread_mutex_cond_lock pthread_rwlock_rdlock
		pthread_rwlock_wrlock pthread_rwlock_timedrdlock pthread_spin_lock mtx_lock mtx_timedlock flockfile __lock`,
	condition: `pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait __pthread_cond_wait_common
		pthread_cond_signal pthread_cond_broadcast pthread_barrier_wait pthread_join pthread_timedjoin_np
		pthread_clockjoin_ex cnd_wait cnd_timedwait thrd_join sem_wait sem_timedwait sem_clockwait
		__new_sem_wait_slow64 __futex_abstimed_wait_common __GI___futex_abstimed_wait_cancelable64`,
};

test('a futex is what the function of the C library says that called the kernel', () => {
	for (const [kind, names] of Object.entries(CALLS))
		for (const name of words(names)) {
			const frames = [user('work'), user(name, true), ...kernel('futex_wait', 'schedule')];
			assert.equal(waitKind(frames), kind, name);
			const own = [user('work'), user(name), ...kernel('futex_wait', 'schedule')];
			assert.equal(waitKind(own), 'futex', `the program's own ${name}`);
		}
});

/** Functions of programs and runtimes, which wait by whatever they like. */
const PROGRAMS: Readonly<Record<string, string>> = {
	lock: `ObjectMonitor::enter(JavaThread*) ObjectMonitor::EnterI(JavaThread*) ObjectMonitor::ReenterI(JavaThread*)
		take_gil ProcSleep WaitOnLock LWLockAcquire LWLockAcquireOrWait LWLockWaitForVar lock_wait_suspend_thread`,
	condition: 'ObjectMonitor::wait(long)',
	sleep: 'JavaThread::sleep(long) os::sleep(Thread*) os::naked_sleep(long)',
};

test('what a program waits for, its own functions tell, as long as the kernel sees only how it waits', () => {
	for (const [kind, names] of Object.entries(PROGRAMS))
		for (const name of words(names)) {
			const called = [user('start_thread', true), user(name), user('wait_for_it', true)];
			for (const wait of ['futex_wait', 'do_epoll_wait', 'do_semtimedop'])
				assert.equal(waitKind([...called, ...kernel(wait, 'schedule')]), kind, `${name} ${wait}`);
			assert.equal(waitKind([...called, ...kernel('pipe_read', 'schedule')]), 'pipe', name);
			const other = [user(`my_${name}`), ...kernel('do_epoll_wait', 'schedule')];
			assert.equal(waitKind(other), 'poll', name);
		}
});

test('a piece of work that somebody has handed over is not the thread that does it', () => {
	for (const work of ['process_one_work', 'process_scheduled_works']) {
		const frames = kernel('kthread', 'worker_thread', work, 'flush_it', 'wait_for_completion');
		assert.equal(waitKind(frames), 'other: flush_it', work);
	}
	const own = kernel('kthread', 'my_thread', 'flush_it', 'wait_for_completion');
	assert.equal(waitKind(own), 'kernel thread');
});
