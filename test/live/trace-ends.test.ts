/** trace: how the threads of a process end, and what its sockets are called. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tracing, tstrace, until, Workload } from './support.js';
import { tracedLines } from './traced-lines.js';

const THREADS = 4;

test('of the threads of a process only the last one that ends is its end', async () => {
	const crowd = await Workload.start('crowd', `${THREADS}`, '1', '1000');
	const tracing = await Tracing.start(['trace', '-e', 'none', '-p', `${crowd.pid}`]);
	// Its threads begin after that.
	const begins_ms = Date.now();
	await until(() => Date.now() - begins_ms > 300);
	await crowd.work();
	await crowd.end();
	const { stdout } = await tracing.end();
	const ends = stdout.split('\n').flatMap((line) => /\+\+\+ (.*) after /.exec(line)?.[1] ?? []);
	assert.deepEqual(ends, [...Array(THREADS).fill('thread exited with 0'), 'exited with 0']);
	const UNITS_MS: Readonly<Record<string, number>> = { us: 1e-3, ms: 1, s: 1000 };
	const lives_ms = [...stdout.matchAll(/ after ([\d.]+) ?(us|ms|s) \+\+\+/g)].map(
		([, number, unit = '']) => Number(number) * (UNITS_MS[unit] ?? 0),
	);
	const process_ms = lives_ms.at(-1) ?? 0;
	for (const life_ms of lives_ms.slice(0, -1))
		assert.ok(life_ms > 0 && life_ms < process_ms - 300, `${life_ms} of ${process_ms}`);
});

test('a first thread that ends before another one is not the end of its process; the other one is', async () => {
	const workload = await Workload.start('calls', 'first-ends', '1');
	const tracing = await Tracing.start(['trace', '-e', 'none', '-p', `${workload.pid}`]);
	// Once it is done with this, its first thread has ended; the other one waits.
	await workload.work();
	await workload.end();
	const lines = tracedLines((await tracing.end()).stdout);
	assert.deepEqual(
		lines.map(({ pid, tid, text }) => [pid, tid === pid, /^\+\+\+ (.*) after /.exec(text)?.[1]]),
		[
			[workload.pid, true, 'thread exited with 0'],
			[workload.pid, false, 'exited with 0'],
		],
	);
});

/** Its child's first thread ends with 5 after 0.4 s, and 0.3 s later the other one, which ends the process, with 0. */
const ENDS_LATER = `
import ctypes, os, threading, time
child = os.fork()
if not child:
    time.sleep(0.4)
    threading.Thread(target=time.sleep, args=(0.3,)).start()
    # exit(), of this thread only: the number of the system call on x86-64, and on arm64.
    ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 5)
print(child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`;

test('the end of a process has its status and its age, whichever thread is the last', () => {
	const folder = mkdtempSync('build/trace-');
	const file = join(folder, 'told');
	const words = ['trace', '-e', 'none', '--follow', '-q', '-o', file, '--'];
	const { stdout, stderr } = tstrace([...words, 'python3', '-c', ENDS_LATER]);
	const [child, status] = stdout.split(' ').map(Number);
	assert.ok(child, stderr);
	const ends = tracedLines(readFileSync(file, 'utf8')).flatMap(({ pid, text }) => {
		const [, end, number = '', unit] = /^\+\+\+ (.*) after ([\d.]+) ?(ms|s) /.exec(text) ?? [];
		return pid === child ? [{ end, age_ms: Number(number) * (unit === 's' ? 1000 : 1) }] : [];
	});
	rmSync(folder, { recursive: true });
	const [first, last] = ends;
	// Of the first thread's, or since Linux 6.0 of the last one's.
	assert.ok(status === 5 || status === 0);
	assert.deepEqual(
		ends.map(({ end }) => end),
		['thread exited with 5', `exited with ${status}`],
	);
	assert.ok((last?.age_ms ?? 0) >= (first?.age_ms ?? 0) + 290 && (first?.age_ms ?? 0) >= 400);
});

test('-y: both ends of a unix connection have its path, who has accepted it, too', async () => {
	const folder = realpathSync(mkdtempSync('build/trace-'));
	const path = join(folder, 'socket');
	const server = createServer().listen(path);
	await once(server, 'listening');
	const client = connect(path);
	const [accepted] = (await once(server, 'connection')) as [Socket];
	try {
		const calls = 'write,writev,sendto,sendmsg';
		const tracing = await Tracing.start(['trace', '-y', '-e', calls, '-p', `${process.pid}`]);
		accepted.write('from the server');
		client.write('from the client');
		for (const each of [client, accepted]) await once(each, 'data');
		const { stdout } = await tracing.end('SIGINT');
		for (const text of ['from the server', 'from the client']) {
			const line = stdout.split('\n').find((each) => each.includes(text));
			assert.equal(/\d+<unix:([^>]*)>/.exec(line ?? '')?.[1], path, line);
		}
	} finally {
		for (const each of [client, accepted]) each.destroy();
		server.close();
		rmSync(folder, { recursive: true });
	}
});

/** A connection from fd00::2 to ::1, in a network of its own; says both ports. */
const IPV6_PAIR = `
import fcntl, os, socket, struct, sys
# netdevice(7): the loopback device has to be up, and gets one more address.
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP, LOOPBACK = 0x8914, 0x8916, 1, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
    fcntl.ioctl(any, SIOCSIFFLAGS, struct.pack('16sh22x', b'lo', IFF_UP))
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as any:
    own = socket.inet_pton(socket.AF_INET6, 'fd00::2')
    fcntl.ioctl(any, SIOCSIFADDR, own + struct.pack('Ii', 128, LOOPBACK))
server = socket.create_server(('::1', 0), family=socket.AF_INET6)
client = socket.create_connection(server.getsockname()[:2], source_address=('fd00::2', 0))
accepted, _ = server.accept()
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
accepted.send(b'from the server')
client.send(b'from the client')
print('done', server.getsockname()[1], client.getsockname()[1], flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('-y: both ends of an IPv6 connection, each from its own side', async () => {
	const python = await Workload.startBy('unshare', '-n', 'python3', '-c', IPV6_PAIR);
	const tracing = await Tracing.start(['trace', '-y', '-e', 'sendto', '-p', `${python.pid}`]);
	const [port, clients] = await python.work();
	const { stdout } = await tracing.end('SIGINT');
	await python.end();
	const ends = [`[::1]:${port}`, `[fd00::2]:${clients}`];
	for (const [text, shown] of [
		['from the server', ends],
		['from the client', ends.toReversed()],
	] as const) {
		const line = stdout.split('\n').find((each) => each.includes(text));
		assert.equal(/\d+<tcp6?:([^>]*->[^>]*)>/.exec(line ?? '')?.[1], shown.join('->'), line);
	}
});
