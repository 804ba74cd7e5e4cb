/** --cgroup: how deep below it a thread is, does not matter. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cgroupMount } from '../../src/proc/cgroup.js';
import { reportsOf } from './reports.js';
import { tstrace, Workload } from './support.js';

test('--cgroup: of threads in it, and of threads below it, all waits', async () => {
	const mount = cgroupMount();
	assert.ok(mount, 'a cgroup2 mount is needed');
	const name = `tstrace-levels-${process.pid}`;
	const folders = [join(mount, name), join(mount, name, 'child')];
	for (const folder of folders) mkdirSync(folder);
	try {
		// They take turns on CPU 0.
		const hogs = [await Workload.start('hog', '0'), await Workload.start('hog', '0')];
		for (const [i, { pid }] of hogs.entries())
			writeFileSync(join(folders[i] as string, 'cgroup.procs'), `${pid}`);
		const args = ['runqlat', '--cgroup', name, '--by', 'cgroup', '--json', '0.5', '1'];
		const { stdout, stderr } = tstrace(args);
		for (const hog of hogs) await hog.end();
		const groups = reportsOf(stdout).flatMap((report) => report.groups);
		const often = groups.filter(({ count }) => count > 10).map(({ key }) => key.cgroup);
		assert.deepEqual(often.sort(), [`/${name}`, `/${name}/child`], stdout + stderr);
	} finally {
		for (const folder of folders.reverse()) {
			// When the test fails, a hog in it still runs.
			for (const pid of readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim().split('\n'))
				if (pid) writeFileSync(join(mount, 'cgroup.procs'), pid);
			rmdirSync(folder);
		}
	}
});
