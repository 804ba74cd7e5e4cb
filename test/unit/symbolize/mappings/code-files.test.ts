/** The files that a process executes code of. */
import assert from 'node:assert/strict';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { inodeOf, mappedFiles, pathTo } from '../../../../src/symbolize/mappings/code-files.js';
import { fakeProc } from '../../proc/fake-proc.js';

/** Above any process number. */
const NOBODY = 4_194_305;

test('files are told by their device, too; what is named like none of a folder is none', (t) => {
	const of = (start: number, identity: string) =>
		`${start}000-${start}800 r-xp 00000000 ${identity}\n`;
	const maps =
		of(1, '08:01 77    /usr/bin/app') +
		of(2, '08:02 77    /mnt/lib/libapp.so') +
		of(3, '103:01 77    /srv/libapp.so') +
		of(4, '00:0f 78    anon_inode:[perf_event]') +
		of(5, '08:02 77    /mnt/lib/libapp.so') +
		of(6, '00:00 0    [vdso]');
	fakeProc(t, { files: { [`/proc/${NOBODY}/maps`]: maps } });
	assert.deepEqual(
		mappedFiles(NOBODY)?.map(({ path }) => path),
		['/usr/bin/app', '/mnt/lib/libapp.so', '/srv/libapp.so'],
	);
});

test('our own: the program and its libraries, each once, and nothing but files', () => {
	const files = mappedFiles(process.pid) ?? assert.fail();
	const paths = files.map(({ path }) => path);
	assert.ok(paths.includes(realpathSync(process.execPath)), `${paths}`);
	assert.ok(paths.some((path) => /\/libc\.so\.6$/.test(path)));
	assert.ok(paths.every((path) => path.startsWith('/')));
	const identities = files.map(({ major, minor, inode }) => `${major}:${minor}:${inode}`);
	assert.equal(new Set(identities).size, files.length);
	// As another reader has it.
	const listed = readFileSync('/proc/self/maps', 'latin1').matchAll(
		/^\S+ ..x. \S+ \S+ [1-9]\d* +(\/.*)$/gm,
	);
	assert.deepEqual(new Set(paths), new Set([...listed].map(([, path]) => path)));
});

test('of a process that is gone, none', () => {
	assert.equal(mappedFiles(NOBODY), undefined);
});

test('the way to it: the file that is mapped, else one that is the same; never another one', () => {
	for (const entry of mappedFiles(process.pid) ?? assert.fail()) {
		assert.equal(inodeOf(pathTo(process.pid, entry)), entry.inode, entry.path);
		assert.equal(inodeOf(entry.path), statSync(entry.path).ino);
		// Of a process that is gone its path here is left, if that is the same file.
		const { start, end } = entry;
		const mapped = `/proc/${NOBODY}/map_files/${start.toString(16)}-${end.toString(16)}`;
		const here = pathTo(NOBODY, entry);
		assert.ok(here === entry.path || here === mapped, here);
		assert.equal(pathTo(NOBODY, { ...entry, inode: entry.inode + 1 }), mapped);
		assert.equal(pathTo(NOBODY, { ...entry, minor: entry.minor + 1 }), mapped);
		assert.equal(pathTo(NOBODY, { ...entry, major: entry.major + 1 }), mapped);
		assert.equal(pathTo(NOBODY, { ...entry, path: '/none' }), mapped);
	}
	assert.equal(inodeOf('/none'), undefined);
});

test('where the mapping itself cannot be opened, its path in the root of the process, if that is the file', () => {
	const [entry = assert.fail()] = mappedFiles(process.pid) ?? [];
	const unmapped = { ...entry, start: 1, end: 2 };
	const root = `/proc/${process.pid}/root`;
	assert.equal(pathTo(process.pid, unmapped), `${root}${entry.path}`);
	const mapped = `/proc/${process.pid}/map_files/1-2`;
	assert.equal(pathTo(process.pid, { ...unmapped, inode: entry.inode + 1 }), mapped);
	assert.equal(pathTo(process.pid, { ...unmapped, path: '/none' }), mapped);
});
