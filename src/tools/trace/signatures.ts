/**
 * What arguments of system calls are, where neither the kernel's tracepoint formats nor their types say it: which
 * pointer leads to a path, which number says how long a buffer is, which bits have names. A word for each argument,
 * "kind" or "kind:detail"; kinds: argument-kinds.ts. At the end, "=x": the result is
 * an address; "=fd": a descriptor; "=o": a number in base 8; "=int": one of 32 bits; "=fcntl": what the command is for.
 */
const TABLE = `
	read            fd out:r size
	write           fd in:3 size
	pread64         fd out:r size off
	pwrite64        fd in:3 size off
	readv           fd vecout int
	writev          fd vec:r int
	preadv          fd vecout int off hex
	pwritev         fd vec:r int off hex
	preadv2         fd vecout int off hex flags:rwf
	pwritev2        fd vec:r int off hex flags:rwf
	open            path flags:open openmode =fd
	creat           path mode =fd
	openat          at path flags:open openmode =fd
	openat2         at path in/open_how size =fd
	close           fd
	close_range     fd fd flags:close_range
	stat            path out/stat
	lstat           path out/stat
	fstat           fd out/stat
	newfstatat      at path out/stat flags:at
	statx           at path flags:at flags:statx out/statx
	statfs          path out/statfs
	fstatfs         fd out/statfs
	access          path flags:access
	faccessat       at path flags:access
	faccessat2      at path flags:access flags:eaccess
	chdir           path
	fchdir          fd
	chroot          path
	chmod           path mode
	fchmod          fd mode
	fchmodat        at path mode
	fchmodat2       at path mode flags:at
	chown           path int int
	lchown          path int int
	fchown          fd int int
	fchownat        at path int int flags:at
	mkdir           path mode
	mkdirat         at path mode
	mknod           path mode hex
	mknodat         at path mode hex
	rmdir           path
	unlink          path
	unlinkat        at path flags:unlink
	rename          path path
	renameat        at path at path
	renameat2       at path at path flags:rename
	link            path path
	linkat          at path at path flags:at
	symlink         str path
	symlinkat       str at path
	readlink        path out:r size
	readlinkat      at path out:r size
	truncate        path off
	ftruncate       fd off
	utimensat       at path in/timespec*2 flags:at
	utimes          path in/timeval*2
	utime           path ptr
	futimesat       at path in/timeval*2
	getcwd          strout:r size
	mount           str path str flags:mount ptr
	umount2         path flags:umount
	pivot_root      path path
	swapon          path hex
	swapoff         path
	acct            path
	statmount       ptr ptr size hex
	setxattr        path str in:4 size flags:xattr
	lsetxattr       path str in:4 size flags:xattr
	fsetxattr       fd str in:4 size flags:xattr
	getxattr        path str out:r size
	lgetxattr       path str out:r size
	fgetxattr       fd str out:r size
	listxattr       path out:r size
	llistxattr      path out:r size
	flistxattr      fd out:r size
	removexattr     path str
	lremovexattr    path str
	fremovexattr    fd str
	inotify_add_watch fd path flags:watch
	inotify_rm_watch fd int
	inotify_init1   flags:inotify =fd
	name_to_handle_at at path ptr ptr flags:at
	lseek           fd off enum:whence
	getdents64      fd ptr size
	getdents        fd ptr size
	fsync           fd
	fdatasync       fd
	syncfs          fd
	sync
	sync_file_range fd off off flags:sync_range
	fallocate       fd flags:fallocate off off
	fadvise64       fd off off enum:fadvise
	readahead       fd off size
	flock           fd flags:flock
	fcntl           fd enum:fcntl fcntlarg/flock =fcntl
	ioctl           fd enum:ioctl hex
	dup             fd =fd
	dup2            fd fd =fd
	dup3            fd fd flags:descriptor =fd
	pipe            out/fd*2
	pipe2           out/fd*2 flags:descriptor
	sendfile        fd fd in/off size
	splice          fd in/off fd in/off size flags:splice
	tee             fd fd size flags:splice
	vmsplice        fd vec:r int flags:splice
	copy_file_range fd in/off fd in/off size hex
	memfd_create    str flags:memfd =fd
	eventfd         uint =fd
	eventfd2        uint flags:eventfd =fd
	signalfd4       fd sigset size flags:signalfd =fd
	timerfd_create  enum:clock flags:timerfd =fd
	timerfd_settime fd flags:timerfd_time in/itimerspec out/itimerspec
	timerfd_gettime fd out/itimerspec
	userfaultfd     flags:descriptor =fd
	pidfd_open      int flags:pidfd =fd
	pidfd_getfd     fd int hex =fd
	pidfd_send_signal fd sig ptr hex
	execve          path argv ptr
	execveat        at path argv ptr flags:at
	fork
	vfork
	clone           flags:clone ptr ptr ptr ptr
	clone3          in/clone_args size
	exit            int
	exit_group      int
	wait4           int outif/status flags:wait outif/rusage
	waitid          enum:idtype int ptr flags:wait ptr
	kill            int sig
	tkill           int sig
	tgkill          int int sig
	getpid
	getppid
	gettid
	getuid
	geteuid
	getgid
	getegid
	getpgrp
	getpgid         int
	setpgid         int int
	getsid          int
	setsid
	setuid          int
	setgid          int
	prctl           enum:prctl hex hex hex hex
	arch_prctl      enum:arch_prctl hex
	getrlimit       enum:rlimit out/rlimit
	setrlimit       enum:rlimit in/rlimit
	prlimit64       int enum:rlimit in/rlimit out/rlimit
	getrusage       enum:rusage out/rusage
	sched_yield
	sched_getaffinity int size cpusetout:r
	sched_setaffinity int size cpuset:2
	sched_setscheduler int flags:policy in/sched_param
	getpriority     enum:priority int
	setpriority     enum:priority int int
	uname           ptr
	sysinfo         out/sysinfo
	umask           mode =o
	modify_ldt      int ptr size =int
	set_tid_address ptr
	set_robust_list ptr size
	rseq            ptr size hex hex
	getrandom       out:r size flags:random
	mmap            ptr size flags:prot flags:map fd hex =x
	mprotect        ptr size flags:prot
	munmap          ptr size
	mremap          ptr size size flags:mremap ptr =x
	madvise         ptr size enum:madvise
	msync           ptr size flags:msync
	mlock           ptr size
	munlock         ptr size
	brk             ptr =x
	shmget          hex size flags:shm
	shmat           int ptr hex =x
	shmdt           ptr
	futex           ptr enum:futex uint futextime/timespec ptr futexlast
	nanosleep       in/timespec out/timespec
	clock_nanosleep enum:clock flags:timer in/timespec ptr
	clock_gettime   enum:clock out/timespec
	clock_getres    enum:clock out/timespec
	clock_settime   enum:clock in/timespec
	gettimeofday    out/timeval ptr
	time            ptr
	times           ptr =x
	alarm           uint
	pause
	getitimer       enum:itimer out/itimerval
	setitimer       enum:itimer in/itimerval out/itimerval
	timer_create    enum:clock ptr ptr
	timer_settime   int flags:timer in/itimerspec out/itimerspec
	timer_delete    int
	rt_sigaction    sig in/sigaction out/sigaction size
	rt_sigprocmask  enum:sighow sigset sigsetout size
	rt_sigpending   sigsetout size
	rt_sigsuspend   sigset size
	rt_sigtimedwait sigset ptr in/timespec size
	rt_sigreturn
	sigaltstack     ptr ptr
	poll            pollfds:2 uint int
	ppoll           pollfds:2 uint in/timespec sigset size
	select          int fdset fdset fdset in/timeval
	pselect6        int fdset fdset fdset in/timespec ptr
	epoll_create    int =fd
	epoll_create1   flags:epoll_create =fd
	epoll_ctl       fd enum:epoll_ctl fd in/epoll_event
	epoll_wait      fd epolled int int
	epoll_pwait     fd epolled int int sigset size
	epoll_pwait2    fd epolled int in/timespec sigset size
	socket          enum:family flags:socket protocol =fd
	socketpair      enum:family flags:socket protocol out/fd*2
	bind            fd sockaddr:3 int
	connect         fd sockaddr:3 int
	listen          fd int
	accept          fd sockaddrout:3 out/int =fd
	accept4         fd sockaddrout:3 out/int flags:socket =fd
	getsockname     fd sockaddrout:3 out/int
	getpeername     fd sockaddrout:3 out/int
	sendto          fd in:3 size flags:msg sockaddr:6 int
	recvfrom        fd out:r size flags:msg sockaddrout:6 out/int
	sendmsg         fd msg flags:msg
	recvmsg         fd msg flags:msg
	sendmmsg        fd msgs int flags:msg
	recvmmsg        fd msgs int flags:msg in/timespec
	shutdown        fd enum:shut
	setsockopt      fd enum:sol sockopt optval:5 int
	getsockopt      fd enum:sol sockopt optvalout:5 out/int
	bpf             enum:bpf ptr uint
	perf_event_open ptr int int fd hex =fd
	io_uring_setup  uint ptr =fd
	io_uring_enter  fd uint uint hex ptr size
	io_uring_register fd uint ptr uint
	init_module     ptr size str
	finit_module    fd str hex
	delete_module   str hex
	sethostname     in:2 size
	setdomainname   in:2 size
	unshare         flags:clone
	setns           fd flags:clone
	restart_syscall
	mincore         ptr size ptr
	mlockall        hex
	munlockall
	mlock2          ptr size hex
	remap_file_pages ptr size hex size hex
	pkey_mprotect   ptr size flags:prot int
	pkey_alloc      hex hex
	pkey_free       int
	process_madvise fd in/iovec int enum:madvise hex
	process_mrelease fd hex
	memfd_secret    hex =fd
	mbind           ptr size int ptr size hex
	set_mempolicy   int ptr size
	get_mempolicy   ptr ptr size ptr hex
	migrate_pages   int size ptr ptr
	move_pages      int size ptr ptr ptr hex
	shmctl          int int ptr
	semget          hex int flags:shm
	semop           int in/sembuf size
	semtimedop      int in/sembuf size in/timespec
	semctl          int int int hex
	msgget          hex flags:shm
	msgsnd          int ptr size hex
	msgrcv          int ptr size off hex
	msgctl          int int ptr
	mq_open         str flags:open mode mqattr =fd
	mq_unlink       str
	mq_timedsend    fd in:3 size uint in/timespec
	mq_timedreceive fd out:r size ptr in/timespec
	mq_notify       fd ptr
	mq_getsetattr   fd in/mq_attr out/mq_attr
	ptrace          enum:ptrace int hex hex
	syslog          int ptr int
	setreuid        int int
	setregid        int int
	setresuid       int int int
	setresgid       int int int
	getresuid       out/int out/int out/int
	getresgid       out/int out/int out/int
	setfsuid        int
	setfsgid        int
	getgroups       int ptr
	setgroups       int ptr
	capget          ptr ptr
	capset          ptr ptr
	rt_sigqueueinfo int sig ptr
	rt_tgsigqueueinfo int int sig ptr
	signalfd        fd sigset size =fd
	personality     hex
	sched_setparam  int in/sched_param
	sched_getparam  int out/sched_param
	sched_getscheduler int
	sched_get_priority_max flags:policy
	sched_get_priority_min flags:policy
	sched_rr_get_interval int out/timespec
	sched_setattr   int in/sched_attr hex
	sched_getattr   int out/sched_attr size hex
	getcpu          out/int out/int ptr
	get_robust_list int ptr ptr
	futex_waitv     in/futex_waitv uint hex in/timespec enum:clock
	membarrier      int hex int
	adjtimex        out/__kernel_timex
	clock_adjtime   enum:clock out/__kernel_timex
	settimeofday    in/timeval ptr
	timer_gettime   int out/itimerspec
	timer_getoverrun int
	io_setup        uint ptr
	io_destroy      hex
	io_getevents    hex off off outif/io_event in/timespec
	io_pgetevents   hex off off outif/io_event in/timespec ptr
	io_submit       hex off ptr
	io_cancel       hex ptr ptr
	add_key         str str in:4 size int
	request_key     str str str int
	keyctl          int hex hex hex hex
	ioprio_set      int int hex
	ioprio_get      int int
	inotify_init    =fd
	fanotify_init   hex hex =fd
	fanotify_mark   fd hex hex at path
	open_by_handle_at fd ptr flags:open =fd
	open_tree       at path hex =fd
	move_mount      at path at path hex
	fsopen          str hex =fd
	fsconfig        fd uint str ptr int
	fsmount         fd hex hex =fd
	fspick          at path hex =fd
	mount_setattr   at path hex in/mount_attr size
	quotactl        hex path int ptr
	ustat           hex out/ustat
	process_vm_readv int vec:r int ptr size hex
	process_vm_writev int vec:r int ptr size hex
	kcmp            int int int hex hex
	seccomp         uint hex ptr
	landlock_create_ruleset in/landlock_ruleset_attr size hex
	landlock_add_rule fd int ptr hex
	landlock_restrict_self fd hex
	kexec_load      ptr size ptr hex
	kexec_file_load fd fd size str hex
	reboot          hex hex hex ptr
	vhangup
	iopl            uint
	ioperm          size size int
	quotactl_fd     fd hex int ptr
	set_mempolicy_home_node size size size hex
	set_thread_area ptr
	get_thread_area ptr
	sysfs           int size size
	uselib          path
	lookup_dcookie  hex out:r size
	cachestat       fd ptr ptr hex
	map_shadow_stack hex size hex =x
	futex_wake      ptr hex int hex
	futex_wait      ptr hex hex hex in/timespec enum:clock
	futex_requeue   ptr hex int int
	listmount       ptr ptr size hex
	lsm_get_self_attr uint ptr ptr hex
	lsm_set_self_attr uint ptr size hex
	lsm_list_modules ptr ptr hex
	mseal           ptr size hex
	setxattrat      at path flags:at str ptr size
	getxattrat      at path flags:at str ptr size
	listxattrat     at path flags:at out:r size
	removexattrat   at path flags:at str
	open_tree_attr  at path hex in/mount_attr size =fd
`;

