/** trace against calls whose arguments, results and durations are known, and against strace. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';
import { callTables } from '../../src/abi/syscalls.js';
import { HOOKS, needsHook } from './call-hooks.js';
import { runToEnd, Tracing, tstrace, until, Workload } from './support.js';
import { stracedCalls, type TracedLine, tracedCalls, tracedLines } from './traced-lines.js';

const callNumber = (name: string) =>
	Number(Object.entries(callTables()[0]).find(([, each]) => each === name)?.[0]);

/** What a workload does while it is traced. */
async function traced(
	kind: readonly string[],
	args: readonly string[] = [],
	env: Readonly<Record<string, string>> = {},
): Promise<{ text: string; lines: TracedLine[]; done: number[]; pid: number }> {
	const workload = await Workload.start('traced', ...kind);
	const tracing = await Tracing.start(['trace', '-p', `${workload.pid}`, ...args], env);
	const done = await workload.work();
	const { stdout, stderr, status } = await tracing.end('SIGINT');
	await workload.end();
	assert.equal(status, 0, stderr);
	assert.doesNotMatch(stderr, /^lost: /m);
	return { text: stdout, lines: tracedLines(stdout), done, pid: workload.pid };
}

/** Calls as "name(args) = result", with what is another one in each run as a word. */
const shownCalls = (lines: readonly TracedLine[]) =>
	lines.map(({ call, args, result, file }) =>
		[`${call}(${args})`, ...(result === undefined ? [] : [`= ${result}${file ? `<${file}>` : ''}`])]
			.join(' ')
			.replace(/0x7[0-9a-f]{11}|0x5[0-9a-f]{11}/g, 'ADDRESS')
			.replace(/tstrace-traced-\w{6}/g, 'FOLDER'),
	);

