/** Names of bits and of values, as the kernel's headers have them: include/uapi. */

/** "NAME=number …" with the names' common beginning; numbers as in C. */
type Words = readonly [prefix: string, words: string];

/** Sets of bits. */
const BITS: Readonly<Record<string, Words>> = {
	// O_RDONLY, O_WRONLY and O_RDWR are values: ACCESS_MODES.
	open: [
		'O_',
		`CREAT=0100 EXCL=0200 NOCTTY=0400 TRUNC=01000 APPEND=02000 NONBLOCK=04000 SYNC=04010000
		DSYNC=010000 DIRECT=040000 LARGEFILE=0100000 TMPFILE=020200000 DIRECTORY=0200000
		NOFOLLOW=0400000 NOATIME=01000000 CLOEXEC=02000000 PATH=010000000`,
	],
	// Of calls that make a descriptor: no access mode is among them.
	descriptor: ['O_', 'NONBLOCK=04000 CLOEXEC=02000000 DIRECT=040000'],
	at: [
		'AT_',
		`SYMLINK_NOFOLLOW=0x100 REMOVEDIR=0x200 SYMLINK_FOLLOW=0x400 NO_AUTOMOUNT=0x800 EMPTY_PATH=0x1000
		STATX_FORCE_SYNC=0x2000 STATX_DONT_SYNC=0x4000 RECURSIVE=0x8000`,
	],
	unlink: ['AT_', 'REMOVEDIR=0x200'],
	access: ['', 'R_OK=4 W_OK=2 X_OK=1'],
	rename: ['RENAME_', 'NOREPLACE=1 EXCHANGE=2 WHITEOUT=4'],
	rwf: ['RWF_', 'HIPRI=1 DSYNC=2 SYNC=4 NOWAIT=8 APPEND=16'],
	statx: ['STATX_', 'BASIC_STATS=0x7ff BTIME=0x800 MNT_ID=0x1000 DIOALIGN=0x2000'],
	close_range: ['CLOSE_RANGE_', 'UNSHARE=2 CLOEXEC=4'],
	mount: [
		'MS_',
		`RDONLY=1 NOSUID=2 NODEV=4 NOEXEC=8 SYNCHRONOUS=16 REMOUNT=32 NOATIME=1024 NODIRATIME=2048
		BIND=4096 MOVE=8192 REC=16384 SILENT=32768 UNBINDABLE=0x20000 PRIVATE=0x40000 SLAVE=0x80000
		SHARED=0x100000 RELATIME=0x200000 STRICTATIME=0x1000000`,
	],
	umount: ['MNT_', 'FORCE=1 DETACH=2 EXPIRE=4'],
	xattr: ['XATTR_', 'CREATE=1 REPLACE=2'],
	flock: ['LOCK_', 'SH=1 EX=2 NB=4 UN=8'],
	splice: ['SPLICE_F_', 'MOVE=1 NONBLOCK=2 MORE=4 GIFT=8'],
	memfd: ['MFD_', 'CLOEXEC=1 ALLOW_SEALING=2 HUGETLB=4 NOEXEC_SEAL=8 EXEC=16'],
	clone: [
		'CLONE_',
		`VM=0x100 FS=0x200 FILES=0x400 SIGHAND=0x800 PIDFD=0x1000 PTRACE=0x2000 VFORK=0x4000 PARENT=0x8000
		THREAD=0x10000 NEWNS=0x20000 SYSVSEM=0x40000 SETTLS=0x80000 PARENT_SETTID=0x100000
		CHILD_CLEARTID=0x200000 DETACHED=0x400000 UNTRACED=0x800000 CHILD_SETTID=0x1000000
		NEWCGROUP=0x2000000 NEWUTS=0x4000000 NEWIPC=0x8000000 NEWUSER=0x10000000 NEWPID=0x20000000
		NEWNET=0x40000000 IO=0x80000000`,
	],
	wait: ['W', 'NOHANG=1 UNTRACED=2 EXITED=4 CONTINUED=8 NOWAIT=0x1000000'],
	random: ['GRND_', 'NONBLOCK=1 RANDOM=2 INSECURE=4'],
	prot: ['PROT_', 'READ=1 WRITE=2 EXEC=4 GROWSDOWN=0x1000000 GROWSUP=0x2000000'],
	map: [
		'MAP_',
		`SHARED=1 PRIVATE=2 FIXED=16 ANONYMOUS=32 32BIT=64 GROWSDOWN=0x100 DENYWRITE=0x800
		EXECUTABLE=0x1000 LOCKED=0x2000 NORESERVE=0x4000 POPULATE=0x8000 NONBLOCK=0x10000 STACK=0x20000
		HUGETLB=0x40000 SYNC=0x80000 FIXED_NOREPLACE=0x100000`,
	],
	mremap: ['MREMAP_', 'MAYMOVE=1 FIXED=2 DONTUNMAP=4'],
	msync: ['MS_', 'ASYNC=1 INVALIDATE=2 SYNC=4'],
	timer: ['TIMER_', 'ABSTIME=1'],
	socket: ['SOCK_', 'NONBLOCK=04000 CLOEXEC=02000000'],
	msg: [
		'MSG_',
		`OOB=1 PEEK=2 DONTROUTE=4 CTRUNC=8 TRUNC=32 DONTWAIT=64 EOR=128 WAITALL=256 NOSIGNAL=0x4000
		MORE=0x8000 WAITFORONE=0x10000 ZEROCOPY=0x4000000 FASTOPEN=0x20000000 CMSG_CLOEXEC=0x40000000
		ERRQUEUE=0x2000`,
	],
	poll: [
		'POLL',
		'IN=1 PRI=2 OUT=4 ERR=8 HUP=16 NVAL=32 RDNORM=64 RDBAND=128 WRNORM=256 WRBAND=512 RDHUP=0x2000',
	],
	epoll: [
		'EPOLL',
		`IN=1 PRI=2 OUT=4 ERR=8 HUP=16 RDNORM=64 RDBAND=128 WRNORM=256 WRBAND=512 RDHUP=0x2000
		EXCLUSIVE=0x10000000 WAKEUP=0x20000000 ONESHOT=0x40000000 ET=0x80000000`,
	],
};

