/**
 * What kind of wait a kernel stack shows: for a disk, a lock, a socket, … A table of the kernel's functions, each with
 * its reason; kernels from 5.10 on. Pure values: no I/O, no kernel.
 */

import { largest } from './largest.js';
import type { Frame } from './stack.js';
import { type StackFindings, type StackRow, splitStacks } from './stack-rows.js';
import { plain, waitFrame } from './summary-frames.js';

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

interface Rule {
	/** The function of the kernel that shows it, without what compilers add. */
	readonly at: RegExp;
	readonly kind: WaitKind;
	/** Only where one of these functions has called it, at whatever distance. */
	readonly within?: RegExp;
	/** Why, and where in the kernel's source. */
	readonly why: string;
}

/** Waits for a disk: what comes outside of them says what for. */
const DISK =
	/^(io_schedule(_timeout|_prepare)?|wait_for_completion_io\w*|blk_io_schedule|(folio|page)_wait_\w+|wait_on_page_\w+|__?(folio|page)_lock\w*|folio_lock\w*|lock_page\w*|__wait_on_buffer|__wait_on_bit_lock|bit_wait_io|submit_bio_wait|blk_wait_io|blk_mq_get_tag|__?blk_mq_alloc_requests|blk_execute_rq|rq_qos_wait|wbt_wait|bio_queue_enter|__bio_queue_enter|blk_queue_enter|iomap_dio_\w+|__iomap_dio_rw|__blkdev_direct_IO\w*|blkdev_direct_IO\w*|dio_await_\w+|__blockdev_direct_IO|jbd2_log_wait_commit|wait_transaction_\w+|do_get_write_access|start_this_handle|jbd2_journal_\w+|jbd2_\w+|xlog_\w+|xfs_log_force\w*|xfs_buf_\w+|btrfs_wait_\w+|btrfs_commit_transaction|wait_current_trans|blkdev_issue_\w+|wb_wait_for_completion|balance_dirty_pages\w*|writeback_\w+|filemap_fdatawait\w*|__filemap_fdatawait_range|f2fs_\w*wait\w*|dm_\w+|md_\w+|raid\d+_\w+)$/;

/** mm/vmscan.c, mm/memcontrol.c, mm/compaction.c: memory that somebody else has must become free first. */
const RECLAIM =
	/^(try_to_free_\w+|do_try_to_free_pages|shrink_\w+|reclaim_throttle|throttle_direct_reclaim|mem_cgroup_(handle_over_high|out_of_memory|oom_synchronize)|__mem_cgroup_handle_over_high|try_charge_memcg|obj_cgroup_charge\w*|__alloc_pages_direct_\w+|compact_zone\w*|congestion_wait|wait_iff_congested|out_of_memory|do_memory_failure)$/;
/** mm/memory.c, mm/swap_state.c */
const SWAP =
	/^(do_swap_page|swap_read(page|_folio)|swapin_readahead|read_swap_cache_async|swap_cluster_readahead|shmem_swapin\w*)$/;
/** The ways in are the processors': arch/x86/mm/fault.c, arch/arm64/mm/fault.c. */
const FAULT =
	/^(asm_exc_page_fault|exc_page_fault|do_user_addr_fault|do_page_fault|do_translation_fault|do_mem_abort|handle_mm_fault|filemap_fault|fault_in_readable|fixup_user_fault)$/;
/** What has to be on the disk before it goes on. */
const WRITES =
	/^(do_fsync|vfs_fsync\w*|__x64_sys_(fsync|fdatasync|sync|syncfs|sync_file_range|msync|pwrite64|pwritev2?|write|writev)|__arm64_sys_\w*(sync|write)\w*|ksys_(sync\w*|write|pwrite64)|do_pwritev|do_writev|vfs_writev?|do_iter_write\w*|iterate_supers|sync_\w+|file_write_and_wait_range|filemap_write_and_wait\w*|filemap_fdatawrite\w*|blkdev_issue_\w+|balance_dirty_pages\w*|jbd2_\w+|kjournald2|xfsaild|xlog_\w+|wb_workfn|wb_writeback|writeback_\w+|do_writepages|ext4_(sync_file|writepages|da_writepages)|btrfs_(sync_file|commit_transaction|start_delalloc\w*)|generic_file_write_iter|ext4_file_write_iter|blkdev_write_iter|iomap_file_buffered_write|truncate_inode_pages\w*|vfs_(truncate|fallocate|unlink|rename\w*|mkdir|rmdir|link|symlink|create)|do_(unlinkat|renameat2|mkdirat|rmdir|linkat|symlinkat)|dio_write\w*|swap_write\w*|pageout)$/;
