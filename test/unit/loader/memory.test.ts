/** Memory of files, seen in place: mapped once, given back once, and nothing left open. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { libc } from '../../../src/loader/ffi.js';
import { PROT, SharedMapping, viewKernelFile } from '../../../src/loader/memory.js';
import { temporaryFolder } from '../symbolize/support.js';
import { fails, replace } from './replaced.js';

const path = join(temporaryFolder(), 'memory');
writeFileSync(path, 'so many bytes');
const open = () => readdirSync('/proc/self/fd').length;

test('a file of the kernel is seen whole, and needs no descriptor for that', () => {
	viewKernelFile(path);
	const before = open();
	assert.equal(Buffer.from(viewKernelFile(path)).toString(), readFileSync(path, 'utf8'));
	assert.equal(open(), before);
});

test('what cannot be mapped: the errno, however the library says that it failed', (t) => {
	for (const failed of [-1n, 2n ** 64n - 1n, null]) {
		replace(t, libc(), {
			mmap: () => {
				fails('ENODEV');
				return failed;
			},
		});
		const before = open();
		assert.throws(() => viewKernelFile(path), { detail: 'ENODEV' });
		assert.equal(open(), before);
	}
});

test("memory is given back once: by then it may be somebody else's", (t) => {
	const fd = openSync(path, 'r');
	const mapping = new SharedMapping(fd, 13, PROT.read, 0);
	closeSync(fd);
	const { munmap } = libc();
	const bytes: number[] = [];
	replace(t, libc(), {
		munmap: (pointer, length) => {
			bytes.push(length);
			return munmap(pointer, length);
		},
	});
	mapping.unmap();
	mapping.unmap();
	assert.deepEqual(bytes, [13]);
});
