/** What is said on standard error, where it is taken in parts or not at all; what a file holds in the end. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { keepStderrBlocking, Output, say } from '../../../src/run/output.js';

/** Standard error takes so many bytes at once, and after `room` bytes it fails; gives what it took. */
function stderrTakes(t: TestContext, most: number, room = Infinity, code = ''): Buffer[] {
	const taken: Buffer[] = [];
	let left = room;
	const take = (fd: number, bytes: Uint8Array, from = 0): number => {
		assert.equal(fd, 2);
		if (left === 0) throw Object.assign(new Error(code), { code });
		const part = Buffer.from(bytes.subarray(from, from + Math.min(most, left)));
		left -= part.length;
		taken.push(part);
		return part.length;
	};
	const mock = t.mock.method(fs, 'writeSync', take as typeof fs.writeSync);
	syncBuiltinESMExports();
	t.after(() => {
		mock.mock.restore();
		syncBuiltinESMExports();
	});
	return taken;
}

/** Through process.stderr, as it is during a run; throws what that emits. */
function write(t: TestContext, text: string): void {
	const before = Object.getOwnPropertyDescriptor(process, 'stderr');
	t.after(() => {
		if (before) Object.defineProperty(process, 'stderr', before);
	});
	keepStderrBlocking();
	process.stderr.once('error', (error) => {
		throw error;
	});
	process.stderr.write(text);
}

const LINE = 'so many bytes, and an \u00e4';

test('a line is written to its end, in as many parts as it takes', (t) => {
	const taken = stderrTakes(t, 3);
	say(LINE);
	write(t, LINE);
	assert.equal(Buffer.concat(taken).toString(), `${LINE}\n${LINE}`);
});

for (const code of ['EPIPE', 'EAGAIN', 'EIO', 'ENOSPC']) {
	test(`${code}: what does not fit is let go`, (t) => {
		const taken = stderrTakes(t, 3, 5, code);
		say(LINE);
		write(t, LINE);
		assert.equal(Buffer.concat(taken).toString(), LINE.slice(0, 5));
	});
}

test('any other error is an error', (t) => {
	stderrTakes(t, 3, 5, 'EBADF');
	assert.throws(() => say(LINE), /EBADF/);
});

/** A path in a folder of its own, which goes with the test. */
function pathFor(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-output-'));
	t.after(() => rmSync(folder, { recursive: true }));
	return join(folder, 'result');
}

test('a file holds the result and nothing that was there before, however long that was', async (t) => {
	const path = pathFor(t);
	for (const before of ['', 'short', 'longer than the result\n'.repeat(1000)]) {
		writeFileSync(path, before);
		const output = Output.file(path);
		// Until there is a result, the old one stays.
		assert.equal(readFileSync(path, 'utf8'), before);
		output.truncate();
		await output.write('first\n');
		await output.write('second\n');
		output.close();
		assert.equal(readFileSync(path, 'utf8'), 'first\nsecond\n');
	}
});

test('a result that is taken in parts is written to its end; after an error the next one is written all the same', async (t) => {
	const path = pathFor(t);
	const { writeSync } = fs;
	const errors = ['EAGAIN', 'EIO'];
	const mock = t.mock.method(fs, 'writeSync', (fd: number, bytes: Uint8Array, from: number) => {
		const code = errors.pop();
		if (code !== undefined) throw Object.assign(new Error(code), { code });
		return writeSync(fd, bytes, from, Math.min(3, bytes.length - from));
	});
	syncBuiltinESMExports();
	const output = Output.file(path);
	try {
		output.truncate();
		await assert.rejects(output.write('not this one'), /cannot write to .*: EIO/);
		await Promise.all([output.write(LINE), output.write(LINE)]);
	} finally {
		mock.mock.restore();
		syncBuiltinESMExports();
		output.close();
	}
	assert.equal(readFileSync(path, 'utf8'), LINE + LINE);
});

test('a file that was opened for us keeps what is in it', async (t) => {
	const path = pathFor(t);
	writeFileSync(path, 'what others wrote\n');
	const fd = fs.openSync(path, 'a');
	for (const name of [`/proc/self/fd/${fd}`, `/proc/${process.pid}/fd/${fd}`, `/dev/fd/${fd}`]) {
		const output = Output.file(name);
		output.truncate();
		await output.write('ours\n');
		output.close();
	}
	fs.closeSync(fd);
	assert.equal(readFileSync(path, 'utf8'), `what others wrote\n${'ours\n'.repeat(3)}`);
});

test('where the process ends at once, a new file goes if it is empty, and stays if it is not', async (t) => {
	for (const text of ['', 'half a result']) {
		const path = pathFor(t);
		const others = process.listeners('exit');
		const output = Output.file(path);
		await output.write(text);
		for (const ending of process.listeners('exit'))
			if (!others.includes(ending)) ending.call(process, 130);
		assert.equal(existsSync(path), text !== '');
		output.truncate();
		output.close();
		assert.deepEqual(process.listeners('exit'), others);
	}
});

test('a new file without a result goes, an old one stays as it was', (t) => {
	const path = pathFor(t);
	Output.file(path).close();
	assert.ok(!existsSync(path));
	writeFileSync(path, 'old');
	Output.file(path).close();
	assert.equal(readFileSync(path, 'utf8'), 'old');
});

test('a named pipe that nobody reads yet: that is said once, however long it lasts', async (t) => {
	const path = pathFor(t);
	execFileSync('mkfifo', [path]);
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const said = stderrTakes(t, 100, 100, 'ENOSPC');
	const output = Output.file(path);
	const written = output.write('x');
	for (let i = 0; i < 5; i++) {
		t.mock.timers.tick(1000);
		await new Promise((resolve) => setImmediate(resolve));
	}
	output.giveUp();
	t.mock.timers.tick(1000);
	await assert.rejects(written, /no process reads this pipe/);
	assert.equal(said.length, 1);
});
