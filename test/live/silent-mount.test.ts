/** A process executes a program of a file system that answers no question any more: that keeps no tool waiting. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { type Finished, hasEnded, Tracing, until, Workload } from './support.js';

/** Each opens files of the process: its program for names, tables, probes, or a file beside it. */
const RUNS: readonly (readonly string[])[] = [
	['profile', '1'],
	['offcputime', '1'],
	['memleak', '1', '1'],
	['why', '1'],
	['trace', '-k', '1'],
	['doctor'],
];

async function withSilentMount(use: (pid: number, folder: string) => Promise<void>): Promise<void> {
	const folder = mkdtempSync(resolve('build/silent-'));
	const workload = await Workload.start('silent-mount', folder);
	try {
		await workload.work();
		await use(workload.pid, folder);
	} finally {
		// The questions that are open get an error: whoever asked can end.
		await workload.end();
		spawnSync('umount', ['-l', folder], { stdio: 'ignore' });
		rmdirSync(folder);
	}
}

/** Who asks on behalf of a tstrace that has ended. */
const askers = (pid: number) =>
	spawnSync('pgrep', ['-f', `head -c 1 -- .*/proc/${pid}/`], { encoding: 'utf8' })
		.stdout.split('\n')
		.filter((pid) => pid !== '' && !hasEnded(Number(pid)));

function assertNamed({ status, stdout, stderr }: Finished, folder: string): void {
	assert.equal(status, 0, stderr);
	// Lines are broken where the terminal ends.
	const said = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
	assert.ok(said.includes(`${folder} (fuse.silent) does not answer`), said);
}

test('a file system that does not answer is named, and every tool comes to its end', async () => {
	const before = kernelObjects();
	await withSilentMount(async (pid, folder) => {
		for (const [tool = '', ...rest] of RUNS) {
			const tracing = Tracing.begin([tool, '-p', `${pid}`, ...rest]);
			assertNamed(await tracing.end(), folder);
			await until(() => askers(pid).length === 0);
		}
	});
	await untilReleased(before);
});

test('Ctrl-C, which all of a terminal’s processes get, is no answer of the file system', async () => {
	await withSilentMount(async (pid, folder) => {
		// A group of its own, as a shell makes for each command.
		const tracing = await Tracing.start(['profile', '-p', `${pid}`], {}, ['setsid']);
		await until(() => askers(pid).length > 0);
		process.kill(-tracing.pid, 'SIGINT');
		assertNamed(await tracing.end(), folder);
		await until(() => askers(pid).length === 0);
	});
});
