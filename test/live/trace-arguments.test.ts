/** trace: what is taken of arguments, and when. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tstrace } from './support.js';
import { tracedLines, tracedStacks } from './traced-lines.js';

/** Lines, and what is said below them, of a program of Python's. */
const tracedPython = (args: readonly string[], ...program: readonly string[]) =>
	tstrace(['trace', '-q', ...args, '--', 'python3', '-c', ...program]).stdout;

/** A path that cannot be read; then a call that writes over what it was given. */
const SELECT = `
import ctypes, os, select
ctypes.CDLL(None).chdir(ctypes.c_void_p(0x1000))
(hears, tells), (other, kept) = os.pipe(), os.pipe()
os.write(tells, b'x')
assert select.select([hears, other], [], []) == ([hears], [], [])
print(hears, other)
`;

test('what a call is given is what it was as the call began, also after one that could not be read', () => {
	const stdout = tracedPython(['-e', 'chdir,select,pselect6'], SELECT);
	const [, hears, other] = /^(\d+) (\d+)$/m.exec(stdout) ?? [];
	const lines = tracedLines(stdout.replace(/^\d+ \d+$/m, ''));
	assert.equal(lines.find(({ call }) => call === 'chdir')?.args, '0x1000');
	const select = lines.find(({ call }) => /select/.test(call ?? ''));
	assert.ok(select?.args?.startsWith(`${Number(other) + 1}, [${hears} ${other}], `), stdout);
});

/** More parts than are taken; and as many. */
const PARTS = `
import os
null = os.open('/dev/null', os.O_WRONLY)
os.writev(null, [b'a', b'b', b'c', b'd', b'e', b'f'])
os.writev(null, [b'a', b'b', b'c', b'd'])
`;

test('writev: parts that are not shown are said to be there', () => {
	const lines = tracedLines(tracedPython(['-e', 'writev'], PARTS));
	assert.deepEqual(
		lines.map(({ args }) => args?.replace(/^\d+, /, '')),
		['["a", "b", "c", "d", ...], 6', '["a", "b", "c", "d"], 4'],
	);
});

/** Two calls about a file by its path, and one about its descriptor only, whose path is NULL. */
const NO_PATH = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
file = os.open(sys.argv[1], os.O_RDONLY)
assert libc.futimens(file, None) == 0
os.utime(sys.argv[1])
`;

test('--path: a call without a path is not about any', () => {
	const folder = mkdtempSync(join(tmpdir(), 'trace-arguments-'));
	const path = join(folder, 'file');
	try {
		writeFileSync(path, '');
		const calls = ['-e', 'utimensat', '--path', '*'];
		const lines = tracedLines(tracedPython(calls, NO_PATH, path));
		assert.deepEqual(
			lines.map(({ args }) => args),
			[`AT_FDCWD, "${path}", NULL, 0`],
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

/** The path lies in a page of a file that was not read yet: it is read as the call returns. */
const COLD_EXECVE = `
import ctypes, mmap, os, tempfile
libc = ctypes.CDLL(None)
file = tempfile.TemporaryFile()
file.write(b'/no/such/cold'.ljust(4096, b'\\0'))
file.flush()
page = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
libc.execve(ctypes.c_void_p(address), (ctypes.c_char_p * 3)(b'first', b'second', None), None)
`;

test('execve that fails has its path, its list and its stack, though the path was not there at first', () => {
	const stdout = tracedPython(['-k', '-e', 'execve', '-Z'], COLD_EXECVE);
	const cold = tracedStacks(stdout).filter(({ args }) => args?.startsWith('"/no/such/cold"'));
	assert.deepEqual(
		cold.map(({ args, result }) => [args, result]),
		[['"/no/such/cold", ["first", "second"], NULL', '-1 ENOENT']],
	);
	assert.equal(cold[0]?.stack[0], 'execve', stdout);
});
