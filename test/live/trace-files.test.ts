/** trace -y: what is said of a file that has no name any more, and of what changes from one call to the next. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tracing, tstrace, until, Workload } from './support.js';
import { tracedLines } from './traced-lines.js';

const DELETED = `
import os
file = os.open("gone", os.O_RDONLY)
os.unlink("gone")
os.read(file, 4242)
`;

test('a file that is deleted already is said to be', () => {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trace-files-')));
	try {
		writeFileSync(join(folder, 'gone'), 'text');
		const command = ['env', '-C', folder, 'python3', '-c', DELETED];
		const { stdout } = tstrace(['trace', '-y', '-e', 'read', '--', ...command]);
		const [, path] = /read\(\d+<([^>]+)>, "text", 4242\)/.exec(stdout) ?? [];
		assert.equal(path, `${join(folder, 'gone')} (deleted)`);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

/** Files of its own in place of standard input, output and errors, each opened and read. */
const STANDARD_FILES = ['first', 'second', 'third'];
const READS_STANDARD_FILES = `
import os, sys
for number, name in enumerate(sys.argv[1:]):
    os.close(number)
    assert os.open(name, os.O_RDONLY) == number
    os.read(number, 4242)
`;

test('standard input, output and errors are told as any other file: where they are opened, and where they are read', () => {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trace-files-')));
	try {
		const paths = STANDARD_FILES.map((name) => join(folder, name));
		for (const path of paths) writeFileSync(path, 'text');
		const command = ['python3', '-c', READS_STANDARD_FILES, ...paths];
		const { stdout } = tstrace(['trace', '-y', '-e', 'openat,read', '--', ...command]);
		const lines = tracedLines(stdout);
		assert.deepEqual(
			lines.flatMap(({ call, args }) =>
				args?.endsWith(', 4242') && call === 'read' ? [args] : [],
			),
			paths.map((path, number) => `${number}<${path}>, "text", 4242`),
		);
		assert.deepEqual(
			lines.flatMap(({ result, file }) => (file?.startsWith(folder) ? [[result, file]] : [])),
			paths.map((path, number) => [`${number}`, path]),
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

/** A file loses its name between two reads, a socket gets one; a call whose path is nowhere comes before one that closes. */
const CHANGES = `
import ctypes, os, socket
libc = ctypes.CDLL(None)
file = os.open("gone", os.O_RDONLY)
os.read(file, 1)
os.unlink("gone")
os.read(file, 2)
unix = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
unix.bind("socket")
unix.getsockname()
kept = os.open("kept", os.O_RDONLY)
libc.chdir(ctypes.c_void_p(0x1000))
libc.close(kept)
`;

test('what a descriptor is, is what it is at that call', () => {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trace-files-')));
	try {
		for (const name of ['gone', 'kept']) writeFileSync(join(folder, name), 'text');
		const command = ['env', '-C', folder, 'python3', '-c', CHANGES];
		const { stdout } = tstrace(['trace', '-y', '--', ...command]);
		const of = (call: RegExp) => call.exec(stdout)?.[1];
		const gone = join(folder, 'gone');
		assert.equal(of(/read\(\d+<([^>]+)>, "t", 1\)/), gone, stdout);
		assert.equal(of(/read\(\d+<([^>]+)>, "ex", 2\)/), `${gone} (deleted)`, stdout);
		assert.equal(of(/getsockname\(\d+<unix:([^>]+)>/), 'socket', stdout);
		assert.equal(of(/chdir\(0x1000\).*\n.* close\(\d+<([^>]+)>\)/), join(folder, 'kept'), stdout);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

/** Messages to an address, which says where they go; and who they come from. */
const MESSAGES = `
import socket
ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for end in ends: end.bind(("127.0.0.1", 0))
ends[0].sendmsg([b"some", b"more"], [], 0, ends[1].getsockname())
ends[1].recvmsg(4242)
print(*(end.getsockname()[1] for end in ends))
`;

test('messages have the address that they go to, or come from', () => {
	const calls = ['-e', 'sendmsg,recvmsg'];
	const { stdout } = tstrace(['trace', '-q', ...calls, '--', 'python3', '-c', MESSAGES]);
	const [, from, to] = /^(\d+) (\d+)$/m.exec(stdout) ?? [];
	const has = (text: string) => assert.ok(stdout.includes(text), `${text} is not in\n${stdout}`);
	has(`, {{AF_INET, 127.0.0.1:${to}}, ["some", "more"]}, 0) = 8`);
	has(`, {{AF_INET, 127.0.0.1:${from}}, ["somemore"]}, 0) = 8`);
});

/** Pipes that are made where others were: of each, one read. */
const PIPES = `
import os
inodes = []
for bytes in range(5, 25):
    hears, tells = os.pipe()
    inodes.append(os.fstat(hears).st_ino)
    os.write(tells, b'x' * bytes)
    os.read(hears, bytes)
    os.close(hears)
    os.close(tells)
print('pipes', *inodes)
`;

test('each pipe has its own number, though it lies where the last one did', () => {
	const { stdout } = tstrace(['trace', '-q', '-y', '-e', 'read', '--', 'python3', '-c', PIPES]);
	const made = /^pipes (.*)$/m.exec(stdout)?.[1]?.split(' ');
	const shown = [...stdout.matchAll(/read\(\d+<pipe:\[(\d+)\]>, "x+", \d+\)/g)];
	assert.deepEqual(
		shown.map(([, inode]) => inode),
		made,
	);
});

/** Goes into the same folder by two paths. */
const TWO_WAYS = `
import os
for folder in ('first', 'second'):
    os.chdir(folder)
    os.close(os.open('file', os.O_RDONLY))
    os.chdir('..')
`;

test('a folder that is mounted twice is told by the path that it was gone to by', () => {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trace-files-')));
	try {
		for (const name of ['first', 'second']) mkdirSync(join(folder, name));
		writeFileSync(join(folder, 'first', 'file'), '');
		const mount = 'mount --bind first second; exec "$@"';
		const python = ['sh', '-c', mount, 'sh', 'python3', '-c', TWO_WAYS];
		const command = ['env', '-C', folder, 'unshare', '-m', ...python];
		const { stdout } = tstrace(['trace', '-q', '-y', '-e', 'openat', '--', ...command]);
		const opened = [...stdout.matchAll(/openat\(AT_FDCWD<([^>]+)>, "file", .* = \d+<([^>]+)>/g)];
		assert.deepEqual(
			opened.map(([, from, file]) => [from, file]),
			['first', 'second'].map((name) => [join(folder, name), join(folder, name, 'file')]),
			stdout,
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

/** Makes more calls than the buffer holds, the last ones of a descriptor that was not used before; then one more. */
const FLOOD = `
import os, sys
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
zero, passwd = os.open('/dev/zero', os.O_RDONLY), os.open('/etc/passwd', os.O_RDONLY)
for _ in range(500): os.pread(zero, 1, 0)
for _ in range(5): os.pread(passwd, 1, 0)
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
os.pread(passwd, 2, 0)
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('what had no room as it was to be told is told the next time', async () => {
	const python = await Workload.startBy('python3', '-c', FLOOD);
	const options = ['-y', '-e', 'pread64', '--buffer', '4K'];
	const tracing = await Tracing.start(['trace', ...options, '-p', `${python.pid}`]);
	tracing.signal('SIGSTOP');
	await until(() => / T /.test(readFileSync(`/proc/${tracing.pid}/stat`, 'utf8')));
	await python.work();
	tracing.signal('SIGCONT');
	await until(() => tracing.stdout.includes('pread64'));
	await python.work();
	const { stdout } = await tracing.end('SIGINT');
	await python.end();
	const last = tracedLines(stdout).findLast(({ call }) => call === 'pread64');
	assert.match(last?.args ?? '', /^\d+<\/etc\/passwd>, "..", 2, 0$/);
});
