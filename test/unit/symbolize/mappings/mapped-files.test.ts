/** Files as they are remembered: one for all that have it mapped, until nobody has. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { parseMaps } from '../../../../src/proc/maps.js';
import { readMaps } from '../../../../src/proc/process-facts.js';
import { MappedFiles } from '../../../../src/symbolize/mappings/mapped-files.js';

const now_ns = () => Number(process.hrtime.bigint());
const entries = parseMaps(readMaps(process.pid) ?? '');
const entryOf = (pattern: RegExp) =>
	entries.find(({ path }) => pattern.test(path)) ?? assert.fail();
const descriptors = () => readdirSync('/proc/self/fd').length;

test('the same file is one, whoever has it mapped; when nobody has, it is forgotten', () => {
	const files = new MappedFiles();
	const libc = entryOf(/libc\.so\.6$/);
	const first = files.add(process.pid, now_ns(), libc) ?? assert.fail();
	assert.equal(files.add(1, now_ns(), libc), first);
	assert.equal(first.mappings, 2);
	// By another name, it is shown by that.
	const linked = files.add(process.pid, now_ns(), { ...libc, path: '/srv/lib/app.so' });
	assert.equal(linked?.path, '/srv/lib/app.so');
	assert.notEqual(files.add(process.pid, now_ns(), entryOf(/libm\.so\.6$|libstdc/)), first);
	files.release(first);
	assert.equal(files.add(process.pid, now_ns(), libc), first);
	files.release(first);
	files.release(first);
	const again = files.add(process.pid, now_ns(), libc) ?? assert.fail();
	assert.notEqual(again, first);
	assert.equal(again.mappings, 1);
	files.close();
});

test('a part of a file is what is there; behind its end there is none', () => {
	const files = new MappedFiles();
	const libc = entryOf(/libc\.so\.6$/);
	const file = files.add(process.pid, now_ns(), libc) ?? assert.fail();
	const { size } = statSync(libc.path);
	const before = descriptors();
	assert.deepEqual(
		file.part(size - 5000, 4096),
		readFileSync(libc.path).subarray(size - 5000, size - 904),
	);
	assert.equal(file.part(size - 5000, 5001), undefined);
	assert.equal(descriptors(), before);
	files.close();
});

test('memory is no file', () => {
	const files = new MappedFiles();
	const libc = entryOf(/libc\.so\.6$/);
	for (const other of [
		{ ...libc, inode: 0 },
		{ ...libc, path: '[vdso]' },
		{ ...libc, path: '//anon' },
		{ ...libc, path: '' },
	])
		assert.equal(files.add(process.pid, now_ns(), other), undefined);
});

test('its way is open as long as its path leads to it; nothing stays open', () => {
	const before = descriptors();
	const files = new MappedFiles();
	const node = entryOf(/node$/);
	assert.equal(node.path, realpathSync(process.execPath));
	const file = files.add(process.pid, now_ns(), { ...node, path: `${node.path} (deleted)` });
	assert.equal(file?.path, node.path);
	assert.deepEqual(file?.roots(), ['']);
	// Of another inode that path is another file.
	const other = files.add(process.pid, now_ns(), { ...node, inode: node.inode + 1 });
	assert.notEqual(other, file);
	assert.equal(other?.open(), undefined);
	assert.equal(statSync(node.path).ino, node.inode);
	files.close();
	assert.equal(descriptors(), before);
});
