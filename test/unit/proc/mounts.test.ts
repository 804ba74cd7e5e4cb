/** What is mounted where, and how many files may be open. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cgroupFolders } from '../../../src/proc/cgroup.js';
import { openFilesLimit } from '../../../src/proc/limits.js';
import { mountAt, mountsThere } from '../../../src/proc/mounts.js';

test('each line is a mount; spaces and the like are written in octal', () => {
	const text =
		'tmpfs /mnt/a\\040b\\134c tmpfs rw,nosuid 0 0\nnone /x\\011y cgroup2 ro,name=a\\040b 0 0\n';
	assert.deepEqual(mountsThere(text), [
		{ folder: '/mnt/a b\\c', type: 'tmpfs', options: ['rw', 'nosuid'] },
		{ folder: '/x\ty', type: 'cgroup2', options: ['ro', 'name=a b'] },
	]);
	assert.equal(mountsThere('x /x fuse.a\\040b rw 0 0')[0]?.type, 'fuse.a b');
	const overlay = 'overlay / overlay rw,lowerdir=/a\\054b:/c,upperdir=/d 0 0\n';
	assert.deepEqual(mountsThere(overlay)[0]?.options, ['rw', 'lowerdir=/a,b:/c', 'upperdir=/d']);
	assert.deepEqual(mountsThere(''), []);
	assert.ok(mountsThere().some(({ folder, type }) => folder === '/proc' && type === 'proc'));
});

test('the path of a cgroup is given whole, or from the mount on', () => {
	assert.deepEqual(cgroupFolders('/a/b', '/sys/fs/cgroup'), ['/a/b', '/sys/fs/cgroup/a/b']);
	assert.deepEqual(cgroupFolders('/a/b', undefined), ['/a/b']);
});

test('the limit of open files: soft and hard', () => {
	const line = (soft: string, hard: string) =>
		`Limit  Soft Limit  Hard Limit  Units\nMax processes  7 8 processes\nMax open files   ${soft}  ${hard}  files\n`;
	assert.deepEqual(openFilesLimit(line('1024', '4096')), { soft: 1024, hard: 4096 });
	assert.deepEqual(openFilesLimit(line('64', 'unlimited')), {
		soft: 64,
		hard: Number.POSITIVE_INFINITY,
	});
	assert.deepEqual(openFilesLimit(''), { soft: 0, hard: 0 });
});

test('a path leads into the mount that is deepest on its way, and not into one of a similar name', () => {
	const mounts = ['/', '/mnt/a', '/mnt/a/b'].map((folder) => ({ folder, type: 'x', options: [] }));
	const byFolder = new Map(mounts.map((mount) => [mount.folder, mount]));
	const folderOf = (path: string) => mountAt(path, byFolder)?.folder;
	assert.equal(folderOf('/mnt/a/b/c/d'), '/mnt/a/b');
	assert.equal(folderOf('/mnt/a/b'), '/mnt/a/b');
	assert.equal(folderOf('/mnt/a/c'), '/mnt/a');
	assert.equal(folderOf('/mnt/ab/c'), '/');
	byFolder.delete('/');
	assert.equal(folderOf('/mnt/ab/c'), undefined);
	assert.equal(folderOf('memfd:x (deleted)'), undefined);
});
