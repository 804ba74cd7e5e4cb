/** What is read of other processes' memory, and whether a thread is where it was. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { test } from 'node:test';
import { isStillAt, ProcessMemory } from '../../../../src/symbolize/mappings/process-memory.js';
import { waitingChild } from '../waiting-child.js';

/** Above any process number. */
const NOBODY = 4_194_305;

/** The mappings of a process whose line in maps is like this. */
function rangesOf(pid: number, pattern: RegExp): { start: number; end: number }[] {
	return readFileSync(`/proc/${pid}/maps`, 'latin1')
		.split('\n')
		.filter((line) => pattern.test(line))
		.map((line) => {
			const [start = 0, end = 0] = line.split(/[- ]/).map((hex) => Number.parseInt(hex, 16));
			return { start, end };
		});
}

test('a thread is where it was, and nowhere else', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const { ip, sp } = registers;
	assert.ok(isStillAt(pid, pid, registers));
	assert.ok(!isStillAt(pid, pid, { ...registers, sp: sp + 8 }));
	assert.ok(!isStillAt(pid, pid, { ...registers, ip: ip + 1 }));
	assert.ok(!isStillAt(pid, pid, { ip: sp, sp: ip, fp: 0 }));
	// Another process's thread, and one that there is not.
	assert.ok(!isStillAt(pid, process.pid, registers));
	assert.ok(!isStillAt(NOBODY, NOBODY, registers));
	// It runs.
	assert.ok(!isStillAt(process.pid, process.pid, { ip: Number.NaN, sp: Number.NaN, fp: 0 }));
});

test('memory that no file is behind, and none else', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const memory = new ProcessMemory(pid);
	t.after(() => memory.close());
	assert.equal(memory.read(registers.sp, 8)?.byteLength, 8);
	const [stack] = rangesOf(pid, /\[stack\]$/);
	assert.ok(stack);
	assert.ok(memory.read(stack.end - 8, 8));
	assert.equal(memory.read(stack.end - 4, 8), undefined);
	assert.equal(memory.read(stack.start - 8, 8), undefined);
	const anonymous = rangesOf(pid, / rw-p \S+ 00:00 0 *(\[.*\])?$/);
	assert.ok(anonymous.length > 2);
	for (const { start, end } of anonymous) {
		assert.ok(memory.read(start, 8), start.toString(16));
		assert.ok(memory.read(end - 8, 8), end.toString(16));
	}
	for (const { start, end } of rangesOf(pid, /\//)) {
		assert.equal(memory.read(start, 8), undefined);
		assert.equal(memory.read(end - 8, 8), undefined);
	}
	for (const address of [0, 8, 2 ** 47, Number.NaN])
		assert.equal(memory.read(address, 8), undefined);
});

test('however many parts memory has, each is read', () => {
	const ranges = rangesOf(process.pid, / rw-p \S+ 00:00 0 *$/);
	assert.ok(ranges.length > 16, `${ranges.length}`);
	const memory = new ProcessMemory(process.pid);
	for (const { start } of ranges) assert.ok(memory.read(start, 8), start.toString(16));
	memory.close();
});

test('every word up a stack is what is there, by small steps and by large ones', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const [stack] = rangesOf(pid, /\[stack\]$/);
	assert.ok(stack && registers.sp % 8 === 0);
	const bytes = Buffer.alloc(stack.end - registers.sp);
	const fd = openSync(`/proc/${pid}/mem`, 'r');
	readSync(fd, bytes, 0, bytes.length, registers.sp);
	closeSync(fd);
	for (const step of [8, 24, 1000, 4096, 8192]) {
		const memory = new ProcessMemory(pid);
		for (let at = 0; at + 8 <= bytes.length; at += step) {
			const word = memory.read(registers.sp + at, 8)?.getBigUint64(0, true);
			assert.equal(word, bytes.readBigUInt64LE(at), `${step}: ${at}`);
		}
		// And back.
		const first = memory.read(registers.sp, 8)?.getBigUint64(0, true);
		assert.equal(first, bytes.readBigUInt64LE(0));
		memory.close();
	}
});

test('of files only what the process has written, which is its own then', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const memory = new ProcessMemory(pid);
	t.after(() => memory.close());
	assert.ok(memory.readWritten(registers.sp, 8));
	// Variables that the C library has set as it began.
	const written = rangesOf(pid, / rw-p .*\/libc[.-]/);
	assert.ok(written.length > 0);
	for (const { start } of written) assert.ok(memory.readWritten(start, 8), start.toString(16));
	const code = rangesOf(pid, / r-xp .*\//);
	assert.ok(code.length > 2);
	for (const { start } of code) assert.equal(memory.readWritten(start, 8), undefined);
	for (const address of [0, 2 ** 47, Number.NaN])
		assert.equal(memory.readWritten(address, 8), undefined);
});

test('of a process that is gone, nothing', () => {
	const memory = new ProcessMemory(NOBODY);
	assert.equal(memory.read(2 ** 46, 8), undefined);
	memory.close();
});
