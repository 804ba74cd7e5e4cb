/** Control groups by path and by number, and the containers among them. */
import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TstraceError } from '../../../src/errors.js';
import { cgroupId, cgroupMount, cgroupPaths, subgroups } from '../../../src/proc/cgroup.js';
import { containersThere } from '../../../src/proc/containers.js';
import { temporaryFolder } from '../symbolize/support.js';
import { fakeProc } from './fake-proc.js';

const mount = temporaryFolder();
const PATHS = ['/a', '/b', '/a/x', '/b/y', '/a/x/deep'];
for (const path of PATHS) mkdirSync(join(mount, path));
writeFileSync(join(mount, 'a/cgroup.procs'), '');

const idOf = (path: string) => statSync(join(mount, path)).ino;

/** What is mounted. */
const mounts = (t: TestContext, ...lines: readonly string[]) =>
	fakeProc(t, { files: { '/proc/self/mounts': lines.map((line) => `${line} 0 0\n`).join('') } });

test('folders from the mount on, those above first, and nothing else', () => {
	assert.deepEqual([...subgroups(mount)], ['/', ...PATHS]);
	const many = temporaryFolder();
	for (let i = 0; i < 200; i++) mkdirSync(join(many, `${i}`));
	assert.equal([...subgroups(many)].length, 201);
	// It has gone since.
	assert.deepEqual([...subgroups(join(mount, 'none'))], ['/']);
});

test('paths by number: the root is "/"; a number that no folder has has no path', (t) => {
	mounts(t, `cgroup /other cgroup rw,cpu`, `cgroup2 ${mount} cgroup2 rw`);
	assert.equal(cgroupMount(), mount);
	const [root, x, deep] = ['/', '/a/x', '/a/x/deep'].map(idOf) as [number, number, number];
	const found = cgroupPaths(new Set([deep, root, x, 1]));
	assert.deepEqual(
		[...found],
		[
			[root, '/'],
			[x, '/a/x'],
			[deep, '/a/x/deep'],
		],
	);
	assert.equal(cgroupPaths(new Set()).size, 0);
	mounts(t, 'tmpfs /tmp tmpfs rw');
	assert.equal(cgroupPaths(new Set([root])).size, 0);
});

test('what is no cgroup is refused, with where there are some', (t) => {
	const says = (path: string, expected: string) =>
		assert.throws(
			() => cgroupId(path),
			(error) => error instanceof TstraceError && error.message.includes(expected),
		);
	mounts(t, `cgroup2 ${mount} cgroup2 rw`);
	const where = `is not a cgroup (version 2): give a folder below ${mount}`;
	says('/none', `/none ${where}`);
	// A folder, but of another file system.
	says('/a', `/a ${where}`);
	says(join(mount, 'a/cgroup.procs'), where);
	mounts(t, 'tmpfs /tmp tmpfs rw');
	says('/a', '/a is not a cgroup (version 2): give a folder of a cgroup2 mount');
});

const real = cgroupMount();
const WITH_CGROUPS = real === undefined ? { skip: 'needs a mount of cgroup2' } : {};

test('a cgroup is given by its whole path, or from the mount on', WITH_CGROUPS, () => {
	const { ino } = statSync(real ?? '', { bigint: true });
	assert.equal(cgroupId(real ?? ''), ino);
	assert.equal(cgroupId('/'), ino);
	assert.throws(() => cgroupId('/cgroup.procs'), /is not a cgroup/);
});

test('containers, by the paths of their cgroups from the mount on', (t) => {
	const root = temporaryFolder();
	const id = 'a1b2c3d4e5f6'.padEnd(64, '7');
	mkdirSync(join(root, 'system.slice', `docker-${id}.scope`), { recursive: true });
	mkdirSync(join(root, 'lxc.payload.db'));
	const there = [
		{ id: 'db', kind: 'machine', path: '/lxc.payload.db' },
		{ id, kind: 'docker', path: `/system.slice/docker-${id}.scope` },
	];
	const first = `cgroup ${root} cgroup rw,perf_event`;
	mounts(t, first);
	assert.deepEqual([...containersThere()], there, 'version 1');
	mounts(t, `cgroup ${mount} cgroup rw,perf_event`, `cgroup2 ${root} cgroup2 rw`);
	assert.deepEqual([...containersThere()], there, 'both versions');
	mounts(t, `cgroup ${root} cgroup rw,cpu`);
	assert.deepEqual([...containersThere()], []);
});
