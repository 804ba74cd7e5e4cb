/** syscount --paths: which paths and descriptors calls failed on, and how often. */
import assert from 'node:assert/strict';
import { readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import type { ShownFailure } from '../../src/tools/syscount/failed-table.js';
import { needsNarrowCalls } from './narrow-calls.js';
import { reportsOf } from './reports.js';
import { type Finished, Tracing, tstrace, Workload } from './support.js';

const COUNT = 997;

const failuresOf = ({ stdout }: Finished) =>
	reportsOf(stdout).flatMap(({ rows }) => rows as unknown as ShownFailure[]);

/** What failed while a workload works; `look` while it still has its descriptors. */
async function failing(
	workload: Workload,
	args: readonly string[] = [],
	env: Readonly<Record<string, string>> = {},
): Promise<ShownFailure[]> {
	const whose = ['-p', `${workload.pid}`];
	const tracing = await Tracing.start(['syscount', '--json', '--paths', ...whose, ...args], env);
	await workload.work();
	const finished = await tracing.end('SIGINT');
	assert.equal(finished.status, 0, finished.stderr);
	const rows = failuresOf(finished);
	// Workload "calls" waits for its children until there is none: once. Others do not wait.
	const waits = rows.filter(({ syscall }) => syscall === 'wait4');
	assert.ok(waits.length <= 1 && waits.every((row) => row.error === 'ECHILD' && row.errors === 1));
	return rows.filter(({ syscall }) => syscall !== 'wait4');
}

for (const hook of ['raw', 'perf'] as const) {
	test(`${hook}: ${COUNT} opens of a file that is not there: its path, ${COUNT} times`, async () => {
		const workload = await Workload.start('calls', 'missing', `${COUNT}`);
		const rows = await failing(workload, [], { TSTRACE_FORCE: hook });
		await workload.end();
		const { pid } = workload;
		const shown = rows.map(({ errors, syscall, error, path, ...rest }) => ({
			...{ errors, syscall, error, path },
			...{ pid: rest.pid, comm: rest.comm },
		}));
		assert.deepEqual(shown, [
			{
				errors: COUNT,
				syscall: 'openat',
				error: 'ENOENT',
				path: '/no/such/file',
				pid,
				comm: 'calls',
			},
		]);
	});
}

test('the calls of threads are those of their process', async () => {
	const workload = await Workload.start('calls', 'threads', '20');
	const rows = await failing(workload);
	await workload.end();
	const missing = rows.filter(({ path }) => path === '/no/such/file');
	assert.deepEqual(
		missing.map(({ pid, comm, errors }) => [pid, comm, errors]),
		[[workload.pid, 'calls', 20]],
	);
});

test('a path that cannot be read is counted as that', async () => {
	const workload = await Workload.start('calls', 'null', `${COUNT}`);
	const [row, ...others] = await failing(workload);
	await workload.end();
	assert.deepEqual(others, []);
	assert.deepEqual([row?.errors, row?.error, row?.path], [COUNT, 'EFAULT', null]);
});

test('an empty path is about no descriptor where it has none before it', () => {
	const options = ['--paths', '--errno', 'ENOENT', '--syscall', 'openat', '--json', '-q'];
	const failures = failuresOf(tstrace(['syscount', ...options, '--', 'cat', '']));
	const row = failures.find(({ path, descriptor }) => path === '' || descriptor !== undefined);
	assert.deepEqual([row?.path, row?.descriptor, row?.errors], ['', undefined, 1]);
});

test('descriptors: what they were, and those that are not open', async () => {
	const readOnly = await Workload.start('calls', 'read-only', `${COUNT}`);
	const [file, ...others] = await failing(readOnly);
	assert.deepEqual(others, []);
	assert.deepEqual(
		[file?.errors, file?.syscall, file?.error, file?.file],
		[COUNT, 'write', 'EBADF', resolve('build/workloads/calls')],
	);
	assert.equal(readlinkSync(`/proc/${readOnly.pid}/fd/${file?.descriptor}`), file?.file);
	await readOnly.end();

	const seeks = await Workload.start('calls', 'seeks', `${COUNT}`);
	const [input] = await failing(seeks);
	assert.deepEqual([input?.errors, input?.syscall, input?.error], [COUNT, 'lseek', 'ESPIPE']);
	assert.equal(input?.descriptor, 0);
	assert.equal(input?.file, readlinkSync(`/proc/${seeks.pid}/fd/0`));
	await seeks.end();

	const moves = await Workload.start('moves', `${COUNT}`);
	const closed = await failing(moves);
	await moves.end();
	assert.deepEqual(
		closed.map(({ errors, syscall, error, descriptor, file: none }) => ({
			...{ errors, syscall, error, descriptor, none },
		})),
		['read', 'write'].map((syscall) => ({
			...{ errors: COUNT, syscall, error: 'EBADF', descriptor: -1, none: null },
		})),
	);
});

if (process.arch === 'x64') {
	test('paths of 32-bit calls', needsNarrowCalls(), async () => {
		for (const [kind, name] of [
			['compat-missing', 'open (32-bit)'],
			['compat-missing-at', 'openat (32-bit)'],
		] as const) {
			const workload = await Workload.start('calls', kind, `${COUNT}`);
			const [row] = await failing(workload);
			await workload.end();
			assert.deepEqual(
				[row?.errors, row?.syscall, row?.error, row?.path],
				[COUNT, name, 'ENOENT', '/no/such/low'],
			);
		}
	});
}

test('only an error, only some calls', () => {
	const args = ['--errno', 'ENOENT', '--syscall', 'statx', '--', 'ls', '/no/such', '/no/other'];
	const rows = failuresOf(tstrace(['syscount', '--json', '--paths', ...args]));
	const paths = new Set(rows.map(({ path }) => path));
	assert.deepEqual(paths, new Set(['/no/such', '/no/other']));
	assert.ok(rows.every(({ syscall, error }) => syscall === 'statx' && error === 'ENOENT'));
});

test("strangers' paths: long ones are cut, control characters reach no terminal", () => {
	const long = `/${'none/'.repeat(60)}end`;
	const words = [
		'--errno',
		'ENOENT',
		'--syscall',
		'openat',
		'--',
		'cat',
		'/no/\u001b[31m\u009bx',
		long,
	];
	const { stdout } = tstrace(['syscount', '-q', '--paths', '--top', '0', ...words]);
	assert.doesNotMatch(stdout, /[^\P{Cc}\n]/u);
	assert.match(stdout, /\\x1b\[31m/);
	for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
	const json = tstrace(['syscount', '--json', '--paths', ...words]);
	assert.doesNotMatch(json.stdout, /[^\P{Cc}\n]/u);
	const rows = failuresOf(json);
	assert.ok(rows.some(({ path }) => path === '/no/\u001b[31m\u009bx'));
	const cut = rows.filter(({ path_cut }) => path_cut);
	assert.deepEqual(
		cut.map(({ path, errors }) => [path, errors]),
		[[long.slice(0, 207), 1]],
	);
});

test('a path that just fits is whole', () => {
	const fits = (bytes: number) => `/${'none/'.repeat(50)}`.slice(0, bytes - 1).concat('e');
	const which = ['--errno', 'ENOENT', '--syscall', 'openat', '--json', '-q'];
	const command = ['cat', fits(206), fits(207), fits(208)];
	const rows = failuresOf(tstrace(['syscount', '--paths', ...which, '--', ...command]));
	const long = rows.filter(({ path }) => path?.startsWith('/none/none/'));
	const shown = long.map(({ path, path_cut }) => `${path?.length}${path_cut ? ', cut' : ''}`);
	assert.deepEqual(shown.sort(), ['206', '207', '207, cut']);
});

test('two threads that fail at the same time: each call is counted', async () => {
	const EACH = 100_000;
	for (const options of [['--paths'], ['-P']]) {
		const workload = await Workload.start('calls', 'together', `${EACH}`);
		// Of all processes: whose it is is told without a filter, too.
		const args = ['syscount', '--json', '--syscall', 'openat', '-x', ...options];
		const [whose, all] = [
			await Tracing.start([...args, '-p', `${workload.pid}`]),
			await Tracing.start(args),
		];
		await workload.work();
		for (const tracing of [whose, all]) {
			const rows = failuresOf(await tracing.end('SIGINT')).filter(
				({ pid }) => pid === workload.pid,
			);
			assert.deepEqual(
				rows.map(({ comm, errors }) => [comm, errors]),
				[['calls', 2 * EACH]],
			);
		}
		await workload.end();
	}
});

test('more paths than there is room for: what is not shown is counted as lost', () => {
	const files = Array.from({ length: 500 }, (_, n) => `/no/such/${n}`);
	const which = ['--errno', 'ENOENT', '--syscall', 'openat', '--max-paths', '16'];
	const args = ['syscount', '--json', '--paths', ...which, '--', 'cat', ...files];
	const finished = tstrace(args);
	const whole = failuresOf(tstrace(args.map((word) => (word === '16' ? '8192' : word))));
	const total = (rows: readonly ShownFailure[]) =>
		rows.reduce((sum, { errors }) => sum + errors, 0);
	assert.ok(files.every((file) => whole.some(({ path }) => path === file)));
	const rows = failuresOf(finished);
	const lost = reportsOf(finished.stdout)[0]?.lost.failures_full ?? 0;
	assert.ok(rows.length > 0 && rows.length < 100, `${rows.length} rows`);
	assert.ok(lost > 0);
	assert.equal(total(rows) + lost, total(whole));
	assert.match(
		tstrace([...args.filter((word) => word !== '--json')]).stderr,
		/^lost: [\d,]+ failed calls: no\s+room\s+for\s+more\s+paths;[\s\S]*?\(failures_full\)$/m,
	);
});

test('--paths with what it cannot be with: one line', () => {
	for (const other of ['--latency', '-P', '--errors', '--bytes']) {
		const { status, stderr } = tstrace(['syscount', '--paths', other]);
		assert.equal(status, 2);
		assert.match(stderr, /^tstrace syscount: .*--paths.* cannot be used with .*\n$/);
	}
});

/** Calls for a descriptor, with no path (NULL) and with an empty one; one with a path that cannot be read, and one whose path is the third argument. */
const NO_PATH = `
import ctypes, os, sys
libc, words, EMPTY_PATH = ctypes.CDLL(None), ctypes.create_string_buffer(512), 0x1000
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
for _ in range(97):
    libc.futimens(4242, None)
    libc.fstatat(4242, b'', words, EMPTY_PATH)
    libc.openat(4242, ctypes.c_void_p(0x1000), 0)
    libc.symlinkat(b'first', 4242, b'third')
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('without a path it is about the descriptor before it; not if there is one that cannot be read', async () => {
	const python = await Workload.startBy('python3', '-c', NO_PATH);
	const rows = await failing(python);
	await python.end();
	const found = rows.map(({ syscall, errors, error, path, descriptor }) => [
		...[syscall.replace(/^newfstatat$/, 'fstatat'), errors, error, path, descriptor],
	]);
	assert.deepEqual(found.sort(), [
		['fstatat', 97, 'EBADF', undefined, 4242],
		['openat', 97, 'EFAULT', null, undefined],
		['symlinkat', 97, 'EBADF', 'third', undefined],
		['utimensat', 97, 'EBADF', undefined, 4242],
	]);
});

/** The same path fails after a longer one, and after a descriptor. */
const MIXED = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
for _ in range(31):
    for path in (b'/no/such', b'/no/such/long/one', b'/no/such'): libc.chdir(path)
    libc.fchdir(4242)
    libc.chdir(b'/no/such')
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('a path has one row, whatever failed before it', async () => {
	const python = await Workload.startBy('python3', '-c', MIXED);
	const rows = await failing(python);
	await python.end();
	assert.deepEqual(
		rows.map(({ path, descriptor, errors }) => [path ?? descriptor, errors]),
		[
			['/no/such', 93],
			['/no/such/long/one', 31],
			[4242, 31],
		],
	);
});

/** Fails to write to a file, which then is another one's descriptor. */
const USED_AGAIN = `
import os, sys
own = os.open('/proc/self/exe', os.O_RDONLY)
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
for _ in range(97):
    try: os.write(own, b'x')
    except OSError: pass
os.close(own)
assert os.open('/etc/passwd', os.O_RDONLY) == own
print('done', own, flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('a descriptor that is used again is not told as the file that it is now', async () => {
	const python = await Workload.startBy('python3', '-c', USED_AGAIN);
	const file = readlinkSync(`/proc/${python.pid}/exe`);
	const rows = (await failing(python)).filter(({ error }) => error === 'EBADF');
	await python.end();
	assert.deepEqual(
		rows.map(({ syscall, errors }) => [syscall, errors]),
		[['write', 97]],
	);
	assert.notEqual(rows[0]?.file, '/etc/passwd');
	assert.ok(file.endsWith(rows[0]?.file ?? '?'), `${rows[0]?.file}`);
});
