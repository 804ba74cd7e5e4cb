/** memleak and what becomes of processes: threads, fork, exec, other roots, and what is left. */
import assert from 'node:assert/strict';
import {
	closeSync,
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	readSync,
	realpathSync,
	rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { MemoryBytes } from '../../src/elf/bytes.js';
import { Elf } from '../../src/elf/elf.js';
import { parseMaps } from '../../src/proc/maps.js';
import { findFunctions } from '../../src/symbolize/symbols/functions.js';
import { stoppedAfter } from './faults.js';
import { kernelObjects, untilReleased } from './kernel-objects.js';
import { ALL, CUTS, FREEING, leafOf, leakedBy, leakReport, leaksOf } from './leaks.js';
import { Tracing, until, Workload } from './support.js';

test('a thread frees what another allocates', async () => {
	const { report } = await leakedBy(await Workload.start('leaks', 'threads', '1000'));
	const { leak_beside_thread } = leaksOf(report.stacks);
	assert.deepEqual(leak_beside_thread, [100 * 48, 100]);
	assert.deepEqual(report.lost, {});
});

test('-t: what a thread frees that another one has allocated is no free of what was not seen', async () => {
	const workload = await Workload.start('leaks', 'threads', '1000');
	const tracing = await Tracing.start(['memleak', '--json', '-t', `${workload.tid}`]);
	await workload.work();
	const { unseen_frees } = leakReport(await tracing.end('SIGINT'));
	await workload.end();
	assert.equal(unseen_frees, 0);
});

/** Of four threads of its. */
const MAPPED = ['map_after_free', 'map_over_free'];

test('-t: what this thread allocates, and not the others of its process', async () => {
	const workload = await Workload.start('freeing');
	const { pid } = workload;
	const [first, all] = await Promise.all(
		['-t', '-p'].map((option) => Tracing.start(['memleak', '--json', '-a', option, `${pid}`])),
	);
	assert.ok(first && all);
	await workload.work();
	const others = leakReport(await all.end('SIGINT')).stacks;
	const own = leaksOf(leakReport(await first.end('SIGINT')).stacks);
	await workload.end();
	for (const name of MAPPED) {
		assert.equal(own[name], undefined, name);
		const tids = others.filter((stack) => leafOf(stack) === name).map(({ key }) => key.tid);
		assert.deepEqual([tids.length, new Set(tids).size], [FREEING[name]?.[1], 4], name);
		assert.ok(!tids.includes(pid));
	}
});

for (const [kind, own] of [
	['execs', 'leak_before'],
	['ends', 'allocate_for_good'],
] as const) {
	test(`${kind}: what was before exec is gone, what is after is all there`, async () => {
		const workload = await Workload.start('leaks', kind);
		const tracing = await Tracing.start(['memleak', '--json', '-p', `${workload.pid}`]);
		workload.begin();
		await workload.again();
		await workload.work();
		const finished = await tracing.end('SIGINT');
		await workload.end();
		assert.equal(workload.status, 0);
		const report = leakReport(finished);
		// The new program is traced from its beginning, where it gets standard output's buffer.
		const { _IO_file_doallocate, ...leaks } = leaksOf(report.stacks);
		assert.deepEqual(leaks, ALL);
		assert.equal(leaks[own], undefined);
		assert.match(
			report.notices.join('\n'),
			/executed another program: its earlier allocations are gone/,
		);
	});
}

test('exec by another thread than the first: it is probed anew, a moment later', async () => {
	const workload = await Workload.start('leaks', 'hands-over');
	const tracing = await Tracing.start(['memleak', '--json', '-v', '-p', `${workload.pid}`]);
	const probed = () => tracing.stderr.match(/probes in \S*libc\.so\.6/g)?.length;
	await until(() => probed() === 1);
	workload.begin();
	await workload.again();
	await until(() => probed() === 2);
	await workload.work();
	const report = leakReport(await tracing.end('SIGINT'));
	await workload.end();
	assert.equal(workload.status, 0);
	const { _IO_file_doallocate, ...leaks } = leaksOf(report.stacks);
	assert.deepEqual(leaks, ALL);
	assert.match(report.notices.join('\n'), /from a thread that is not its first: .* 50 ms/);
});

for (const follow of [true, false]) {
	test(`a child ${follow ? 'with' : 'without'} --follow`, async () => {
		const workload = await Workload.start('leaks', 'forks');
		const args = ['memleak', '--json', '-v', '-p', `${workload.pid}`];
		const tracing = await Tracing.start([...args, ...(follow ? ['--follow'] : [])]);
		workload.begin();
		const child = await workload.again();
		// It is probed soon after it was forked.
		if (follow) await until(() => tracing.stderr.includes(`libc.so.6 of process ${child}`));
		await workload.work();
		const leaks = leaksOf(leakReport(await tracing.end('SIGINT')).stacks);
		await workload.end();
		assert.equal(workload.status, 0);
		assert.deepEqual(leaks.leak_in_parent, [43 * 321, 43]);
		assert.deepEqual(leaks.leak_in_child, follow ? [41 * 123, 41] : undefined);
	});
}

test('threads are no children', async () => {
	const { report } = await leakedBy(await Workload.start('leaks', 'threads', '10'), '--follow');
	assert.doesNotMatch(report.notices.join('\n'), /child processes/);
});

/** How many probes a process has attached, whatever the kernel offers for that. */
const probesOf = (pid: number) =>
	readdirSync(`/proc/${pid}/fd`).filter((fd) => {
		try {
			return /bpf_link|perf_event/.test(readlinkSync(`/proc/${pid}/fd/${fd}`));
		} catch {
			return false;
		}
	}).length;

test('the probes of a child that was followed go when it ends', async () => {
	const workload = await Workload.start('leaks', 'forks');
	const args = ['memleak', '--json', '-v', '--follow', '-p', `${workload.pid}`];
	const tracing = await Tracing.start(args);
	const before = probesOf(tracing.pid);
	assert.ok(before > 0);
	workload.begin();
	const child = await workload.again();
	await until(() => tracing.stderr.includes(`libc.so.6 of process ${child}`));
	assert.ok(probesOf(tracing.pid) > before);
	await workload.work();
	process.kill(child);
	// Those of the parent, which goes on.
	await until(() => probesOf(tracing.pid) === before);
	await tracing.end('SIGINT');
	await workload.end();
	assert.equal(workload.status, 0);
});

test('attached to what never rests: nothing seems to stay, nothing is freed unseen', async () => {
	const workload = await Workload.start('leaks', 'ring');
	await workload.work();
	const tracing = await Tracing.start(['memleak', '--json', '-p', `${workload.pid}`, '0.5', '1']);
	const report = leakReport(await tracing.end());
	await workload.end();
	const outstanding = report.stacks.reduce((sum, { count }) => sum + count, 0);
	assert.ok(outstanding <= 64, JSON.stringify(report.stacks));
	assert.ok(report.unseen_frees <= 64, `${report.unseen_frees}`);
	assert.deepEqual(report.lost, {});
});

test('children of vfork are none of it', async () => {
	const { report } = await leakedBy(await Workload.start('leaks', 'vforks', '20'));
	assert.deepEqual(leaksOf(report.stacks), { leak_around_vforks: [20 * 99, 20] });
	assert.deepEqual(report.lost, {});
});

/** What a workload as COMMAND leaves to its end; its own lines are before the result. */
async function leakedByCommand(...command: readonly string[]) {
	const tracing = Tracing.begin(['memleak', '--json', '--', ...command]);
	tracing.tell('xx');
	const { status, stdout, stderr } = await tracing.end();
	assert.equal(status, 0, stderr);
	const result = stdout.slice(stdout.indexOf('{"tool"'));
	return leaksOf(leakReport({ status, stdout: result, stderr }).stacks);
}

test('a command, from its first instruction to its last', async () => {
	const leaks = await leakedByCommand(resolve('build/workloads/leaks'), 'all');
	const { _IO_file_doallocate, ...own } = leaks;
	assert.deepEqual(own, ALL);
});

test('parts of mappings of a command that has ended: as far as its calls tell', async () => {
	const leaks = await leakedByCommand(resolve('build/workloads/cuts'));
	const found = Object.fromEntries(Object.keys(CUTS).map((name) => [name, leaks[name]]));
	// Its end was not the last mapping's, and a middle has no address that is known.
	assert.deepEqual(found, { ...CUTS, leak_cut_pages: [16 * 4096, 1] });
});

test('another root and another PID namespace: the allocator is the one it has mapped', async () => {
	const root = mkdtempSync(join(tmpdir(), 'tstrace-root-'));
	try {
		const maps = parseMaps(readFileSync('/proc/self/maps', 'utf8'));
		for (const name of ['libc.so.6', 'ld-linux-x86-64.so.2']) {
			const from = maps.find(({ path }) => path.endsWith(`/${name}`))?.path ?? '';
			for (const folder of ['lib64', 'lib/x86_64-linux-gnu']) {
				mkdirSync(join(root, folder), { recursive: true });
				copyFileSync(from, join(root, folder, name));
			}
		}
		copyFileSync('build/workloads/leaks', join(root, 'leaks'));
		const how = ['--pid', '--fork', '--kill-child', '--mount', 'chroot', root, '/leaks', 'all'];
		const workload = await Workload.startBy('unshare', ...how);
		// It says what it is called in there.
		assert.equal(workload.pid, 1);
		const unshare = workload.starter;
		const [child = ''] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, 'utf8').split(
			' ',
		);
		workload.pid = Number(child);
		const { report } = await leakedBy(workload);
		assert.deepEqual(leaksOf(report.stacks), ALL);
		assert.deepEqual(report.lost, {});
	} finally {
		rmSync(root, { recursive: true });
	}
});