/** Values below the bits of a set: how a file is opened, what kind of socket it is. */
const LOW_VALUES: Readonly<Record<string, readonly [mask: number, ...Words]>> = {
	open: [3, 'O_', 'RDONLY=0 WRONLY=1 RDWR=2'],
	clone: [0xff, 'SIG', 'CHLD=17'],
	socket: [15, 'SOCK_', 'STREAM=1 DGRAM=2 RAW=3 RDM=4 SEQPACKET=5 DCCP=6 PACKET=10'],
};

/** What 0 is called. */
const ZERO: Readonly<Record<string, string>> = { access: 'F_OK', prot: 'PROT_NONE' };

/** arch/arm64/include/uapi/asm/fcntl.h has four of them in other places. */
const ARM64_OPEN =
	'DIRECTORY=040000 NOFOLLOW=0100000 DIRECT=0200000 LARGEFILE=0400000 TMPFILE=020040000';

const VALUES: Readonly<Record<string, Words>> = {
	whence: ['SEEK_', 'SET=0 CUR=1 END=2 DATA=3 HOLE=4'],
	fcntl: [
		'F_',
		`DUPFD=0 GETFD=1 SETFD=2 GETFL=3 SETFL=4 GETLK=5 SETLK=6 SETLKW=7 SETOWN=8 GETOWN=9 SETSIG=10
		GETSIG=11 SETOWN_EX=15 GETOWN_EX=16 OFD_GETLK=36 OFD_SETLK=37 OFD_SETLKW=38 SETLEASE=1024
		GETLEASE=1025 DUPFD_CLOEXEC=1030 SETPIPE_SZ=1031 GETPIPE_SZ=1032 ADD_SEALS=1033 GET_SEALS=1034`,
	],
	ioctl: [
		'',
		`TCGETS=0x5401 TCSETS=0x5402 TCSETSW=0x5403 TCSETSF=0x5404 TIOCSCTTY=0x540e TIOCGPGRP=0x540f
		TIOCSPGRP=0x5410 TIOCGWINSZ=0x5413 TIOCSWINSZ=0x5414 FIONREAD=0x541b FIONBIO=0x5421
		TIOCNOTTY=0x5422 TIOCGPTN=0x80045430 FIOCLEX=0x5451 FIONCLEX=0x5450 FICLONE=0x40049409
		BLKGETSIZE64=0x80081272 FS_IOC_GETFLAGS=0x80086601 PERF_EVENT_IOC_ENABLE=0x2400
		PERF_EVENT_IOC_DISABLE=0x2401 PERF_EVENT_IOC_SET_BPF=0x40042408 SIOCGIFCONF=0x8912
		SIOCGIFFLAGS=0x8913 SIOCGIFADDR=0x8915`,
	],
	clock: [
		'CLOCK_',
		`REALTIME=0 MONOTONIC=1 PROCESS_CPUTIME_ID=2 THREAD_CPUTIME_ID=3 MONOTONIC_RAW=4
		REALTIME_COARSE=5 MONOTONIC_COARSE=6 BOOTTIME=7 REALTIME_ALARM=8 BOOTTIME_ALARM=9 TAI=11`,
	],
	idtype: ['P_', 'ALL=0 PID=1 PGID=2 PIDFD=3'],
	prctl: [
		'PR_',
		`SET_PDEATHSIG=1 GET_PDEATHSIG=2 GET_DUMPABLE=3 SET_DUMPABLE=4 GET_KEEPCAPS=7 SET_KEEPCAPS=8
		SET_NAME=15 GET_NAME=16 GET_SECCOMP=21 SET_SECCOMP=22 CAPBSET_READ=23 CAPBSET_DROP=24
		GET_TIMERSLACK=30 SET_TIMERSLACK=29 SET_MM=35 SET_CHILD_SUBREAPER=36 GET_CHILD_SUBREAPER=37
		SET_NO_NEW_PRIVS=38 GET_NO_NEW_PRIVS=39 CAP_AMBIENT=47 SET_VMA=0x53564d41`,
	],
	arch_prctl: [
		'ARCH_',
		'SET_GS=0x1001 SET_FS=0x1002 GET_FS=0x1003 GET_GS=0x1004 CET_STATUS=0x3001 SHSTK_STATUS=0x5005',
	],
	rlimit: [
		'RLIMIT_',
		`CPU=0 FSIZE=1 DATA=2 STACK=3 CORE=4 RSS=5 NPROC=6 NOFILE=7 MEMLOCK=8 AS=9 LOCKS=10 SIGPENDING=11
		MSGQUEUE=12 NICE=13 RTPRIO=14 RTTIME=15`,
	],
	madvise: [
		'MADV_',
		`NORMAL=0 RANDOM=1 SEQUENTIAL=2 WILLNEED=3 DONTNEED=4 FREE=8 REMOVE=9 DONTFORK=10 DOFORK=11
		MERGEABLE=12 UNMERGEABLE=13 HUGEPAGE=14 NOHUGEPAGE=15 DONTDUMP=16 DODUMP=17 WIPEONFORK=18
		KEEPONFORK=19 COLD=20 PAGEOUT=21 POPULATE_READ=22 POPULATE_WRITE=23 COLLAPSE=25`,
	],
	futex: [
		'FUTEX_',
		`WAIT=0 WAKE=1 REQUEUE=3 CMP_REQUEUE=4 WAKE_OP=5 LOCK_PI=6 UNLOCK_PI=7 TRYLOCK_PI=8 WAIT_BITSET=9
		WAKE_BITSET=10 WAIT_PRIVATE=128 WAKE_PRIVATE=129 REQUEUE_PRIVATE=131 CMP_REQUEUE_PRIVATE=132
		WAKE_OP_PRIVATE=133 LOCK_PI_PRIVATE=134 UNLOCK_PI_PRIVATE=135 WAIT_BITSET_PRIVATE=137
		WAKE_BITSET_PRIVATE=138 WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME=393`,
	],
	itimer: ['ITIMER_', 'REAL=0 VIRTUAL=1 PROF=2'],
	sighow: ['SIG_', 'BLOCK=0 UNBLOCK=1 SETMASK=2'],
	epoll_ctl: ['EPOLL_CTL_', 'ADD=1 DEL=2 MOD=3'],
	family: [
		'AF_',
		'UNSPEC=0 UNIX=1 INET=2 AX25=3 INET6=10 NETLINK=16 PACKET=17 ALG=38 VSOCK=40 XDP=44 BLUETOOTH=31',
	],
	shut: ['SHUT_', 'RD=0 WR=1 RDWR=2'],
	sol: ['SOL_', 'IP=0 SOCKET=1 TCP=6 UDP=17 IPV6=41 PACKET=263 NETLINK=270'],
	bpf: [
		'BPF_',
		`MAP_CREATE=0 MAP_LOOKUP_ELEM=1 MAP_UPDATE_ELEM=2 MAP_DELETE_ELEM=3 MAP_GET_NEXT_KEY=4 PROG_LOAD=5
		OBJ_PIN=6 OBJ_GET=7 PROG_ATTACH=8 PROG_DETACH=9 OBJ_GET_INFO_BY_FD=15 RAW_TRACEPOINT_OPEN=17
		BTF_LOAD=18 LINK_CREATE=28 ENABLE_STATS=32 ITER_CREATE=33`,
	],
};

