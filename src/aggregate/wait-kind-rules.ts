/**
 * Which functions of the kernel, and of programs, show what kind a wait is: tables, each entry with its reason and
 * where it is in the source. Kernels from 5.10 on; names without what compilers put behind them.
 */

/** In the order in which the docs explain them. */
export const WAIT_KINDS = [
	'disk read',
	'disk write',
	'disk',
	'page fault',
	'swap-in',
	'memory reclaim',
	'file lock',
	'file server',
	'socket receive',
	'socket send',
	'socket accept',
	'socket connect',
	'unix socket',
	'pipe',
	'poll',
	'io_uring',
	'lock',
	'condition',
	'futex',
	'kernel lock',
	'sleep',
	'child',
	'signal',
	'stopped',
	'event',
	'terminal',
	'IPC',
	'virtual CPU',
	'kernel thread',
] as const;

export type WaitKind = (typeof WAIT_KINDS)[number];

export interface Rule {
	/** The function that shows it. */
	readonly at: RegExp;
	readonly kind: WaitKind;
	/** Only where one of these functions is further out. */
	readonly within?: RegExp;
	/** Only where nothing is further in but functions that wait for anything. */
	readonly innermost?: true;
	/** Why, and where in the kernel's source. */
	readonly why: string;
}

/** File systems whose files another program or machine has; not the program that serves them (fuse_dev_read). */
const FILE_SERVERS =
	/^(nfs\d?_\w+|fuse_(?!dev_|uring_)\w+|cifs_\w+|smb2_\w+|netfs_\w+|ceph_\w+|v9fs_\w+|afs_\w+)$/;

/** Waits for pages, buffers or requests of a disk; what they are for, `DISK_PURPOSES` say. */
const DISK =
	/^(io_schedule\w*|blk_io_schedule|wait_for_completion_io\w*|(folio|page)_wait_\w+|wait_on_page_\w+|_*(folio|page)_lock\w*|_*lock_page\w*|__wait_on_buffer|__wait_on_bit_lock|bit_wait_io|submit_bio_wait|blk_wait_io|blk_mq_get_tag|_*blk_mq_alloc_requests|blk_execute_rq|rq_qos_wait|wbt_wait|_*bio_queue_enter|blk_queue_enter|iomap_dio_\w+|__iomap_dio_rw|_*blkdev_direct_IO\w*|dio_await_\w+|__blockdev_direct_IO|inode_dio_wait\w*|jbd2_\w+|wait_transaction_\w+|start_this_handle|do_get_write_access|xlog_\w+|xfs_(log_force|buf)\w*|btrfs_(wait|commit)_\w+|wait_current_trans|blkdev_issue_\w+|wb_wait_for_completion|balance_dirty_pages\w*|_*filemap_fdatawait\w*|__sync_dirty_buffer|fsync_buffers_list|sync_mapping_buffers|write_dirty_buffer|dm_io|sync_io|md_(super_wait|write_start)|raid\d+_get_active_stripe|raid1_write_request|wait_barrier)$/;