const READS =
	/^(do_preadv|do_readv|vfs_readv?|ksys_(read|pread64|readahead)|__kernel_read|kernel_read\w*|filemap_(read|get_pages|update_page|read_folio)|generic_file_(read_iter|buffered_read)|blkdev_read_iter|ext4_file_read_iter|page_cache_\w+|force_page_cache_\w+|ondemand_readahead|read_pages|read_cache_\w+|do_read_cache_\w+|iterate_dir|getdents\w*|ext4_(readdir|bread\w*|find_entry|lookup|iget\w*|read_\w+|get_inode_loc)|__bread\w*|bh_read\w*|link_path_walk|path_(openat|lookupat)|lookup_\w+|walk_component|do_filp_open|bprm_execve|load_elf_binary|generic_file_splice_read|filemap_splice_read|copy_splice_read|xfs_(dir|ilock_data|iget|buf_read)\w*|xfs_file_read_iter|btrfs_(search_slot|read\w*|lookup\w*))$/;
/** A piece of work that somebody has handed over to kernel/workqueue.c. */
const WORK = /^process_(one_work|scheduled_works)$/;
/** glibc's and musl's functions for locks; waiting for anything else is a condition. */
const LOCK_CALLS =
	/^_*(GI_+)?(lll_lock_wait\w*|pthread_(mutex_(timed|clock)?lock\w*|mutex_cond_lock\w*|rwlock_\w*lock\w*|spin_lock)|mtx_(timed)?lock|flockfile|lock)$/;
const CONDITION_CALLS =
	/^_*(GI_+)?(pthread_(cond_(timed|clock)?wait\w*|barrier_wait|join\w*|(timed|clock)join\w*)|cnd_(timed)?wait|thrd_join|sem_(timed|clock)?wait\w*|new_sem_\w*wait\w*)$/;

/**
 * A stack is read from its leaf outwards: of the first function that a rule is about, the first rule counts whose
 * `within` is there, too.
 */