/** The words of a call's arguments; undefined: the kernel's format has to do. */
export const SIGNATURES = signaturesIn(TABLE);

/** Calls of 32-bit programs, or with another name elsewhere, that have another one's arguments. */
export const SAME_AS: Readonly<Record<string, string>> = {
	fcntl64: 'fcntl',
	ugetrlimit: 'getrlimit',
	umount: 'chdir',
};

/**
 * Calls of 32-bit programs whose arguments are others than those of the call with that name: numbers of 64 bits come in
 * two halves, and the oldest calls get all they have in memory. Source: arch/x86/entry/syscalls/syscall_32.tbl,
 * arch/x86/kernel/sys_ia32.c; arch/arm64/kernel/sys32.c, where the first half begins with an even register.
 */
const TABLE_OF_32_BIT = `
	stat64          path ptr
	lstat64         path ptr
	fstat64         fd ptr
	fstatat64       at path ptr flags:at
	statfs64        path size ptr
	fstatfs64       fd size ptr
	mmap            ptr =x
	mmap2           ptr size flags:prot flags:map fd hex =x
	select          ptr
	waitpid         int ptr flags:wait
	pread64         fd out:r size hex hex hex
	pwrite64        fd in:3 size hex hex hex
	readahead       fd hex hex hex hex
	truncate64      path hex hex hex
	ftruncate64     fd hex hex hex
	fallocate       fd hex hex hex hex hex
	fadvise64       fd hex hex hex hex
	fadvise64_64    fd hex hex hex hex hex
	arm_fadvise64_64 fd hex hex hex hex hex
	sync_file_range fd hex hex hex hex hex
	sync_file_range2 fd hex hex hex hex hex
	clock_gettime64 enum:clock ptr
	clock_settime64 enum:clock ptr
	clock_nanosleep_time64 enum:clock flags:timer ptr ptr
	futex_time64    ptr enum:futex uint ptr ptr uint
	_llseek         fd hex hex ptr enum:whence
	fanotify_mark   fd hex hex hex at path
`;

/** Of calls of 32-bit programs: looked at first. */
export const SIGNATURES_OF_32_BIT = signaturesIn(TABLE_OF_32_BIT);

function signaturesIn(table: string): ReadonlyMap<string, readonly string[]> {
	return new Map(
		table
			.trim()
			.split('\n')
			.map((line) => {
				const [name = '', ...words] = line.trim().split(/\s+/);
				return [name, words] as const;
			}),
	);
}
