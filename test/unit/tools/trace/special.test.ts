/** Arguments that mean something else by what another argument is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trace as layout } from '../../../../src/generated/trace.js';
import { callLine, callNumber as nr } from './lines.js';

const { CAPTURED, CAPTURED_CUT } = layout.enums.capture_status;

const ints = (...values: number[]) => new Uint8Array(new Int32Array(values).buffer);
const longs = (...values: (number | bigint)[]) =>
	new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer);
const captured = (argument: number, text: Uint8Array) => ({ argument, text });

test('options of sockets: named by their level; a number, or bytes', () => {
	const set = (level: number, option: number, text: Uint8Array) =>
		callLine({
			nr: nr('setsockopt'),
			args: [3, level, option, 0x1000, text.length],
			captures: [captured(3, text)],
		});
	assert.equal(set(1, 2, ints(1)), 'setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0');
	assert.equal(set(6, 1, ints(-1)), 'setsockopt(3, SOL_TCP, TCP_NODELAY, [-1], 4) = 0');
	assert.equal(set(41, 26, ints(0)), 'setsockopt(3, SOL_IPV6, IPV6_V6ONLY, [0], 4) = 0');
	assert.equal(set(1, 999, ints(7)), 'setsockopt(3, SOL_SOCKET, 999, [7], 4) = 0');
	assert.equal(set(77, 2, ints(7)), 'setsockopt(3, 77, 2, [7], 4) = 0');
	assert.equal(
		set(1, 13, ints(1, 5)),
		'setsockopt(3, SOL_SOCKET, SO_LINGER, {l_onoff=1, l_linger=5}, 8) = 0',
	);
	assert.equal(
		set(1, 20, longs(3, 250_000)),
		'setsockopt(3, SOL_SOCKET, SO_RCVTIMEO_OLD, {tv_sec=3, tv_usec=250000}, 16) = 0',
	);
	// Longer than what the kernel takes of it.
	assert.match(set(1, 13, ints(1, 5, 9)), /, SO_LINGER, \{l_onoff=1, l_linger=5\}, 12\) = 0$/);
	// Of another level, or shorter.
	assert.match(set(0, 13, ints(1, 5)), /, "\\1\\0\\0\\0\\5\\0\\0\\0", 8\) = 0$/);
	assert.match(set(1, 20, ints(3, 5)), /, SO_RCVTIMEO_OLD, "\\3\\0\\0\\0\\5\\0\\0\\0", 8\) = 0$/);
	const get = {
		nr: nr('getsockopt'),
		args: [3, 1, 4, 0x1000, 0x2000],
		captures: [captured(3, ints(111)), captured(4, ints(4))],
	};
	assert.equal(callLine(get), 'getsockopt(3, SOL_SOCKET, SO_ERROR, [111], [4]) = 0');
	assert.equal(
		callLine({ ...get, result: -9 }),
		'getsockopt(3, SOL_SOCKET, SO_ERROR, 0x1000, 0x2000) = -1 EBADF',
	);
});

test('futex: as many arguments as the operation has, and what the fourth one is', () => {
	const futex = (operation: number, fourth: Uint8Array | number, last = 0xffff_ffff) =>
		callLine({
			nr: nr('futex'),
			args: [0x5000, operation, 2, typeof fourth === 'number' ? fourth : 0x1000, 0x6000, last],
			captures: typeof fourth === 'number' ? [] : [captured(3, fourth)],
		});
	assert.equal(futex(129, 0x1000), 'futex(0x5000, FUTEX_WAKE_PRIVATE, 2) = 0');
	// What is there by chance, and can be read, is no time either.
	assert.equal(futex(129, longs(1, 2)), 'futex(0x5000, FUTEX_WAKE_PRIVATE, 2) = 0');
	assert.equal(futex(128, 0), 'futex(0x5000, FUTEX_WAIT_PRIVATE, 2, NULL) = 0');
	assert.equal(futex(0, longs(1, 5)), 'futex(0x5000, FUTEX_WAIT, 2, {tv_sec=1, tv_nsec=5}) = 0');
	assert.equal(
		futex(393, longs(1, 5)),
		'futex(0x5000, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 2, {tv_sec=1, tv_nsec=5}, 0x6000, FUTEX_BITSET_MATCH_ANY) = 0',
	);
	assert.equal(
		futex(132, longs(1, 5), 8),
		`futex(0x5000, FUTEX_CMP_REQUEUE_PRIVATE, 2, ${0x1000}, 0x6000, 8) = 0`,
	);
});

test('fcntl: what each command takes; nothing, if it takes nothing', () => {
	const fcntl = (command: number, argument: number, text?: Uint8Array, result = 0) =>
		callLine({
			nr: nr('fcntl'),
			args: [3, command, argument],
			captures: text ? [captured(2, text)] : [],
			result,
		});
	assert.equal(fcntl(1, 0x1234, undefined, 1), 'fcntl(3, F_GETFD) = 0x1 (flags FD_CLOEXEC)');
	assert.equal(fcntl(1, 0x1234), 'fcntl(3, F_GETFD) = 0');
	assert.equal(fcntl(1, 0x1234, undefined, -9), 'fcntl(3, F_GETFD) = -1 EBADF');
	assert.equal(
		fcntl(3, 0x1234, undefined, 0o4002),
		'fcntl(3, F_GETFL) = 0x802 (flags O_RDWR|O_NONBLOCK)',
	);
	assert.equal(fcntl(3, 0, undefined, 0), 'fcntl(3, F_GETFL) = 0 (flags O_RDONLY)');
	assert.equal(fcntl(9, 0x1234, undefined, 1), 'fcntl(3, F_GETOWN) = 1');
	assert.equal(fcntl(2, 1), 'fcntl(3, F_SETFD, FD_CLOEXEC) = 0');
	assert.equal(fcntl(4, 0o4001), 'fcntl(3, F_SETFL, O_WRONLY|O_NONBLOCK) = 0');
	assert.equal(fcntl(1030, 20, undefined, 20), 'fcntl(3, F_DUPFD_CLOEXEC, 20) = 20');
	const lock = new Uint8Array(32);
	const view = new DataView(lock.buffer);
	view.setInt16(0, 1, true);
	view.setInt16(2, 2, true);
	view.setBigInt64(8, -5n, true);
	view.setBigInt64(16, 100n, true);
	assert.equal(
		fcntl(6, 0x1000, lock),
		'fcntl(3, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_END, l_start=-5, l_len=100}) = 0',
	);
	assert.equal(fcntl(7, 0x1000), 'fcntl(3, F_SETLKW, 0x1000) = 0');
});

test('sets of descriptors, as many as are asked about; signals, and what is done with them', () => {
	const set = new Uint8Array(128);
	for (const fd of [0, 5, 33, 64]) set[fd >> 3] = (set[fd >> 3] ?? 0) | (1 << (fd & 7));
	const select = (count: number) =>
		callLine({
			nr: nr('pselect6'),
			args: [count, 0x1000, 0, 0x2000, 0, 0],
			captures: [captured(1, set), captured(3, new Uint8Array(128))],
			result: 1,
		});
	assert.equal(select(64), 'pselect6(64, [0 5 33], NULL, [], NULL, NULL) = 1');
	assert.equal(select(-1), 'pselect6(-1, [], NULL, [], NULL, NULL) = 1');
	assert.match(select(2 ** 30), /^pselect6\(1073741824, \[0 5 33 64\], /);
	// struct sigaction: handler, flags, restorer, mask.
	const actions = [longs(1, 0x1400_0000, 0x7f00, 0x4002), longs(0x5000, 0, 0, 0)];
	assert.equal(
		callLine({
			nr: nr('rt_sigaction'),
			args: [10, 0x1000, 0x2000, 8],
			captures: actions.map((text, i) => captured(i + 1, text)),
		}),
		'rt_sigaction(SIGUSR1, {sa_handler=SIG_IGN, sa_mask=[INT TERM], sa_flags=SA_RESTORER|SA_RESTART}, {sa_handler=0x5000, sa_mask=[], sa_flags=0}, 8) = 0',
	);
});

test('a wait in which nothing happened has an empty list; one that failed an address', () => {
	const wait = { nr: nr('epoll_pwait'), args: [8, 0x1000, 10, 0, 0, 8] };
	assert.equal(callLine(wait), 'epoll_pwait(8, [], 10, 0, NULL, 8) = 0');
	const captures = [captured(1, longs(1, 2))];
	assert.match(callLine({ ...wait, result: -4, captures }), /^epoll_pwait\(8, 0x1000, 10, /);
});

test('structures inside structures; limits that are none; what kind of file', () => {
	const simple = (name: string, args: number[], at: number, text: Uint8Array) =>
		callLine({ nr: nr(name), args, captures: [captured(at, text)] });
	assert.equal(
		simple('timerfd_settime', [5, 1, 0x1000, 0], 2, longs(1, 2, 3, 4)),
		'timerfd_settime(5, TFD_TIMER_ABSTIME, {it_interval={tv_sec=1, tv_nsec=2}, it_value={tv_sec=3, tv_nsec=4}}, NULL) = 0',
	);
	assert.equal(
		simple('getrlimit', [7, 0x1000], 1, longs(1024, -1)),
		'getrlimit(RLIMIT_NOFILE, {rlim_cur=1024, rlim_max=RLIM64_INFINITY}) = 0',
	);
	const stat = (mode: number) => {
		const text = new Uint8Array(144);
		// st_mode and st_size, by asm/stat.h.
		new DataView(text.buffer).setUint32(process.arch === 'x64' ? 24 : 16, mode, true);
		new DataView(text.buffer).setUint32(48, 77, true);
		return simple('fstat', [3, 0x1000], 1, text);
	};
	assert.equal(stat(0o100640), 'fstat(3, {st_mode=S_IFREG|0640, st_size=77}) = 0');
	assert.equal(stat(0o041777), 'fstat(3, {st_mode=S_IFDIR|01777, st_size=77}) = 0');
	assert.equal(stat(0o150000), 'fstat(3, {st_mode=0150000, st_size=77}) = 0');
});

test('sets of CPUs, what pointers to numbers lead to, lists of one', () => {
	const cpus = new Uint8Array(16);
	for (const cpu of [0, 1, 63, 64]) cpus[cpu >> 3] = (cpus[cpu >> 3] ?? 0) | (1 << (cpu & 7));
	assert.equal(
		callLine({
			nr: nr('sched_getaffinity'),
			args: [0, 128, 0x1000],
			captures: [captured(2, cpus)],
			result: 16,
		}),
		'sched_getaffinity(0, 128, [0 1 63 64]) = 16',
	);
	const affinity = (text: Uint8Array, status: number = CAPTURED) =>
		callLine({
			nr: nr('sched_setaffinity'),
			args: [0, text.length, 0x1000],
			captures: [{ ...captured(2, text), status }],
		});
	assert.equal(affinity(Uint8Array.of(5)), 'sched_setaffinity(0, 1, [0 2]) = 0');
	assert.equal(affinity(Uint8Array.of(0, 0, 0, 0, 1)), 'sched_setaffinity(0, 5, [32]) = 0');
	assert.equal(affinity(cpus, CAPTURED_CUT), 'sched_setaffinity(0, 16, [0 1 63 64...]) = 0');
	assert.equal(
		callLine({
			nr: nr('copy_file_range'),
			args: [3, 0x1000, 4, 0, 10, 0],
			captures: [captured(1, longs(2 ** 33))],
			result: 10,
		}),
		'copy_file_range(3, [8589934592], 4, NULL, 10, 0) = 10',
	);
	// struct pollfd: fd, events, revents.
	const poll = new Uint8Array(new Uint16Array([6, 0, 1, 1]).buffer);
	assert.equal(
		callLine({
			nr: nr('ppoll'),
			args: [0x1000, 1, 0, 0, 8],
			captures: [captured(0, poll)],
			result: 1,
		}),
		'ppoll([{fd=6, events=POLLIN, revents=POLLIN}], 1, NULL, NULL, 8) = 1',
	);
});

test('the protocol of a socket by its family; a string without the 0 at its end', () => {
	const socket = (family: number, protocol: number) =>
		callLine({ nr: nr('socket'), args: [family, 1, protocol], result: 3 });
	assert.equal(socket(2, 6), 'socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3');
	assert.equal(socket(10, 0), 'socket(AF_INET6, SOCK_STREAM, IPPROTO_IP) = 3');
	assert.equal(socket(16, 4), 'socket(AF_NETLINK, SOCK_STREAM, NETLINK_SOCK_DIAG) = 3');
	assert.equal(socket(1, 0), 'socket(AF_UNIX, SOCK_STREAM, 0) = 3');
	assert.equal(socket(2, -1), 'socket(AF_INET, SOCK_STREAM, -1) = 3');
	const cwd = (text: string) =>
		callLine({
			nr: nr('getcwd'),
			args: [0x1000, 100],
			captures: [captured(0, new TextEncoder().encode(text))],
			result: text.length,
		});
	assert.equal(cwd('/tmp\0'), 'getcwd("/tmp", 100) = 5');
	assert.equal(cwd('/tmp'), 'getcwd("/tmp", 100) = 4');
	assert.equal(
		callLine({ nr: nr('faccessat2'), args: [-100, 0, 1, 0x200] }),
		'faccessat2(AT_FDCWD, NULL, X_OK, AT_EACCESS) = 0',
	);
	assert.equal(
		callLine({ nr: nr('getrusage'), args: [-1, 0] }),
		'getrusage(RUSAGE_CHILDREN, NULL) = 0',
	);
});

test('what a call has not written, or does not look at, is not shown', () => {
	const status = captured(1, ints(0x100));
	const wait = { nr: nr('wait4'), args: [-1, 0x1000, 1, 0], captures: [status] };
	assert.equal(callLine(wait), 'wait4(-1, 0x1000, WNOHANG, NULL) = 0');
	assert.equal(
		callLine({ ...wait, result: 7 }),
		'wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 1}], WNOHANG, NULL) = 7',
	);
	const open = (flags: number) =>
		callLine({ nr: nr('mq_open'), args: [0, flags, 0o600, 0], result: 3 });
	assert.equal(open(0), 'mq_open(NULL, O_RDONLY) = 3');
	assert.equal(open(0o100), 'mq_open(NULL, O_RDONLY|O_CREAT, 0600, NULL) = 3');
	// A file without a name has a mode, too.
	const openat = (flags: number) =>
		callLine({ nr: nr('openat'), args: [-100, 0, flags, 0o600], result: 3 });
	assert.equal(openat(2), 'openat(AT_FDCWD, NULL, O_RDWR) = 3');
	assert.match(openat(0o20200002), /O_TMPFILE, 0600\) = 3$/);
});

test('modes among flags are in base 8; a policy with its flag', () => {
	const semget = (flags: number) => callLine({ nr: nr('semget'), args: [1, 2, flags], result: 3 });
	assert.equal(semget(0o1666), 'semget(0x1, 2, IPC_CREAT|0666) = 3');
	assert.equal(semget(0), 'semget(0x1, 2, 0) = 3');
	assert.equal(
		callLine({ nr: nr('sched_setscheduler'), args: [5, 0x40000002, 0] }),
		'sched_setscheduler(5, SCHED_RR|SCHED_RESET_ON_FORK, NULL) = 0',
	);
	assert.equal(
		callLine({ nr: nr('sched_setscheduler'), args: [5, 0, 0] }),
		'sched_setscheduler(5, SCHED_OTHER, NULL) = 0',
	);
});
