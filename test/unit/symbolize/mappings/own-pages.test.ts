/** Which pages of another process are read: its own that are in memory, and none else. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { koffi } from '../../../../src/loader/koffi.js';
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

/** Where memory ends that a process writes to, and a file is mapped behind it. */
function bordersOf(pid: number): number[] {
	const text = readFileSync(`/proc/${pid}/maps`, 'latin1');
	const ends = [...text.matchAll(/-(\w+) rw-p.*\n(\w+)-\w+ r.*\//g)];
	return ends.flatMap(([, end, start = '']) => (end === start ? Number.parseInt(start, 16) : []));
}

test("a process's own pages are read as they are", async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const pages = new OwnPages(pid);
	const memory = new ProcessMemory(pid);
	t.after(() => {
		pages.rest();
		memory.close();
	});
	const bytesOf = (view: DataView | undefined) => {
		const { buffer, byteOffset, byteLength } = view ?? assert.fail();
		return Buffer.from(buffer, byteOffset, byteLength);
	};
	// What it was started with. Further down there may be a page that nobody has touched.
	const { end } = rangeOf(pid, /\[stack\]/);
	for (const length_bytes of [8, 1000, 2000]) {
		const at = end - length_bytes;
		assert.deepEqual(bytesOf(pages.read(at, length_bytes)), bytesOf(memory.read(at, length_bytes)));
	}
	pages.forget();
	assert.equal(pages.read(registers.sp, 8)?.byteLength, 8);
});

/** Files of a process that are open here. */
const openOf = (pid: number) =>
	readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith(`/proc/${pid}/`));

function linkOf(fd: string): string {
	try {
		return readlinkSync(`/proc/self/fd/${fd}`);
	} catch {
		return ''; // of the folder that was read
	}
}

test('what is a file, is not in memory, or is no address, is not read', async (t) => {
	const { pid, registers } = await waitingChild(t, 'cat');
	const pages = new OwnPages(pid);
	t.after(() => pages.rest());
	const code = rangeOf(pid, / r-xp .*libc/);
	assert.ok(code.start > 0);
	assert.equal(pages.read(code.start, 8), undefined);
	// Its own page, and one of a file behind it.
	const borders = bordersOf(pid);
	for (const border of borders) assert.equal(pages.read(border - 8, 16), undefined);
	assert.ok(borders.some((border) => pages.read(border - 8, 8)));
	const stack = rangeOf(pid, /\[stack\]/);
	// Behind its end nothing is mapped.
	assert.equal(pages.read(stack.end, 8), undefined);
	assert.equal(pages.read(stack.end - 8, 16), undefined);
	for (const address of [0, -8, 8, Number.NaN, 2 ** 47, 2 ** 60, Number.POSITIVE_INFINITY])
		assert.equal(pages.read(address, 8), undefined);
	assert.equal(pages.read(registers.sp, 2 ** 40), undefined);
	assert.ok(pages.read(registers.sp, 8));
	assert.equal(openOf(pid).length, 2);
	pages.rest();
	assert.deepEqual(openOf(pid), []);
	// Once more, if it is asked again.
	assert.ok(pages.read(registers.sp, 8));
	const nobody = new OwnPages(NOBODY);
	assert.equal(nobody.read(registers.sp, 8), undefined);
	nobody.rest();
});

test('what is read in several pieces is in its order', () => {
	// Not a whole number of pieces, and no two bytes at the same place of two pieces in a row are alike.
	const bytes = Buffer.alloc(3 * 65_536 + 1234);
	for (let at = 0; at < bytes.length; at++) bytes[at] = (at % 251) ^ (at >>> 16);
	const pages = new OwnPages(process.pid);
	const view = pages.read(Number(koffi().address(bytes)), bytes.length) ?? assert.fail();
	assert.deepEqual(Buffer.from(view.buffer, view.byteOffset, view.byteLength), bytes);
	pages.rest();
});

test('what was read of a page is kept until it is said to be old', () => {
	const bytes = Buffer.alloc(64, 1);
	const pages = new OwnPages(process.pid);
	const address = Number(koffi().address(bytes));
	const first = () => pages.read(address, 1)?.getUint8(0);
	assert.equal(first(), 1);
	bytes.fill(2);
	assert.equal(first(), 1);
	pages.forget();
	assert.equal(first(), 2);
	bytes.fill(3);
	pages.rest();
	assert.equal(first(), 3);
	pages.rest();
});
