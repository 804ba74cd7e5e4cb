/** memleak -O and --prefix: of several allocators in a process, the one that was asked for. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { ALL, HEAPS, type LeakReport, leakedBy, leaksOf } from './leaks.js';
import { Tracing, tstrace, until, Workload } from './support.js';

const LIBRARY = 'build/workloads/libheaps.so';
const preloaded = (library: string, ...command: string[]) =>
	Workload.startBy('env', `LD_PRELOAD=${library}`, ...command);
const heaps = () => preloaded(LIBRARY, 'build/workloads/heaps');

const { libraryJe, libraryOwn, programJe, programLibc } = HEAPS;

for (const [args, truth] of [
	[[], { ...programLibc, ...libraryOwn }],
	[['--prefix', 'je_'], { ...programJe, ...libraryJe }],
	[['-O', 'libheaps.so'], libraryOwn],
	[['-O', LIBRARY], libraryOwn],
	[['-O', resolve(LIBRARY)], libraryOwn],
	[['-O', 'libheaps.so', '--prefix', 'je_'], libraryJe],
	[['-O', 'heaps', '--prefix', 'je_'], programJe],
	[['-O', 'libc.so.6'], programLibc],
] as const) {
	const asked = args.map((arg) => arg.replace(resolve(), '…')).join(' ') || 'neither';
	test(`${asked}: bytes, counts and names of these allocators, and of no other`, async () => {
		const { report } = await leakedBy(await heaps(), ...args);
		assert.deepEqual(leaksOf(report.stacks), truth);
		assert.deepEqual(report.lost, {});
		assert.equal(report.unseen_frees, 0);
	});
}

test('-O by a path that leads to the library', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-library-'));
	try {
		const link = join(folder, 'heap.so');
		symlinkSync(resolve(LIBRARY), link);
		const { report } = await leakedBy(await heaps(), '-O', link);
		assert.deepEqual(leaksOf(report.stacks), libraryOwn);
	} finally {
		rmSync(folder, { recursive: true });
	}
});

// What jemalloc does not have, so that programs get the C library's.
const { leak_mapping, leak_moved_mapping, leak_shrunk_mapping, leak_pvalloc, ...JEMALLOC } = ALL;
const MAPPINGS = { leak_mapping, leak_moved_mapping, leak_shrunk_mapping };

for (const [library, truth] of [
	['libjemalloc.so.2', JEMALLOC],
	// It has mmap as well. What is mapped has a longer name; this is the name of a link.
	['libtcmalloc_minimal.so.4', ALL],
] as const) {
	test(`-O ${library}: all that it has, and nothing else`, async () => {
		const workload = await preloaded(library, 'build/workloads/leaks', 'all');
		const { report } = await leakedBy(workload, '-O', library);
		assert.deepEqual(leaksOf(report.stacks), truth);
		assert.deepEqual(report.lost, {});
		assert.equal(report.unseen_frees, 0);
	});
}

test('-O libc.so.6 beside jemalloc: what jemalloc does not have', async () => {
	const workload = await preloaded('libjemalloc.so.2', 'build/workloads/leaks', 'all');
	const { report } = await leakedBy(workload, '-O', 'libc.so.6');
	// jemalloc itself maps memory when it needs it.
	const leaks = Object.entries(leaksOf(report.stacks)).filter(([name]) => name.startsWith('leak_'));
	// Its reallocarray is a call of jemalloc's realloc.
	const { leak_reallocarray } = ALL;
	assert.deepEqual(Object.fromEntries(leaks), { ...MAPPINGS, leak_pvalloc, leak_reallocarray });
});

test('-O FILE without an allocator: the error is about that file', async () => {
	const workload = await heaps();
	const args = ['memleak', '-O', 'libheaps.so', '--prefix', 'no_', '-p', `${workload.pid}`];
	const { status, stderr } = tstrace(args);
	await workload.end();
	assert.equal(status, 1);
	assert.match(stderr, /has no known allocator: no no_malloc and no_free in libheaps\.so; /);
	assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
});

test('COMMAND with -O and --prefix: the library that it maps later', async () => {
	const which = ['-O', LIBRARY, '--prefix', 'je_'];
	const command = ['env', `LD_PRELOAD=${LIBRARY}`, 'build/workloads/heaps'];
	const tracing = await Tracing.start(['memleak', '--json', '-v', ...which, '--', ...command]);
	await until(() => tracing.stdout.includes('ready '));
	await tracing.says(/probes in \S+libheaps\.so/);
	// It begins, and ends.
	tracing.tell('xx');
	const { status, stdout, stderr } = await tracing.end();
	assert.equal(status, 0, stderr);
	const report: LeakReport = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
	assert.deepEqual(leaksOf(report.stacks), libraryJe);
	assert.deepEqual(report.lost, {});
	assert.equal(report.unseen_frees, 0);
});

test('COMMAND whose library is known by a link: it is probed once', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-library-'));
	try {
		const file = join(folder, 'leaks.json');
		const reports = () =>
			(existsSync(file) ? readFileSync(file, 'utf8') : '')
				.split('\n')
				// The last one may be being written.
				.slice(0, -1)
				.map((line): LeakReport => JSON.parse(line));
		const command = ['build/workloads/leaks-musl', 'all'];
		const tracing = await Tracing.start(['memleak', '-v', '-o', file, '0.2', '--', ...command]);
		// What it has mapped is looked at within an interval.
		await until(() => reports().length >= 2);
		tracing.tell('xx');
		const { status, stderr } = await tracing.end();
		assert.equal(status, 0, stderr);
		assert.equal(stderr.match(/probes in \S*musl/g)?.length, 1, stderr);
		const leaks = leaksOf(reports().at(-1)?.stacks ?? []);
		// Its libc has no pvalloc.
		const truth = Object.entries({ ...JEMALLOC, ...MAPPINGS });
		for (const [name, leak] of truth) assert.deepEqual(leaks[name], leak, name);
		for (const { lost, unseen_frees } of reports()) {
			assert.deepEqual(lost, {});
			assert.equal(unseen_frees, 0);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
});
