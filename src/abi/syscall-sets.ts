/** Sets of system calls, by name: what strace 6.1 traces with trace=%file and so on, of both x86 ABIs. */

export const CALL_SETS = {
	file: `
		access acct chdir chmod chown chown32 chroot creat execve execveat faccessat faccessat2
		fanotify_mark fchmodat fchownat fsconfig fspick fstatat64 futimesat getcwd getxattr
		inotify_add_watch lchown lchown32 lgetxattr link linkat listxattr llistxattr lremovexattr
		lsetxattr lstat lstat64 mkdir mkdirat mknod mknodat mount mount_setattr move_mount
		name_to_handle_at newfstatat oldlstat oldstat open open_tree openat openat2 pivot_root
		quotactl readlink readlinkat removexattr rename renameat renameat2 rmdir setxattr stat
		stat64 statfs statfs64 statx swapoff swapon symlink symlinkat truncate truncate64 umount
		umount2 unlink unlinkat uselib utime utimensat utimensat_time64 utimes
	`,
	network: `
		accept accept4 bind connect getpeername getpmsg getsockname getsockopt listen putpmsg
		recvfrom recvmmsg recvmmsg_time64 recvmsg sendfile sendfile64 sendmmsg sendmsg sendto
		setsockopt shutdown socket socketpair
	`,
	process: `
		clone clone3 execve execveat exit exit_group fork kill pidfd_send_signal rt_sigqueueinfo
		rt_tgsigqueueinfo tgkill tkill vfork wait4 waitid waitpid
	`,
	memory: `
		break brk get_mempolicy io_destroy io_setup io_uring_register madvise mbind migrate_pages
		mincore mlock mlock2 mlockall mmap mmap2 move_pages mprotect mremap msync munlock
		munlockall munmap pkey_mprotect remap_file_pages set_mempolicy set_mempolicy_home_node
		shmat shmdt
	`,
	ipc: `
		ipc msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat
		shmctl shmdt shmget
	`,
	desc: `
		_llseek _newselect bpf close copy_file_range creat dup dup2 dup3 epoll_create
		epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execveat
		faccessat faccessat2 fadvise64 fadvise64_64 fallocate fanotify_init fanotify_mark fchdir
		fchmod fchmodat fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr finit_module
		flistxattr flock fremovexattr fsconfig fsetxattr fsmount fsopen fspick fstat fstat64
		fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getdents getdents64
		inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_uring_enter
		io_uring_register io_uring_setup ioctl kexec_file_load landlock_add_rule
		landlock_create_ruleset landlock_restrict_self linkat lseek memfd_create memfd_secret
		mkdirat mknodat mmap mmap2 mount_setattr move_mount mq_getsetattr mq_notify mq_open
		mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 name_to_handle_at
		newfstatat oldfstat open open_by_handle_at open_tree openat openat2 perf_event_open
		pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 poll ppoll ppoll_time64 pread64 preadv
		preadv2 process_madvise process_mrelease pselect6 pselect6_time64 pwrite64 pwritev
		pwritev2 quotactl_fd read readahead readdir readlinkat readv renameat renameat2 select
		sendfile sendfile64 setns signalfd signalfd4 socketcall splice statx symlinkat
		sync_file_range syncfs tee timerfd_create timerfd_gettime timerfd_gettime64
		timerfd_settime timerfd_settime64 unlinkat userfaultfd utimensat utimensat_time64 vmsplice
		write writev
	`,
} as const;

export type CallSet = keyof typeof CALL_SETS;

export function callsOfSet(set: CallSet): string[] {
	return CALL_SETS[set].trim().split(/\s+/);
}
