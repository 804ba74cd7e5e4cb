/** Which pages of another process are read: its own that are in memory, and none else. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { OwnPages } from '../../../../src/symbolize/mappings/own-pages.js';
import { ProcessMemory } from '../../../../src/symbolize/mappings/process-memory.js';
import { waitingChild } from '../waiting-child.js';

/** Above any process number. */
const NOBODY = 4_194_305;

function rangeOf(pid: number, pattern: RegExp): { start: number; end: number } {
	const line = readFileSync(`/proc/${pid}/maps`, 'latin1')
		.split('\n')
		.find((each) => pattern.test(each));
	const [start = 0, end = 0] = (line ?? '').split(/[- ]/).map((hex) => Number.parseInt(hex, 16));
	return { start, end };
}

test("a process's own pages are read as they are", async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const pages = new OwnPages(pid);
	const memory = new ProcessMemory(pid);
	t.after(() => {
		pages.close();
		memory.close();
	});
	const bytesOf = (view: DataView | undefined) => {
		const { buffer, byteOffset, byteLength } = view ?? assert.fail();
		return Buffer.from(buffer, byteOffset, byteLength);
	};
	for (const length_bytes of [8, 1000, 2000]) {
		const own = pages.read(registers.sp, length_bytes);
		assert.deepEqual(bytesOf(own), bytesOf(memory.read(registers.sp, length_bytes)));
	}
	pages.forget();
	assert.equal(pages.read(registers.sp, 8)?.byteLength, 8);
});

test('what is a file, is not in memory, or is no address, is not read', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const pages = new OwnPages(pid);
	t.after(() => pages.close());
	const code = rangeOf(pid, / r-xp .*libc/);
	assert.ok(code.start > 0);
	assert.equal(pages.read(code.start, 8), undefined);
	const stack = rangeOf(pid, /\[stack\]/);
	// Behind its end nothing is mapped.
	assert.equal(pages.read(stack.end, 8), undefined);
	assert.equal(pages.read(stack.end - 8, 16), undefined);
	for (const address of [0, -8, 8, Number.NaN, 2 ** 47, 2 ** 60, Number.POSITIVE_INFINITY])
		assert.equal(pages.read(address, 8), undefined);
	assert.equal(pages.read(registers.sp, 2 ** 40), undefined);
	pages.close();
	assert.equal(pages.read(registers.sp, 8), undefined);
	const nobody = new OwnPages(NOBODY);
	assert.equal(nobody.read(registers.sp, 8), undefined);
	nobody.close();
});