function pairs([prefix, words]: Words): Array<[number, string]> {
	return words
		.trim()
		.split(/\s+/)
		.map((word) => {
			const [name = '', number = ''] = word.split('=');
			const octal = /^0[0-7]+$/.test(number) ? `0o${number.slice(1)}` : number;
			return [Number(octal) >>> 0, prefix + name];
		});
}

/** A set of bits with names. */
export interface Flags {
	/** Those of several bits before those of one. */
	readonly bits: ReadonlyArray<readonly [number, string]>;
	readonly mask: number;
	readonly values: ReadonlyMap<number, string>;
	readonly zero: string;
}

const bitsIn = (value: number) => value.toString(2).replaceAll('0', '').length;

/** The names of a set of bits; undefined: there is none of this name. */
export function flagsOf(name: string, arch: string = process.arch): Flags | undefined {
	const words = BITS[name];
	if (!words) return undefined;
	const bits = new Map(pairs(words).map(([value, word]) => [word, value]));
	if (name === 'open' && arch === 'arm64')
		for (const [value, word] of pairs(['O_', ARM64_OPEN])) bits.set(word, value);
	const low = LOW_VALUES[name];
	return {
		bits: [...bits]
			.map(([word, value]) => [value, word] as const)
			.sort((a, b) => bitsIn(b[0]) - bitsIn(a[0]) || a[0] - b[0]),
		mask: low?.[0] ?? 0,
		values: new Map(low ? pairs([low[1], low[2]]) : []),
		zero: ZERO[name] ?? '0',
	};
}

/** "O_WRONLY|O_CREAT|0x40000000": bits without a name are a number. */
export function flagsText({ bits, mask, values, zero }: Flags, value: number): string {
	const words: string[] = [];
	let rest = value >>> 0;
	if (mask !== 0) {
		const low = (rest & mask) >>> 0;
		const word = values.get(low);
		if (word !== undefined || low !== 0) words.push(word ?? `0x${low.toString(16)}`);
		rest = (rest & ~mask) >>> 0;
	}
	for (const [bit, word] of bits) {
		if (bit === 0 || (rest & bit) >>> 0 !== bit) continue;
		words.push(word);
		rest = (rest & ~bit) >>> 0;
	}
	if (rest !== 0) words.push(`0x${rest.toString(16)}`);
	return words.length > 0 ? words.join('|') : zero;
}

/** The names of values; undefined: there are none of this name. */
export function valuesOf(name: string): ReadonlyMap<number, string> | undefined {
	const words = VALUES[name];
	return words && new Map(pairs(words));
}