/** The first bytes of a process's malloc and free, in its memory and in the file. */
function firstBytes(pid: number): { memory: string; file: string }[] {
	const libc = parseMaps(readFileSync(`/proc/${pid}/maps`, 'utf8')).filter(({ path }) =>
		path.endsWith('/libc.so.6'),
	);
	const bytes = readFileSync(realpathSync(libc[0]?.path ?? ''));
	const memory = openSync(`/proc/${pid}/mem`, 'r');
	try {
		const names = new Set(['malloc', 'free', 'realloc', 'mmap', 'posix_memalign']);
		return findFunctions(new Elf(new MemoryBytes(bytes)), names).map(({ offset, size_bytes }) => {
			const part = libc.find(
				({ start, end, fileOffset }) => fileOffset <= offset && offset < fileOffset + end - start,
			);
			assert.ok(part);
			const here = Buffer.alloc(size_bytes);
			readSync(memory, here, 0, size_bytes, part.start + offset - part.fileOffset);
			const there = bytes.subarray(offset, offset + size_bytes);
			return { memory: here.toString('hex'), file: there.toString('hex') };
		});
	} finally {
		closeSync(memory);
	}
}

const probed = (pid: number) =>
	firstBytes(pid).filter(({ memory, file }) => memory !== file).length;

for (const signal of ['SIGINT', 'SIGKILL'] as const) {
	test(`after ${signal} no probe is left in the process, which goes on`, async () => {
		const before = kernelObjects();
		const workload = await Workload.start('leaks', 'many', '300000');
		assert.equal(probed(workload.pid), 0);
		const tracing = await Tracing.start(['memleak', '-p', `${workload.pid}`]);
		assert.equal(probed(workload.pid), 5);
		const working = workload.work();
		await tracing.end(signal);
		await until(() => probed(workload.pid) === 0);
		await untilReleased(before);
		await working;
		await workload.end();
		assert.equal(workload.status, 0);
	});
}

test('killed at any time, tstrace leaves nothing', async () => {
	const before = kernelObjects();
	const workload = await Workload.start('leaks', 'many', '1000');
	for (const said of ['memleak: loaded', 'calloc at', 'Tracing']) {
		const tracing = await stoppedAfter(said, ['memleak', '-v', '-p', `${workload.pid}`]);
		await tracing.end('SIGKILL');
		await until(() => probed(workload.pid) === 0);
	}
	await untilReleased(before);
	await workload.work();
	await workload.end();
	assert.equal(workload.status, 0);
});
