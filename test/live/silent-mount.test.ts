/**
 * A process executes a program of a file system that answers no question any more, or waits for one with the lock of its
 * memory: that keeps no tool waiting.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { processesThere } from '../../src/proc/threads.js';
import { textOf } from '../../src/text-of.js';
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

/** `before`: what happens to the mount while it still answers. */
async function withSilentMount(
	use: (pid: number, folder: string) => Promise<void>,
	before: (folder: string) => unknown = () => undefined,
): Promise<void> {
	await withMount([], async (workload, folder) => {
		before(folder);
		await workload.work();
		await use(workload.pid, folder);
	});
}

async function withMount(
	ways: readonly string[],
	use: (workload: Workload, folder: string) => Promise<void>,
): Promise<void> {
	const folder = mkdtempSync(resolve('build/silent-'));
	const workload = await Workload.start('silent-mount', folder, ...ways);
	try {
		await use(workload, folder);
	} finally {
		// The questions that are open get an error: whoever asked can end.
		await workload.end();
		spawnSync('umount', ['-l', folder], { stdio: 'ignore' });
		rmdirSync(folder);
	}
}

/** Who asks on behalf of a tstrace, also of one that has ended. Of no other is the command line read: it may be locked. */
const askers = (pid: number): number[] =>
	[...processesThere()].flatMap(({ id, comm }) =>
		/^(head|sh)$/.test(comm) &&
		textOf(`/proc/${id}/cmdline`)?.includes(`/proc/${pid}/`) &&
		!hasEnded(id)
			? [id]
			: [],
	);

const MOUNT_GONE = '/program (mount that was taken away) does not answer';

function assertNamed(finished: Finished, folder: string): void {
	assert.equal(finished.status, 0, finished.stderr);
	assertSays(finished, `${folder} (fuse.silent) does not answer`);
}

function assertSays({ stdout, stderr }: Finished, words: string): void {
	// Lines are broken where the terminal ends.
	const said = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
	assert.ok(said.includes(words), said);
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

test('the same where the mount was taken away before, and nobody sees it', async () => {
	const umount = (folder: string) => assert.equal(spawnSync('umount', ['-l', folder]).status, 0);
	await withSilentMount(async (pid) => {
		for (const [tool = '', ...rest] of RUNS.filter(([each]) =>
			/profile|memleak|doctor/.test(`${each}`),
		)) {
			const finished = await Tracing.begin([tool, '-p', `${pid}`, ...rest]).end();
			assert.equal(finished.status, 0, finished.stderr);
			assertSays(finished, MOUNT_GONE);
			await until(() => askers(pid).length === 0);
		}
	}, umount);
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

/** man 2 mmap: its number. */
const MMAP = process.arch === 'arm64' ? 222 : 9;

/** A thread of the workload maps the file, and waits for the mount with the lock of its memory. */
async function untilLocked({ pid }: Workload): Promise<void> {
	const isMapping = (tid: string) => {
		const of = (name: string) => readFileSync(`/proc/${pid}/task/${tid}/${name}`, 'utf8');
		return /\) D /.test(of('stat')) && of('syscall').startsWith(`${MMAP} `);
	};
	await until(() => readdirSync(`/proc/${pid}/task`).some(isMapping));
}

test('a process whose memory does not answer is named, and every tool comes to its end', async () => {
	const before = kernelObjects();
	await withMount(['maps'], async (workload) => {
		const { pid } = workload;
		await untilLocked(workload);
		for (const [tool = '', ...rest] of RUNS) {
			const finished = await Tracing.begin([tool, '-p', `${pid}`, ...rest]).end();
			// What cannot be opened has no probes; the others show what they have.
			assert.equal(finished.status, ['memleak', 'doctor'].includes(tool) ? 1 : 0, finished.stderr);
			assertSays(finished, `program (${pid}) did not let tstrace read its memory`);
			await until(() => askers(pid).length === 0);
		}
	});
	await untilReleased(before);
});

test('the same of a process with more threads than are looked at', async () => {
	await withMount(['maps', '1100'], async (workload) => {
		await untilLocked(workload);
		const finished = await Tracing.begin(['profile', '-p', `${workload.pid}`, '1']).end();
		assert.equal(finished.status, 0, finished.stderr);
		assertSays(finished, `program (${workload.pid}) did not let tstrace read its memory`);
		await until(() => askers(workload.pid).length === 0);
	});
});

test('where the memory of a process does not answer, no probe is put into a file that many have mapped', async () => {
	await withMount(['maps'], async (workload) => {
		await untilLocked(workload);
		const other = spawn('sleep', ['100']);
		try {
			await until(() => /\/libc\./.test(readFileSync(`/proc/${other.pid}/maps`, 'utf8')));
			const tracing = Tracing.begin(['memleak', '-p', `${other.pid}`, '1', '1']);
			const finished = await tracing.end();
			assert.equal(finished.status, 1);
			assertSays(finished, `may wait for program (${workload.pid}), whose memory does not answer`);
		} finally {
			other.kill();
		}
	});
});