const RULES: readonly Rule[] = [
	{ at: DISK, within: RECLAIM, kind: 'memory reclaim', why: 'pages of others are written first' },
	{ at: DISK, within: SWAP, kind: 'swap-in', why: 'the page is read from swap' },
	{ at: DISK, within: FAULT, kind: 'page fault', why: 'the page is read from its file' },
	{ at: DISK, within: WRITES, kind: 'disk write', why: 'a write, or a flush of what was written' },
	{ at: DISK, within: READS, kind: 'disk read', why: 'a read' },
	{
		at: /^(__sync_dirty_buffer|fsync_buffers_list|sync_mapping_buffers|write_dirty_buffer|jbd2_\w+|xlog_\w+|xfs_log_force\w*|blkdev_issue_\w+|balance_dirty_pages\w*|wb_wait_for_completion|writeback_\w+|wait_transaction_\w+|start_this_handle|do_get_write_access|btrfs_(commit_transaction|wait_\w+)|wait_current_trans|filemap_fdatawait\w*|__filemap_fdatawait_range|folio_wait_writeback|wait_on_page_writeback)$/,
		kind: 'disk write',
		why: 'journals and write-back: fs/jbd2, fs/xfs, mm/page-writeback.c',
	},
	{ at: RECLAIM, kind: 'memory reclaim', why: 'mm/vmscan.c: memory must become free first' },
	{ at: SWAP, kind: 'swap-in', why: 'mm/memory.c' },
	{ at: DISK, kind: 'disk', why: 'a disk, whatever for' },

	{
		at: /^(fuse_\w+|request_wait_answer|__fuse_\w+|rpc_wait_bit_killable|__rpc_execute|nfs\d?_\w+|cifs_\w+|wait_for_response|smb2_\w+|p9_client_\w+|v9fs_\w+|ceph_\w+|afs_\w+|netfs_\w+)$/,
		kind: 'file server',
		why: 'a file system whose files another program or machine has: fs/fuse, net/sunrpc, …',
	},
	{
		at: /^(locks_lock_\w+|(posix|flock)_lock_inode_wait|do_lock_file_wait|fcntl_setlk(64)?|__do_sys_flock|__x64_sys_flock|__arm64_sys_flock|__break_lease)$/,
		kind: 'file lock',
		why: 'fs/locks.c: flock, fcntl, leases',
	},

	{
		at: /^(futex_lock_pi\w*|futex_wait_requeue_pi)$/,
		kind: 'lock',
		why: 'kernel/futex: locks whose owner the kernel knows',
	},
	{
		at: /^(__?futex_wait\w*|futex_(wait\w*|do_wait)|do_futex|__(x64|arm64)_sys_futex\w*)$/,
		kind: 'futex',
		why: 'kernel/futex; the user frames say whether it is a lock or a condition',
	},
	{
		at: /^_*rt_mutex_\w+$/,
		within: /^futex_lock_pi/,
		kind: 'lock',
		why: 'how the kernel keeps these locks',
	},
	{
		at: /^(__?mutex_lock\w*|mutex_lock\w*|ww_mutex_lock\w*|__ww_mutex_lock\w*|rwsem_\w+_slowpath|__?down_(read|write)\w*|down_(read|write)\w*|__down\w*|down(_\w+)?|rt_mutex_\w+|__rt_mutex\w*|percpu_down_\w+|__percpu_down_\w+|percpu_rwsem_wait|__lock_sock\w*|lock_sock_nested|synchronize_(s?rcu|rcu)\w*|__?wait_rcu_gp|__wait_rcu_gp|rcu_barrier\w*|__synchronize_srcu|inode_dio_wait|__wait_on_freeing_inode|d_alloc_parallel|cgroup_\w*lock\w*|cpus_read_lock)$/,
		kind: 'kernel lock',
		why: 'kernel/locking, and what waits until all have left the code that RCU protects',
	},

	{
		at: /^(do_nanosleep|hrtimer_nanosleep|common_nsleep\w*|alarm_timer_nsleep|alarmtimer_do_nsleep|msleep\w*|usleep_range\w*)$/,
		kind: 'sleep',
		why: 'kernel/time: nothing but time ends it',
	},
	{
		at: /^(do_wait|__do_wait|kernel_wait\w*|kernel_waitid\w*|__do_sys_wait\w*|do_wait4|wait_for_vfork_done|kernel_clone)$/,
		kind: 'child',
		why: 'kernel/exit.c; kernel/fork.c: vfork, until the child executes',
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
		at: /^(ep_poll|do_epoll_wait|do_epoll_pwait|__(x64|arm64)_sys_epoll_\w+|do_sys_poll|do_poll|do_select|core_sys_select|poll_schedule_timeout|do_pselect|do_restart_poll)$/,
		kind: 'poll',
		why: 'fs/select.c, fs/eventpoll.c: any of several descriptors',
	},
	{
		at: /^(io_(cqring|uring|wq|wqe|sq)_\w+|io_wq_worker|io_sq_thread|__(do|x64|arm64)_sys_io_uring_\w+|read_events|__(x64|arm64)_sys_io_getevents\w*|do_io_getevents)$/,
		kind: 'io_uring',
		why: 'io_uring; fs/aio.c has the same before it',
	},
	{
		at: /^((anon_)?pipe_(read|write|wait\w*)|fifo_open|wait_for_partner|splice_\w+pipe\w*|wait_for_space|vmsplice\w*|opipe_prep|ipipe_prep|link_pipe)$/,
		kind: 'pipe',
		why: 'fs/pipe.c, fs/splice.c',
	},

	{
		at: /^(unix_accept|inet_csk_accept|inet_csk_wait_for_connect|inet_accept|do_accept|vsock_accept|__sys_accept4\w*)$/,
		kind: 'socket accept',
		why: 'a connection: net/ipv4/inet_connection_sock.c, net/unix/af_unix.c',
	},
	{
		at: /^(__?skb_wait_for_more_packets|__?skb_recv_datagram|skb_recv_datagram)$/,
		within: /^unix_accept$/,
		kind: 'socket accept',
		why: 'a connection comes like a packet',
	},
	{
		at: /^(sock_alloc_send_\w*skb|__?skb_wait_for_more_packets|__?skb_recv_datagram|sk_wait_data|sk_stream_wait_memory)$/,
		within: /^unix_\w+$/,
		kind: 'unix socket',
		why: 'parts of net/core that unix sockets use, too',
	},
	{ at: /^unix_\w+$/, kind: 'unix socket', why: 'net/unix/af_unix.c' },
	{
		at: /^(__?inet_stream_connect|inet_stream_connect|inet_wait_for_connect|__sys_connect\w*|tcp_v[46]_connect|sk_stream_wait_connect|vsock_connect)$/,
		kind: 'socket connect',
		why: 'net/ipv4/af_inet.c',
	},
	{
		at: /^(sk_wait_data|__?skb_wait_for_more_packets|skb_recv_\w+|__skb_recv_\w+|(tcp|udp|udpv6|raw|rawv6|ping|packet|netlink|inet6?|sctp|vsock|tipc|alg|xsk|mptcp|tls_sw)_\w*(recvmsg|splice_read)\w*|sock_recvmsg\w*|__sys_recv\w*|___sys_recvmsg)$/,
		kind: 'socket receive',
		why: 'net/core/datagram.c, net/ipv4/tcp.c and their kin',
	},
	{
		at: /^(sk_stream_wait_memory|sock_alloc_send_\w*skb|sock_wait_for_wmem|sk_stream_wait_close|(tcp|udp|udpv6|raw|packet|netlink|inet6?|sctp|vsock|tipc|mptcp|tls_sw|tls_device)_\w*(sendmsg|sendpage|close)\w*|__tcp_close|inet_shutdown|sock_sendmsg\w*|__sys_send\w*|___sys_sendmsg)$/,
		kind: 'socket send',
		why: 'net/core/stream.c: the peer has to take what was sent',
	},

	{
		at: /^(eventfd_\w+|timerfd_\w+|signalfd_\w+|inotify_\w+|fanotify_\w+|userfaultfd_\w+|handle_userfault|perf_read\w*)$/,
		kind: 'event',
		why: 'a descriptor that tells of events: fs/eventfd.c, fs/timerfd.c, fs/notify, …',
	},
	{
		at: /^(n_tty_\w+|tty_\w+|iterate_tty_\w+|vt_\w+|wait_until_sent|do_con_write)$/,
		kind: 'terminal',
		why: 'drivers/tty',
	},
	{
		at: /^(__?do_semtimedop|do_semtimedop|do_semop|do_msg(rcv|snd)|do_mq_timed\w+|wq_sleep)$/,
		kind: 'IPC',
		why: 'ipc/: semaphores and message queues of System V and POSIX',
	},
	{
		at: /^(kvm_vcpu_(block|halt|check_block)|kvm_arch_vcpu_ioctl_run)$/,
		kind: 'virtual CPU',
		why: 'virt/kvm: the guest has nothing to do',
	},
];

