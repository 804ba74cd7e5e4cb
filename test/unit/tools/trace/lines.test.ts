/** Records as lines and rows: each kind of argument, whatever programs have put into them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { trace as layout } from '../../../../src/generated/trace.js';
import { CallStack } from '../../../../src/tools/trace/call-stacks.js';
import { KnownFiles } from '../../../../src/tools/trace/known-files.js';
import { call, formatted, line, callNumber as nr } from './lines.js';
import { type Given, recordOf } from './records.js';

const { CAPTURED_CUT, CAPTURE_UNREADABLE, CAPTURED_BEGIN } = layout.enums.capture_status;
const { CAPTURED_PARENT, CAPTURED_RESULT } = layout.enums.capture_limit;
const { RECORD_BEGAN_BEFORE, RECORD_UNFINISHED, RECORD_LAST_THREAD, RECORD_LIST_CUT } =
	layout.enums.call_record_flag;
const { RECORD_EXIT, RECORD_SIGNAL } = layout.enums.call_record_type;
test('a line: thread, call, arguments, result, duration', () => {
	const open = { nr: nr('openat'), args: [-100, 0x7fff_0000_1234n, 0o101, 0o640], result: 3 };
	const captures = [{ argument: 1, text: '/etc/a b' }];
	assert.equal(
		line({ ...open, captures, duration_ns: 1_000_000_042 }),
		'worker[812] openat(AT_FDCWD, "/etc/a b", O_WRONLY|O_CREAT, 0640) = 3 <1.000000042>',
	);
	assert.match(line({ ...open, captures, tid: 813 }), /^worker\[813\/812\] /);
	assert.match(line({ ...open, comm: 'a\x1bb' }), /^a\\x1bb\[812\] /);
});

test('a mode that no file gets is left out', () => {
	const args = [-100, 4096, 0, 0o777];
	assert.equal(
		call({ nr: nr('openat'), args, result: -2 }),
		'openat(AT_FDCWD, 0x1000, O_RDONLY) = -1 ENOENT <0.000001234>',
	);
});

test('strings: cut, unreadable, empty, NULL, with bytes that are no letters', () => {
	const write = (text: string, status = 0) =>
		call({
			nr: nr('write'),
			args: [1, 0x5000, 9],
			captures: [{ argument: 1, text, status }],
			result: 9,
		});
	assert.equal(write('abc', CAPTURED_CUT), 'write(1, "abc"..., 9) = 9 <0.000001234>');
	const long = 'x'.repeat(700);
	assert.equal(write(long), `write(1, "${long}", 9) = 9 <0.000001234>`);
	assert.equal(write('', CAPTURE_UNREADABLE), 'write(1, 0x5000, 9) = 9 <0.000001234>');
	assert.equal(write(''), 'write(1, "", 9) = 9 <0.000001234>');
	assert.equal(
		write('\x001\0x\x7f\xff"\\\n\t\r\v\f\x1b'),
		'write(1, "\\0001\\0x\\177\\377\\"\\\\\\n\\t\\r\\v\\f\\33", 9) = 9 <0.000001234>',
	);
	assert.equal(
		call({ nr: nr('chdir'), args: [0], result: -14 }),
		'chdir(NULL) = -1 EFAULT <0.000001234>',
	);
});

test('numbers: with their sign, in 64 bits, in the base that they are known by', () => {
	assert.equal(
		call({ nr: nr('lseek'), args: [0xffff_ffffn, -5, 9], result: -22 }),
		'lseek(-1, -5, 9) = -1 EINVAL <0.000001234>',
	);
	assert.equal(
		call({ nr: nr('lseek'), args: [3, 2n ** 62n, 0], result: 2n ** 62n }),
		'lseek(3, 4611686018427387904, SEEK_SET) = 4611686018427387904 <0.000001234>',
	);
	assert.equal(
		call({ nr: nr('brk'), args: [0], result: 0x5555_0000_1000n }),
		'brk(NULL) = 0x555500001000 <0.000001234>',
	);
	assert.equal(
		call({ nr: nr('umask'), args: [0o22], result: 0o27 }),
		'umask(022) = 027 <0.000001234>',
	);
	assert.equal(
		call({ nr: nr('read'), args: [3, 16, 2n ** 64n - 1n - 2n ** 64n], result: -(2n ** 63n) }),
		'read(3, 0x10, 18446744073709551615) = -9223372036854775808 <0.000001234>',
	);
});

test('structures: what the kernel types say of them; several in brackets; what did not come is an address', () => {
	const time = new Uint8Array(new BigInt64Array([7n, 5n]).buffer);
	const sleep = { nr: nr('nanosleep'), args: [0x1000, 0x2000] };
	assert.equal(
		call({
			...sleep,
			captures: [
				{ argument: 0, text: time },
				{ argument: 1, text: time },
			],
		}),
		'nanosleep({tv_sec=7, tv_nsec=5}, {tv_sec=7, tv_nsec=5}) = 0 <0.000001234>',
	);
	assert.equal(
		call({
			...sleep,
			captures: [
				{ argument: 0, text: time },
				{ argument: 1, text: time },
			],
			result: -22,
		}),
		'nanosleep({tv_sec=7, tv_nsec=5}, 0x2000) = -1 EINVAL <0.000001234>',
	);
	const fds = new Uint8Array(new Int32Array([3, 4]).buffer);
	assert.equal(
		call({ nr: nr('pipe2'), args: [0x1000, 0x80000], captures: [{ argument: 0, text: fds }] }),
		'pipe2([3, 4], O_CLOEXEC) = 0 <0.000001234>',
	);
	const status = new Uint8Array(new Int32Array([0x700]).buffer);
	assert.match(
		call({
			nr: nr('wait4'),
			args: [-1, 0x1000, 1, 0],
			captures: [{ argument: 1, text: status }],
			result: 9,
		}),
		/^wait4\(-1, \[\{WIFEXITED\(s\) && WEXITSTATUS\(s\) == 7\}\], WNOHANG, NULL\) = 9/,
	);
});

test('errors are all that the kernel may return as such, up to 4095; what is below is a number', () => {
	const result = (value: number) =>
		/ = (.*) </.exec(call({ nr: nr('lseek'), args: [1, 0, 0], result: value }))?.[1];
	assert.equal(result(-512), '-1 ERESTARTSYS');
	assert.match(result(-4095) ?? '', /^-1 .*4095/);
	assert.equal(result(-4096), '-4096');
});

test('socket addresses of each family', () => {
	const connect = (...bytes: number[]) =>
		/\{.*\}|0x[0-9a-f]+/.exec(
			call({
				nr: nr('connect'),
				args: [3, 0x1000, bytes.length],
				captures: [{ argument: 1, text: Uint8Array.from(bytes) }],
			}),
		)?.[0];
	assert.equal(
		connect(2, 0, 1, 187, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
		'{AF_INET, 10.0.0.1:443}',
	);
	const six = (...address: number[]) => connect(10, 0, 0, 80, 0, 0, 0, 0, ...address, 0, 0, 0, 0);
	assert.equal(six(0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1), '{AF_INET6, [2001:db8::1]:80}');
	assert.equal(six(...Array(16).fill(0)), '{AF_INET6, [::]:80}');
	assert.equal(
		six(...Array(10).fill(0), 255, 255, 127, 0, 0, 1),
		'{AF_INET6, [::ffff:127.0.0.1]:80}',
	);
	const unix = (text: string) => connect(1, 0, ...Buffer.from(text, 'latin1'));
	assert.equal(unix('/run/a\0rest'), '{AF_UNIX, "/run/a"}');
	assert.equal(unix('\0abstract\x1b'), '{AF_UNIX, @"abstract\\33"}');
	// The name of an abstract one may have zeroes in it: it is as long as it was given.
	assert.equal(unix('\0a\0b'), '{AF_UNIX, @"a\\0b"}');
	assert.equal(connect(1, 0), '{AF_UNIX}');
	assert.equal(connect(16, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0), '{AF_NETLINK, pid=9, groups=0x5}');
	assert.equal(connect(77, 0, 0, 0), '{family=77}');
	assert.equal(connect(2, 0), '{family=2}');
});

test('a list of strings, and its end where it cannot be read', () => {
	const captures = ['ls', '-l', 'a\nb'].map((text) => ({ argument: 1, text }));
	const parent = new Uint8Array(20);
	new DataView(parent.buffer).setUint32(0, 77, true);
	parent.set(Buffer.from('sh\x07'), 4);
	const given = { nr: nr('execve'), args: [0x1000, 0x2000, 0x3000] };
	const path = { argument: 0, text: '/bin/ls' };
	assert.equal(
		call({ ...given, captures: [path, ...captures, { argument: CAPTURED_PARENT, text: parent }] }),
		'execve("/bin/ls", ["ls", "-l", "a\\nb"], 0x3000) = 0 <0.000001234> parent sh\\x07[77]',
	);
	const unreadable = { argument: 1, text: '', status: CAPTURE_UNREADABLE };
	assert.match(
		call({ ...given, captures: [path, ...captures, unreadable] }),
		/\["ls", "-l", "a\\nb", \.\.\.\]/,
	);
	assert.match(
		call({ ...given, flags: RECORD_LIST_CUT, captures: [path, ...captures] }),
		/\["ls", "-l", "a\\nb", \.\.\.\], 0x3000\)/,
	);
});

test('what has not returned, what began before, what never returns', () => {
	const read = { nr: nr('read'), args: [3, 0x1000, 7], result: 5 };
	assert.equal(call({ ...read, flags: RECORD_UNFINISHED }), 'read(3, 0x1000, 7) <unfinished ...>');
	assert.equal(
		call({ ...read, flags: RECORD_BEGAN_BEFORE }),
		'read(3, 0x1000, 7) = 5 <began before tracing>',
	);
	assert.equal(
		call({ nr: nr('exit_group'), args: [3], flags: RECORD_UNFINISHED, duration_ns: 0 }),
		'exit_group(3) = ?',
	);
});

test('several messages: each with its address, what is in it, and how much was moved', () => {
	const bytes = (value: number) => new Uint8Array(new Uint32Array([value]).buffer);
	const begin = (value: number) => ({ argument: 1, text: bytes(value), status: CAPTURED_BEGIN });
	const text = (text: string, status = 0) => ({ argument: 1, text, status });
	const inet = '\x02\0\x12\x67\x7f\0\0\x01\0\0\0\0\0\0\0\0';
	const sent = (result: number, captures: Given['captures']) =>
		call({ nr: nr('sendmmsg'), args: [3, 0x5000, 7, 0], captures: captures ?? [], result });
	assert.equal(
		sent(2, [
			...[begin(5), text(inet), text('four'), text('1')],
			...[begin(300), text(''), text('abcd', CAPTURED_CUT)],
		]),
		'sendmmsg(3, [{{AF_INET, 127.0.0.1:4711}, ["four", "1"], msg_len=5}, ' +
			'{["abcd"...], msg_len=300}], 7, 0) = 2 <0.000001234>',
	);
	// More were sent than are shown; the last one has nothing in it.
	assert.equal(
		sent(3, [begin(4), text(''), text('four'), begin(0), text('')]),
		'sendmmsg(3, [{["four"], msg_len=4}, {[], msg_len=0}, ...], 7, 0) = 3 <0.000001234>',
	);
	assert.equal(sent(-11, []), 'sendmmsg(3, 0x5000, 7, 0) = -1 EAGAIN <0.000001234>');
	// What of it had no room.
	assert.match(sent(1, [begin(4)]), /^sendmmsg\(3, \[\{\[\], msg_len=4\}\], 7, 0\) = 1 /);
});

test('a stack: a line for each frame, the leaf first, and what is missing; in JSON the root first', () => {
	const captured = {
		...{ pid: 1, tid: 1, comm: 'x', kernel: [], user: [1, 2], lost: false, at_ns: 0 },
		...{ parts: [1], count: 1, variance: 0 },
	};
	const user = [
		{ name: 'read\x1b', kind: 'user' },
		{ name: 'main', kind: 'inlined' },
	] as const;
	const lines = (stack: CallStack) => Buffer.from(stack.lines).toString();
	const stack = new CallStack(captured);
	assert.equal(lines(stack), '');
	stack.name({ kernel: [], user, cut: 'no table', callerMissing: true });
	assert.equal(lines(stack), ' > read\\x1b\n > [caller not known]\n > main\n > [cut: no table]\n');
	assert.deepEqual(JSON.parse(JSON.stringify(stack)), {
		frames: ['main', 'read\x1b'],
		kinds: 'iu',
		cut: 'no table',
		caller_missing: true,
	});
	const lost = new CallStack({ ...captured, user: [], lost: true });
	lost.name({ kernel: [], user: [] });
	assert.equal(lines(lost), ' > [stack lost]\n');
	const cut = new CallStack({ ...captured, lost: true });
	cut.name({ kernel: [], user });
	assert.deepEqual(JSON.parse(JSON.stringify(cut)).frames, ['[stack lost]', 'main', 'read\x1b']);
	assert.deepEqual(JSON.parse(JSON.stringify(lost)), { frames: ['[stack lost]'], kinds: 'u' });
});

test('threads that end, and signals', () => {
	const end = (result: number, flags = 0) =>
		call({ type: RECORD_EXIT, result, flags, duration_ns: 1.5e9 });
	assert.equal(end(0x700, RECORD_LAST_THREAD), '+++ exited with 7 after 1.50 s +++');
	assert.equal(end(0), '+++ thread exited with 0 after 1.50 s +++');
	assert.equal(
		end(0x8b, RECORD_LAST_THREAD),
		'+++ killed by SIGSEGV (core dumped) after 1.50 s +++',
	);
	const signal = (result: number, args: readonly number[]) =>
		call({ type: RECORD_SIGNAL, result, args });
	assert.equal(signal(17, [1, 9]), '--- SIGCHLD {si_code=CLD_EXITED, si_pid=9} ---');
	assert.equal(signal(15, [0, 9]), '--- SIGTERM {si_code=SI_USER, si_pid=9} ---');
	assert.equal(signal(9, [0, 0]), '--- SIGKILL ---');
	assert.equal(signal(11, [1, 77]), '--- SIGSEGV {si_code=1} ---');
	assert.equal(signal(40, [-1, 5]), '--- SIGRT_8 {si_code=SI_QUEUE, si_pid=5} ---');
});

test('a call has the time when it began; the end of a thread when it was, however long the thread lived', () => {
	const times = { end_ns: 5e9, duration_ns: 1.5e9 };
	const { text } = formatted([
		{ nr: 0, args: [0, 0, 0], ...times },
		{ type: RECORD_EXIT, ...times },
		{ type: RECORD_SIGNAL, ...times },
	]);
	const [call = 0, end = 0, signal] = [...text.matchAll(/^\d\d:\d\d:(\d\d\.\d{6}) /gm)].map(
		([, seconds]) => Number(seconds),
	);
	assert.equal(signal, end);
	// The last second of a minute comes before the first one of the next.
	assert.equal(((60 + end - call) % 60).toFixed(6), '1.500000');
});

test('what descriptors are, where that was told; an open question where not', () => {
	const files = new KnownFiles();
	files.put(7, '/tmp/a\nb');
	const id = new Uint8Array(new BigUint64Array([7n]).buffer);
	const other = new Uint8Array(new BigUint64Array([8n]).buffer);
	const given = (text: Uint8Array) => ({
		nr: nr('close'),
		args: [3],
		captures: [{ argument: 0, text }],
	});
	assert.equal(call(given(id), files), 'close(3</tmp/a\\012b>) = 0 <0.000001234>');
	assert.equal(call(given(other), files), 'close(3<?>) = 0 <0.000001234>');
	assert.equal(
		call(
			{ nr: nr('dup'), args: [3], captures: [{ argument: CAPTURED_RESULT, text: id }], result: 4 },
			files,
		),
		'dup(3) = 4</tmp/a\\012b> <0.000001234>',
	);
});

test('what is missing is said where it is missing', () => {
	const { text } = formatted([{ lost: 1 }, { lost: 0 }, { lost: 12345 }]);
	const [first, , , third] = text.split('\n');
	assert.equal(first, '--- 1 call is missing here: tstrace did not read it in time');
	assert.equal(third, '--- 12345 calls are missing here: tstrace did not read them in time');
});

test('numbers of no call, 32-bit calls, and x32 calls', () => {
	assert.match(
		call({ nr: 0x3ffff, args: [1, 2, 3, 4, 5, 6] }),
		/^\(no such call\)\(0x1, 0x2, 0x3, 0x4, 0x5, 0x6\) = 0/,
	);
	assert.match(
		call({ nr: 509, args: [1, 2, 3, 4, 5, 6], result: -38 }),
		/^syscall_509\(0x1, .*\) = -1 ENOSYS/,
	);
	if (process.arch !== 'x64') return;
	assert.match(
		call({ nr: 5, abi: 1, args: [0x1000, 0, 0], captures: [{ argument: 0, text: '/a' }] }),
		/^open \(32-bit\)\("\/a", O_RDONLY\) = 0/,
	);
	// An address in the upper half of 32 bits: brk has number 45 there.
	assert.match(
		call({ nr: 45, abi: 1, args: [0], result: -0x0804_0000 }),
		/^brk \(32-bit\)\(NULL\) = 0xf7fc0000 /,
	);
});

test('the table in the end: calls, errors, time; what has no duration has no time', () => {
	const read = { nr: nr('read'), args: [3, 16, 7] };
	const { formatter } = formatted([
		{ ...read, result: 5, duration_ns: 100 },
		{ ...read, result: -4, duration_ns: 300 },
		{ ...read, result: 1, duration_ns: 1e9, flags: RECORD_BEGAN_BEFORE },
		{ nr: nr('close'), args: [3], duration_ns: 7000 },
		{ type: RECORD_EXIT },
	]);
	assert.deepEqual(formatter.totals(), [
		{ syscall: 'close', calls: 1, errors: 0, total_ns: 7000, mean_ns: 7000, max_ns: 7000 },
		{ syscall: 'read', calls: 3, errors: 1, total_ns: 400, mean_ns: 200, max_ns: 300 },
	]);
});

test('a row says what the line says', () => {
	const { words, at } = recordOf({
		nr: nr('close'),
		args: [3],
		result: -9,
		duration_ns: 42,
		lost: 5,
		tid: 9,
	});
	const { formatter } = formatted([]);
	const { time, ...row } = formatter.row(new DataView(words.buffer, at * 4), 0) ?? {};
	assert.match(`${time}`, /^\d{4}-\d\d-\d\dT/);
	assert.deepEqual(row, {
		event: 'call',
		time_ns: 5_000_000_000 - 42,
		pid: 812,
		tid: 9,
		comm: 'worker',
		syscall: 'close',
		args: '3',
		result: -1,
		error: 'EBADF',
		duration_ns: 42,
		lost_before: 5,
	});
});

test('whatever a record holds, it is one line of printable ASCII', () => {
	const numbers = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
	const capture = fc.record({
		argument: fc.nat(15),
		text: fc.uint8Array({ maxLength: 300 }),
		status: fc.nat(3),
	});
	const given = fc.record({
		nr: fc.nat(470),
		abi: fc.nat(1),
		type: fc.nat(2),
		flags: fc.nat(15),
		args: fc.array(numbers, { minLength: 6, maxLength: 6 }),
		captures: fc.array(capture, { maxLength: 5 }),
		result: numbers,
		comm: fc.string({ maxLength: 15 }),
	});
	fc.assert(
		fc.property(given, (record) => {
			const { text } = formatted([{ ...record, comm: 'worker' }]);
			assert.match(text, /^[\x20-\x7e]+\n$/);
		}),
	);
});