for (const hook of HOOKS) {
	test(
		`${hook}: calls with each kind of argument, as they were made`,
		needsHook(hook),
		async () => {
			const { lines, done, pid } = await traced(['known'], [], { TSTRACE_FORCE: hook });
			const [, , port = 0, client = 0, own = 0, slept_ns = 0] = done;
			const name = own.toString(16).padStart(5, '0');
			assert.ok(lines.every((line) => line.tid === pid && line.comm === 'traced'));
			const shown = shownCalls(lines);
			const has = (text: string | RegExp) =>
				assert.ok(
					shown.some((line) => (typeof text === 'string' ? line === text : text.test(line))),
					`${text} is not in\n${shown.join('\n')}`,
				);
			has('mkdir("/tmp/FOLDER", 0700) = 0');
			has('pipe2([3, 4], O_CLOEXEC) = 0');
			has('openat(AT_FDCWD, "/tmp/FOLDER/file", O_RDWR|O_CREAT|O_EXCL, 0640) = 5');
			has('write(5, "line\\n\\"two\\"\\t\\\\", 12) = 12');
			has('lseek(5, 5, SEEK_SET) = 5');
			has('read(5, "\\"two\\"", 5) = 5');
			has('pwrite64(5, "abc", 3, 100) = 3');
			has('ftruncate(5, 4242) = 0');
			has(
				/^(fstat\(5|newfstatat\(5, ""), \{st_mode=S_IFREG\|0640, st_size=4242\}(, AT_EMPTY_PATH)?\) = 0$/,
			);
			has('writev(4, ["first", "second"], 2) = 11');
			has('poll([{fd=3, events=POLLIN|POLLPRI, revents=POLLIN}], 1, 1000) = 1');
			has('read(3, "firstsecond", 64) = 11');
			has('epoll_create1(EPOLL_CLOEXEC) = 6');
			has('epoll_ctl(6, EPOLL_CTL_ADD, 3, {events=EPOLLIN, data=0x1234}) = 0');
			has(
				'renameat2(AT_FDCWD, "/tmp/FOLDER/file", AT_FDCWD, "/tmp/tstrace-no/such", RENAME_NOREPLACE) = -1 ENOENT',
			);
			has('unlink("/tmp/FOLDER/file") = 0');
			has('rmdir("/tmp/FOLDER") = 0');
			has(/^prlimit64\(0, RLIMIT_NOFILE, NULL, \{rlim_cur=\d+, rlim_max=\d+\}\) = 0$/);
			has('clock_nanosleep(CLOCK_MONOTONIC, 0, {tv_sec=0, tv_nsec=20000000}, NULL) = 0');
			has('mmap(NULL, 12288, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = ADDRESS');
			has('close(12345) = -1 EBADF');
			has('socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 7');
			has('bind(7, {AF_INET, 127.0.0.1:0}, 16) = 0');
			has(`getsockname(7, {AF_INET, 127.0.0.1:${port}}, [16]) = 0`);
			has('getsockname(8, {AF_UNIX}, [2]) = 0');
			has(`getsockname(8, {AF_UNIX, @"${name}"}, [${2 + 1 + name.length}]) = 0`);
			has(`connect(10, {AF_INET, 127.0.0.1:${port}}, 16) = 0`);
			has(`accept4(7, {AF_INET, 127.0.0.1:${client}}, [16], SOCK_CLOEXEC) = 11`);
			has('sendto(10, "q", 1, MSG_NOSIGNAL, NULL, 0) = 1');
			has('recvfrom(11, "q", 1, 0, NULL, NULL) = 1');
			has('sendmsg(10, {["message"]}, MSG_NOSIGNAL) = 7');
			has('sendmmsg(10, [{["one"], msg_len=3}, {["four"], msg_len=4}], 2, MSG_NOSIGNAL) = 2');
			has('recvmmsg(11, [{["messageonefour"], msg_len=14}], 1, MSG_WAITALL, NULL) = 1');
			has('connect(8, {AF_UNIX, "/no/such/socket"}, 110) = -1 ENOENT');
			has(/^sendto\(9, "six", 3, 0, \{AF_INET6, \[::1\]:4711\}, 28\) = /);
			const sleep = lines.find(({ call }) => call === 'clock_nanosleep');
			const duration_ns = (sleep?.duration_s ?? 0) * 1e9;
			assert.ok(duration_ns >= 20e6 && duration_ns <= slept_ns, `${duration_ns} of ${slept_ns}`);
			const times = lines.map(({ time }) => time);
			assert.deepEqual(times, times.toSorted());
		},
	);
}

test('-y: what descriptors are: file, pipe, sockets with their addresses', async () => {
	const { lines, done } = await traced(['known'], ['-y']);
	const [inode, , port, client] = done;
	const shown = shownCalls(lines);
	const cwd = process.cwd();
	for (const line of [
		`openat(AT_FDCWD<${cwd}>, "/tmp/FOLDER/file", O_RDWR|O_CREAT|O_EXCL, 0640) = 5</tmp/FOLDER/file>`,
		'read(5</tmp/FOLDER/file>, "\\"two\\"", 5) = 5',
		`read(3<pipe:[${inode}]>, "firstsecond", 64) = 11`,
		`writev(4<pipe:[${inode}]>, ["first", "second"], 2) = 11`,
		'close(12345) = -1 EBADF',
		`listen(7<tcp:127.0.0.1:${port}>, 5) = 0`,
		`sendto(10<tcp:127.0.0.1:${client}->127.0.0.1:${port}>, "q", 1, MSG_NOSIGNAL, NULL, 0) = 1`,
		`recvfrom(11<tcp:127.0.0.1:${port}->127.0.0.1:${client}>, "q", 1, 0, NULL, NULL) = 1`,
		`epoll_ctl(6<anon_inode:[eventpoll]>, EPOLL_CTL_ADD, 3<pipe:[${inode}]>, {events=EPOLLIN, data=0x1234}) = 0`,
	])
		assert.ok(shown.includes(line), `${line} is not in\n${shown.join('\n')}`);
	assert.ok(!shown.some((line) => line.includes('<?>')));
});

test('every call of this architecture: strace has the same, with the same results, in the same order', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-every-'));
	try {
		const file = join(folder, 'strace');
		const workload = resolve('build/workloads/traced');
		const command = `printf xx | exec strace -f -o ${file} ${workload} every`;
		const args = ['trace', '--comm', 'traced', '-o', join(folder, 'trace'), '--follow'];
		const { status, stderr } = tstrace([...args, '--', 'sh', '-c', command]);
		assert.equal(status, 0, stderr);
		assert.doesNotMatch(stderr, /^lost: /m);
		const lines = tracedLines(readFileSync(join(folder, 'trace'), 'utf8'));
		const theirs = readFileSync(file, 'utf8');
		const tid = Number(/^(\d+) +execve\(/.exec(theirs)?.[1]);
		const expected = stracedCalls(theirs, tid);
		assert.ok(new Set(expected.map(([name]) => name)).size >= 300, `${expected.length}`);
		assert.deepEqual(tracedCalls(lines, tid), expected);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('hostile strings are escaped, in lines and in JSON', async () => {
	const args = (lines: readonly TracedLine[]) =>
		lines.filter(({ call }) => call === 'openat').map((line) => line.args);
	const { lines, text } = await traced(['hostile']);
	const names = [
		'/no/\\33[31mred\\7',
		'/no/quote\\"and\\\\back',
		'/no/\\303\\244\\3771',
		'/no/new\\nline',
	];
	assert.deepEqual(
		args(lines),
		names.map((name) => `AT_FDCWD, "${name}", O_RDONLY`),
	);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\xff]/);
});

test('what is not in memory as the call begins is read as it returns; what is nowhere is an address', async () => {
	const { lines } = await traced(['cold'], ['-e', 'openat', '-Z']);
	assert.deepEqual(
		lines.map(({ args, result }) => [args, result]),
		[
			['AT_FDCWD, "/no/such/cold", O_RDONLY', '-1 ENOENT'],
			['AT_FDCWD, 0x1000, O_RDONLY', '-1 EFAULT'],
		],
	);
});

test('a read that fails has read nothing, and one that gets less no more than that', async () => {
	const { lines } = await traced(['nothing']);
	const reads = shownCalls(lines).filter((line) => /^readv?\(3, /.test(line));
	assert.deepEqual(reads, [
		'read(3, ADDRESS, 5) = -1 EAGAIN',
		'readv(3, ADDRESS, 2) = -1 EAGAIN',
		'readv(3, ["new"], 2) = 3',
	]);
});

test('each thread has its own calls, in its order', async () => {
	const { lines, pid } = await traced(['threads', '7'], ['-e', 'close']);
	const tids = [...new Set(lines.map(({ tid }) => tid))];
	assert.equal(tids.length, 7);
	assert.ok(lines.every((line) => line.pid === pid && line.result === '-1 EBADF'));
	const all = tids.map((tid) =>
		lines.filter((line) => line.tid === tid).map(({ args }) => Number(args)),
	);
	for (const numbers of all) {
		const first = numbers[0] ?? 0;
		assert.deepEqual(
			numbers,
			Array.from({ length: 20 }, (_, i) => first + i),
		);
	}
	const firsts = all.map(([first]) => first).toSorted();
	assert.deepEqual(
		firsts,
		Array.from({ length: 7 }, (_, i) => 1_000_000 + 1000 * i),
	);
});

test('a call that has not returned is shown in the end: one that began meanwhile, one that began before', async () => {
	const workload = await Workload.start('traced', 'blocked');
	const during = await Tracing.start(['trace', '-p', `${workload.pid}`]);
	await workload.work();
	const reads = () =>
		runToEnd('sh', ['-c', `cat /proc/${workload.pid}/task/*/syscall`]).stdout.match(/^0 0x/gm);
	await until(() => reads()?.length === 2);
	const before = await Tracing.start(['trace', '-p', `${workload.pid}`, '-e', 'read']);
	const ended = [await during.end('SIGINT'), await before.end('SIGINT')];
	await workload.end();
	const [first = [], second = []] = ended.map(({ stdout }) =>
		tracedLines(stdout).filter(({ rest }) => rest === '<unfinished ...>'),
	);
	for (const lines of [first, second]) {
		const own = lines.filter(({ call, tid }) => call === 'read' && tid !== workload.pid);
		assert.deepEqual(own.length, 1, ended[0]?.stdout);
		assert.match(own[0]?.args ?? '', /^3, 0x[0-9a-f]+, 77$/);
		assert.equal(own[0]?.pid, workload.pid);
	}
});

test('of a call that began before, and has not returned, all arguments are told', async () => {
	const sleep = spawn('sleep', ['1000']);
	try {
		// man 5 proc_pid_syscall: the call and its arguments.
		const inCall = () => readFileSync(`/proc/${sleep.pid}/syscall`, 'utf8').split(' ');
		await until(() => Number(inCall()[0]) === callNumber('clock_nanosleep'));
		const [, , , wanted, remaining] = inCall();
		const tracing = await Tracing.start(['trace', '-p', `${sleep.pid}`]);
		const { stdout } = await tracing.end('SIGINT');
		const [only, ...more] = tracedLines(stdout);
		assert.deepEqual(more, []);
		assert.equal(only?.args, `CLOCK_REALTIME, 0, ${wanted}, ${remaining}`);
		// It has neither succeeded nor failed.
		for (const option of ['-z', '-Z']) {
			const part = await Tracing.start(['trace', option, '-p', `${sleep.pid}`]);
			assert.deepEqual(tracedLines((await part.end('SIGINT')).stdout), [], option);
		}
	} finally {
		sleep.kill();
	}
});

/** One thread reads of one descriptor, before and after. */
const RENAMED =
	'import os; f = os.open("first", 0); os.read(f, 1); os.rename("first", "second"); os.read(f, 1)';

test('-y: a file that has another name since has that from then on', () => {
	const folder = mkdtempSync(join(tmpdir(), 'trace-'));
	try {
		writeFileSync(join(folder, 'first'), 'ab');
		const command = ['env', '-C', folder, 'python3', '-c', RENAMED];
		const { stdout } = tstrace(['trace', '-y', '-e', 'read', '--', ...command]);
		const read = stdout
			.match(/(?<=read\(\d<)[^>]+(?=>, "[ab]", 1)/g)
			?.map((path) => basename(path));
		assert.deepEqual(read, ['first', 'second'], stdout);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test('a call that began before tracing did has its result, and no duration', async () => {
	const workload = await Workload.start('traced', 'threads', '1');
	await until(() => / S /.test(readFileSync(`/proc/${workload.pid}/stat`, 'utf8')));
	const tracing = await Tracing.start(['trace', '-p', `${workload.pid}`, '-e', 'read']);
	await workload.work();
	const { stdout } = await tracing.end('SIGINT');
	await workload.end();
	const [first] = tracedLines(stdout);
	assert.deepEqual(
		[first?.args, first?.result, first?.rest, first?.duration_s],
		['0, "x", 1', '1', '<began before tracing>', undefined],
	);
});

test('how children end: by signal, with a status; who gets which signal', async () => {
	const { lines, done, pid } = await traced(['killed'], ['--follow']);
	const [killed, exits, crashes] = done;
	const ends = lines
		.filter(({ text }) => text.startsWith('+++'))
		.map(({ tid, text }) => [tid, text.replace(/ after [\d.]+ \w+/, '')]);
	assert.deepEqual(ends, [
		[killed, `+++ killed by SIGKILL +++ parent traced[${pid}]`],
		[exits, `+++ exited with 7 +++ parent traced[${pid}]`],
		[crashes, `+++ killed by SIGSEGV +++ parent traced[${pid}]`],
	]);
	const signals = lines
		.filter(({ text }) => text.startsWith('--- '))
		.map(({ tid, text }) => [tid, text]);
	assert.deepEqual(
		signals.filter(([tid]) => tid === pid),
		[
			[pid, `--- SIGCHLD {si_code=CLD_KILLED, si_pid=${killed}} ---`],
			[pid, `--- SIGCHLD {si_code=CLD_EXITED, si_pid=${exits}} ---`],
			[pid, `--- SIGCHLD {si_code=CLD_KILLED, si_pid=${crashes}} ---`],
		],
	);
	assert.deepEqual(
		signals.filter(([tid]) => tid !== pid),
		[
			[killed, '--- SIGKILL ---'],
			[crashes, `--- SIGSEGV {si_code=SI_TKILL, si_pid=${crashes}} ---`],
		],
	);
});