/** What a wait for a disk is for: the innermost function that one of these is about decides. */
export const DISK_PURPOSES: readonly Rule[] = [
	{
		at: /^(pmd_)?_*migration_entry_wait\w*$/,
		kind: 'memory reclaim',
		why: 'mm/migrate.c: the kernel moves the page',
	},
	{
		at: /^(try_to_free_\w+|do_try_to_free_pages|shrink_(node|lruvec|slab|page|folio|inactive|active|zones|one|many)\w*|reclaim_throttle|throttle_direct_reclaim|mem_cgroup_(out_of_memory|oom_synchronize)|(__)?mem_cgroup_handle_over_high|try_charge_memcg|obj_cgroup_charge\w*|__alloc_pages_direct_\w+|compact_zone\w*|congestion_wait|wait_iff_congested|out_of_memory)$/,
		kind: 'memory reclaim',
		why: 'mm/vmscan.c, mm/memcontrol.c, mm/compaction.c: memory must become free first',
	},
	{
		at: /^(do_swap_page|swap_read(page|_folio)|swapin_readahead|read_swap_cache_async|swap_cluster_readahead|shmem_swapin\w*)$/,
		kind: 'swap-in',
		why: 'mm/memory.c, mm/swap_state.c: the page is read from swap',
	},
	{
		at: /^(asm_exc_page_fault|exc_page_fault|do_user_addr_fault|do_page_fault|do_translation_fault|do_mem_abort|handle_mm_fault|filemap_fault|fault_in_readable|fixup_user_fault)$/,
		kind: 'page fault',
		why: 'arch/x86/mm/fault.c, arch/arm64/mm/fault.c, mm/filemap.c: the page is read from its file',
	},
	{
		at: /^(jbd2_\w+|kjournald2|wait_transaction_\w+|start_this_handle|do_get_write_access|xlog_\w+|xfs_log_force\w*|xfsaild|btrfs_(commit|wait)_\w+|wait_current_trans|blkdev_issue_\w+|balance_dirty_pages\w*|wb_(wait_for_completion|workfn|writeback)|writeback_\w+|_*filemap_fdatawait\w*|filemap_write_and_wait\w*|file_write_and_wait_range|do_writepages|fsync_buffers_list|__sync_dirty_buffer|sync_mapping_buffers|write_dirty_buffer|pageout|swap_write\w*)$/,
		kind: 'disk write',
		why: 'journals and write-back: fs/jbd2, fs/xfs, fs/btrfs, fs/fs-writeback.c, mm/page-writeback.c',
	},
	{
		at: /^(do_fsync|vfs_fsync\w*|__(x64|arm64)_sys_(fsync|fdatasync|sync\w*|msync|p?writev?2?|pwrite64)|ksys_(sync\w*|write|pwrite64)|do_p?writev|vfs_writev?|do_iter_write\w*|iterate_supers|sync_(?!(page_)?io$)\w+|\w+_sync_file|\w+_file_write_iter|generic_file_write_iter|blkdev_write_iter|truncate_inode_pages\w*|vfs_(truncate|fallocate|unlink|rename\w*|mkdir|rmdir|link|symlink|create)|(do|filename)_(unlinkat|renameat2|mkdirat|rmdir|linkat|symlinkat)|dio_write\w*)$/,
		kind: 'disk write',
		why: 'fs/sync.c, fs/read_write.c, fs/namei.c: a write, or a flush of what was written',
	},
	{
		at: /^(do_p?readv|vfs_readv?|ksys_(read|pread64|readahead)|__kernel_read|kernel_read\w*|filemap_(read|get_pages|update_page|splice_read)|generic_file_(read_iter|buffered_read|splice_read)|blkdev_read_iter|\w+_file_read_iter|read_cache_\w+|do_read_cache_\w+|iterate_dir|__ext4_find_entry|ext4_(readdir|bread\w*|find_entry|lookup|iget\w*|read_\w+|get_inode_loc)|__bread\w*|bh_read\w*|link_path_walk|path_(openat|lookupat)|lookup_\w+|__lookup_\w+|walk_component|do_filp_open|bprm_execve|load_elf_binary|copy_splice_read|xfs_(dir_lookup|iget|buf_read)\w*|btrfs_(search_slot|read_\w+|lookup\w*))$/,
		kind: 'disk read',
		why: 'fs/read_write.c, fs/namei.c, mm/filemap.c: a read',
	},
	{
		at: /^(folio_wait_writeback\w*|wait_on_page_writeback)$/,
		kind: 'disk write',
		why: 'mm/page-writeback.c: until a page is written',
	},
];