/**
 * What a thread was blocked for, by its frames, root first; "other" with the kernel's function that says most, where
 * no rule is about it.
 */
export function waitKind(frames: readonly Frame[]): WaitKind | `other: ${string}` {
	const kernel = frames.filter(({ kind }) => kind === 'kernel').map(({ name }) => plain(name));
	for (let at = kernel.length - 1; at >= 0; at--) {
		const name = kernel[at] as string;
		const outer = kernel.slice(0, at);
		const rule = RULES.find(
			({ at: is, within }) => is.test(name) && (!within || outer.some((each) => within.test(each))),
		);
		if (rule) return rule.kind === 'futex' ? futexKind(frames) : rule.kind;
	}
	if (isKernelThread(kernel) && !kernel.some((name) => WORK.test(name))) return 'kernel thread';
	const telling = waitFrame(frames);
	return `other: ${telling ? plain(telling.name) : 'no kernel stack'}`;
}

/** Its first function, or that of the thread which starts the others: kernel/kthread.c. */
const isKernelThread = (kernel: readonly string[]): boolean =>
	kernel.includes('kthread') || kernel.includes('kthreadd');

/** By the C library's function: what other programs use futexes for, nobody can tell. */
function futexKind(frames: readonly Frame[]): WaitKind {
	const calls = frames
		.filter(({ kind, inCLibrary }) => kind !== 'kernel' && inCLibrary)
		// Without its version: "pthread_cond_wait@@GLIBC_2.3.2".
		.map(({ name }) => plain(name).replace(/@.*/, ''));
	if (calls.some((name) => CONDITION_CALLS.test(name))) return 'condition';
	return calls.some((name) => LOCK_CALLS.test(name)) ? 'lock' : 'futex';
}

/** A part of waits that is no blocked time has a name of its own, and is a kind. */
const QUOTA = { part: 'throttled', kind: 'CPU quota' };

/** What `findings.parts` calls a part, as a kind of wait; undefined: blocked, for which the stack says what kind. */
function partKind(part: string | undefined): string | undefined {
	if (part === QUOTA.part) return QUOTA.kind;
	return part === 'blocked' ? undefined : part;
}

/** The kind of most of a row's time. */
export function mainKind(row: StackRow, { parts }: Pick<StackFindings, 'parts'>): string {
	const most = row.parts.indexOf(largest(row.parts));
	return partKind(parts[most]) ?? waitKind(row.frames);
}

/** The same rows, each kind of wait apart, as the key's `kind`. */
export function splitByKind(findings: StackFindings): StackRow[] {
	return splitStacks(findings).map((row) => {
		const { kind, ...key } = row.key;
		return { ...row, key: { kind: partKind(`${kind}`) ?? waitKind(row.frames), ...key } };
	});
}
