/** trace -y: what is said of a file that has no name any more, and of what changes from one call to the next. */
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tstrace } from './support.js';

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