/** A stack is read from its leaf outwards; for the first function that a rule is about, the first such rule counts. */
export const RULES: readonly Rule[] = [
	{
		at: /^fuse_(dev|uring)_\w+$/,
		kind: 'event',
		why: 'fs/fuse/dev.c: a program that serves a file system waits for requests',
	},
	{
		at: DISK,
		within: FILE_SERVERS,
		kind: 'file server',
		why: 'their pages and buffers are waited for as those of disks are',
	},
	{ at: DISK, kind: 'disk', why: 'a disk; `DISK_PURPOSES` may say what for' },
	{
		at: /^(mem_cgroup_\w+|(__)?mem_cgroup_handle_over_high|reclaim_throttle|throttle_direct_reclaim|congestion_wait|wait_iff_congested|try_to_free_\w+|do_try_to_free_pages)$/,
		kind: 'memory reclaim',
		why: 'mm/vmscan.c, mm/memcontrol.c',
	},
	{
		at: /^(pmd_)?_*migration_entry_wait\w*$/,
		kind: 'memory reclaim',
		why: 'mm/migrate.c',
	},
	{
		at: /^(handle_userfault)$/,
		kind: 'page fault',
		why: 'fs/userfaultfd.c: another program provides the page',
	},
	{
		at: /^(request_wait_answer|_*fuse_simple_\w*request\w*|fuse_get_req|rpc_wait_bit_killable|__rpc_execute|nfs\d?_wait_\w+|wait_for_response|compound_send_recv|p9_client_rpc|p9_virtio_zc_request|ceph_mdsc_\w+|ceph_osdc_wait\w*|ceph_wait_\w+|netfs_wait\w*|afs_wait\w*|fanotify_(get_response|handle_event))$/,
		kind: 'file server',
		why: 'fs/fuse, net/sunrpc, fs/smb, net/9p, net/ceph; fs/notify/fanotify: a program that permits',
	},
	{
		at: /^(locks_lock_\w+|(posix|flock)_lock_inode_wait|do_lock_file_wait|fcntl_setlk(64)?|__do_sys_flock|__(x64|arm64)_sys_flock|__break_lease)$/,
		kind: 'file lock',
		why: 'fs/locks.c: flock, fcntl, leases',
	},

	{
		at: /^_*rt_mutex_\w+$/,
		within: /^futex_(lock_pi|wait_requeue_pi)/,
		kind: 'lock',
		why: 'kernel/futex: how the kernel keeps locks whose owner it knows',
	},
	{
		at: /^(futex_lock_pi\w*|futex_wait_requeue_pi)$/,
		kind: 'lock',
		why: 'kernel/futex/pi.c',
	},
	{
		at: /^(_*futex_wait\w*|futex_do_wait|do_futex|__(x64|arm64)_sys_futex\w*)$/,
		kind: 'futex',
		why: 'kernel/futex; the user frames say whether it is a lock or a condition',
	},
	{
		at: /^(_*(ww_)?mutex_lock\w*|rwsem_\w+_slowpath|_*down(_\w+)?|_*rt_mutex_\w+|rt_(spin|read|write)_\w*lock\w*|rtlock_slowlock\w*|_*rwbase_\w+|_*percpu_down_\w+|percpu_rwsem_wait|__lock_sock\w*|lock_sock_nested|synchronize_s?rcu\w*|__synchronize_srcu|_*wait_rcu_gp|rcu_barrier\w*|__wait_on_freeing_inode|d_alloc_parallel|cgroup_\w*lock\w*|cpus_read_lock)$/,
		kind: 'kernel lock',
		why: 'kernel/locking, and what waits until all have left the code that RCU protects',
	},

	{
		at: /^(do_nanosleep|hrtimer_nanosleep|common_nsleep\w*|alarm_timer_nsleep|alarmtimer_do_nsleep|msleep\w*|usleep_range\w*)$/,
		kind: 'sleep',
		why: 'kernel/time: nothing but time ends it',
	},
	{
		at: /^(_*do_wait|kernel_wait(4|id\w*)?|__do_sys_wait\w*|wait_for_vfork_done)$/,
		kind: 'child',
		why: 'kernel/exit.c; kernel/fork.c: vfork, until the child executes',
	},
	{
		at: /^(kernel_clone|_do_fork)$/,
		innermost: true,
		kind: 'child',
		why: 'kernel/fork.c: where wait_for_vfork_done is part of it',
	},
	{
		at: /^(ptrace_stop|do_signal_stop|do_jobctl_trap|do_freezer_trap|__refrigerator|cgroup_enter_frozen)$/,
		kind: 'stopped',
		why: 'kernel/signal.c: a signal, a debugger or a freezer has stopped it',
	},
	{
		at: /^(do_sigtimedwait|sigsuspend|__(do|x64|arm64)_sys_(rt_sig\w+|pause))$/,
		kind: 'signal',
		why: 'kernel/signal.c',
	},

	{
		at: /^(ep_poll|do_epoll_p?wait|__(x64|arm64)_sys_epoll_\w+|do_sys_poll|do_poll|do_p?select|core_sys_select|poll_schedule_timeout|do_restart_poll)$/,
		kind: 'poll',
		why: 'fs/select.c, fs/eventpoll.c: any of several descriptors',
	},
	{
		at: /^(io_wq_worker|io_wqe_worker|io_sq_thread)$/,
		innermost: true,
		kind: 'kernel thread',
		why: 'io_uring: a thread of the kernel without a request',
	},
	{
		at: /^(io_(cqring|uring|wq|wqe|sq)_\w+|__(do|x64|arm64)_sys_io_uring_\w+|read_events|__(x64|arm64)_sys_io_p?getevents\w*|do_io_getevents)$/,
		kind: 'io_uring',
		why: 'io_uring; fs/aio.c had the same before it',
	},
	{
		at: /^((anon_)?pipe_(read|write|wait\w*)|fifo_open|wait_for_partner|splice_\w+pipe\w*|wait_for_space|vmsplice\w*|[io]pipe_prep|link_pipe)$/,
		kind: 'pipe',
		why: 'fs/pipe.c, fs/splice.c',
	},

	{
		at: /^(unix_accept|inet_csk_(accept|wait_for_connect)|inet_accept|do_accept|vsock_accept|__sys_accept4\w*)$/,
		kind: 'socket accept',
		why: 'a connection: net/ipv4/inet_connection_sock.c, net/unix/af_unix.c',
	},
	{
		at: /^_*skb_(wait_for_more_packets|recv_datagram)$/,
		within: /^unix_accept$/,
		kind: 'socket accept',
		why: 'net/unix/af_unix.c: a connection comes like a packet',
	},
	{
		at: /^(sock_alloc_send_\w*skb|_*skb_(wait_for_more_packets|recv_datagram)|sk_wait_data|sk_stream_wait_memory)$/,
		within: /^_*unix_\w+$/,
		kind: 'unix socket',
		why: 'parts of net/core that unix sockets use, too',
	},
	{ at: /^_*unix_\w+$/, kind: 'unix socket', why: 'net/unix/af_unix.c' },
	{
		at: /^(_*inet_stream_connect|inet_wait_for_connect|__sys_connect\w*|tcp_v[46]_connect|sk_stream_wait_connect|vsock_connect)$/,
		kind: 'socket connect',
		why: 'net/ipv4/af_inet.c',
	},
	{
		at: /^(sk_wait_data|_*skb_(wait_for_more_packets|recv_\w+)|(tcp|udp|udpv6|raw|rawv6|ping|packet|netlink|inet6?|sctp|vsock|tipc|alg|xsk|mptcp|tls_sw)_\w*(recvmsg|splice_read)\w*|sock_recvmsg\w*|_*sys_recv\w*)$/,
		kind: 'socket receive',
		why: 'net/core/datagram.c, net/ipv4/tcp.c and their kin',
	},
	{
		at: /^(sk_stream_wait_(memory|close)|sock_alloc_send_\w*skb|sock_wait_for_wmem|(tcp|udp|udpv6|raw|packet|netlink|inet6?|sctp|vsock|tipc|mptcp|tls_sw|tls_device)_\w*(sendmsg|sendpage|close)\w*|__tcp_close|inet_shutdown|sock_sendmsg\w*|_*sys_send\w*)$/,
		kind: 'socket send',
		why: 'net/core/stream.c: the peer has to take what was sent',
	},

	{
		at: /^(eventfd_\w+|timerfd_\w+|signalfd_\w+|inotify_\w+|fanotify_read|userfaultfd_\w+|perf_read\w*)$/,
		kind: 'event',
		why: 'a descriptor that tells of events: fs/eventfd.c, fs/timerfd.c, fs/notify, …',
	},
	{
		at: /^(n_tty_\w+|tty_\w+|iterate_tty_\w+|vt_\w+|wait_until_sent|do_con_write)$/,
		kind: 'terminal',
		why: 'drivers/tty',
	},
	{
		at: /^(_*do_semtimedop|do_semop|do_msg(rcv|snd)|do_mq_timed\w+|wq_sleep)$/,
		kind: 'IPC',
		why: 'ipc/: semaphores and message queues of System V and POSIX',
	},
	{
		at: /^(kvm_vcpu_(block|halt|check_block)|kvm_arch_vcpu_ioctl_run)$/,
		kind: 'virtual CPU',
		why: 'virt/kvm: the guest has nothing to do',
	},
];

/** glibc's and musl's functions for locks. */
export const LOCK_CALLS =
	/^_*(GI_+)?(lll_lock_wait\w*|pthread_(mutex_(timed|clock)?lock\w*|mutex_cond_lock\w*|rwlock_\w*lock\w*|spin_lock)|mtx_(timed)?lock|flockfile|lock)$/;
/** Their functions for all else. */
export const CONDITION_CALLS =
	/^_*(GI_+)?(pthread_(cond_((timed|clock)?wait|signal|broadcast)\w*|barrier_wait|(timed|clock)?join\w*)|cnd_(timed)?wait|thrd_join|sem_(timed|clock)?wait\w*|new_sem_\w*wait\w*)$/;
/** glibc's part of all of these, and of read-write locks; its caller is missing where a stack is cut. */
export const ANY_WAIT = /^_*(GI_+)?futex_abstimed_wait\w*$/;

/** Functions of programs and runtimes that say more than the kernel, which sees a futex, a semaphore or poll in all. */
export const PROGRAM_KINDS: ReadonlyArray<readonly [pattern: RegExp, kind: WaitKind, why: string]> =
	[
		[/^ObjectMonitor::(enter|EnterI|ReenterI)/, 'lock', 'HotSpot, objectMonitor.cpp: synchronized'],
		[/^ObjectMonitor::wait/, 'condition', 'HotSpot, objectMonitor.cpp: Object.wait'],
		[/^(JavaThread|os)::(naked_)?sleep$/, 'sleep', 'HotSpot, thread.cpp: Thread.sleep'],
		[/^take_gil$/, 'lock', "CPython, ceval_gil.h: the interpreter's own lock"],
		[
			/^(ProcSleep|WaitOnLock)$/,
			'lock',
			"PostgreSQL, proc.c: another session's lock, by its latch",
		],
		[/^LWLock(Acquire\w*|WaitForVar)$/, 'lock', 'PostgreSQL, lwlock.c, by a semaphore'],
		[/^lock_wait_suspend_thread$/, 'lock', "InnoDB, lock0wait.cc: another transaction's row lock"],
	];
