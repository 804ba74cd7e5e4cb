/** trace: calls that have not returned as tracing ends, and children of threads: whose they are. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { runToEnd, Tracing, until, Workload } from './support.js';
import { tracedLines } from './traced-lines.js';

/** Threads with names of their own: one waits before it is told to work, one makes a child, one waits from then on. */
const LIVES = `
import ctypes, os, socket, sys, threading
prctl, PR_SET_NAME = ctypes.CDLL(None).prctl, 15
hears = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
hears.bind(('127.0.0.1', 0))
empty, made = os.pipe(), []
def begin(name, work):
    def run():
        prctl(PR_SET_NAME, name)
        work()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
def make_child():
    child = os.fork()
    if not child: os._exit(3)
    os.waitpid(child, 0)
    made.append(child)
begin(b'before', lambda: hears.recvfrom(7))
print('ready', os.getpid(), hears.fileno(), flush=True)
sys.stdin.buffer.raw.read(1)
begin(b'makes', make_child).join()
begin(b'meanwhile', lambda: os.read(empty[0], 77))
print('done', made[0], flush=True)
sys.stdin.buffer.raw.read(1)
`;
const WAITS_MS = 60;

/** The arguments of the call that a thread of this name is in: proc(5), /proc/PID/task/TID/syscall. */
function callOf(pid: number, name: string): string[] | undefined {
	for (const tid of readdirSync(`/proc/${pid}/task`)) {
		const read = (file: string) => readFileSync(`/proc/${pid}/task/${tid}/${file}`, 'utf8').trim();
		const [nr = '', ...args] = read('syscall').split(' ');
		if (read('comm') === name && /^\d+$/.test(nr)) return args;
	}
	return undefined;
}

test('calls that have not returned are of the thread that made them, and last since then; children are of a process', async () => {
	const python = await Workload.startBy('python3', '-c', LIVES);
	const { pid, tid: file } = python;
	const isIn = (name: string, bytes: number) =>
		callOf(pid, name)?.[2] === `0x${bytes.toString(16)}`;
	await until(() => isIn('before', 7));
	const [, buffer, , , address, length] = callOf(pid, 'before') ?? [];
	const all = await Tracing.start(['trace', '--follow', '-p', `${pid}`]);
	const LONG = ['--min-duration', '20ms', '-e', 'read'];
	const long = await Tracing.start(['trace', '--json', ...LONG, '-p', `${pid}`]);
	const begun_ms = performance.now();
	const [child] = await python.work();
	await until(() => isIn('meanwhile', 77));
	const in_ms = performance.now();
	await until(() => performance.now() > in_ms + WAITS_MS);
	const lines = tracedLines((await all.end('SIGINT')).stdout);
	const { stdout } = await long.end('SIGINT');
	const most_ms = performance.now() - begun_ms;
	await python.end();

	const [before, ...others] = lines.filter(({ call }) => call === 'recvfrom');
	assert.deepEqual(others, []);
	assert.deepEqual(
		[before?.comm, before?.pid, before?.args],
		['before', pid, `${file}, ${buffer}, 7, 0, ${address}, ${length}`],
	);
	const rows = reportsOf(stdout).flatMap((report) => report.rows);
	const [read, ...more] = rows.filter(({ comm }) => comm === 'meanwhile');
	assert.deepEqual(more, []);
	assert.deepEqual([read?.syscall, read?.unfinished], ['read', 1], stdout);
	const duration_ms = Number(read?.duration_ns) / 1e6;
	assert.ok(duration_ms >= WAITS_MS && duration_ms <= most_ms, `${duration_ms} of ${most_ms}`);

	// A child returns from the call that made it, too: that is its parent's call.
	const makes = lines.filter(({ call = '' }) => /^(v?fork|clone3?)$/.test(call));
	const results = makes.map(({ comm, result }) => [comm, result]);
	assert.deepEqual(
		results.filter(([, result]) => result === '0'),
		[],
	);
	assert.equal(results.filter(([, result]) => result === `${child}`).length, 1);
	const ended = lines.find(({ tid, text }) => tid === child && text.startsWith('+++'));
	const name = makes.find(({ comm }) => comm !== 'makes')?.comm;
	assert.match(ended?.text ?? '', new RegExp(`exited with 3 after .* parent ${name}\\[${pid}\\]$`));
});

test('a call that began before, and has not returned, is shown if it is chosen; with --path it may be about any file, and is not', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'trace-lives-'));
	const fifo = join(folder, 'fifo');
	assert.equal(runToEnd('mkfifo', [fifo]).status, 0);
	// It waits as it opens it, until somebody writes there: fs/pipe.c, wait_for_partner().
	const cat = spawn('cat', [fifo]);
	try {
		const waits = () => readFileSync(`/proc/${cat.pid}/wchan`, 'utf8').includes('partner');
		await until(() => callOf(cat.pid ?? 0, 'cat') !== undefined && waits());
		for (const [options, due] of [
			[[], ['openat']],
			[['-e', 'read'], []],
			[['--path', '/nowhere'], []],
		] as const) {
			const tracing = await Tracing.start(['trace', ...options, '-p', `${cat.pid}`]);
			const lines = tracedLines((await tracing.end('SIGINT')).stdout);
			assert.deepEqual(
				lines.map(({ call }) => call),
				due,
				options.join(' '),
			);
		}
	} finally {
		cat.kill();
		rmSync(folder, { recursive: true });
	}
});

test('of all processes it leaves out its own: what it writes would be written again', async () => {
	const COUNT = 50;
	const workload = await Workload.start('traced', 'flood', `${COUNT}`);
	const tracing = await Tracing.start(['trace', '-e', 'write']);
	await workload.work();
	const own = `traced[${workload.pid}] write(`;
	await until(() => tracing.stdout.split(own).length > COUNT);
	// What it has written by now would be in what it writes next.
	const lines = tracedLines((await tracing.end('SIGINT')).stdout);
	await workload.end();
	assert.ok(lines.filter(({ pid }) => pid === workload.pid).length >= COUNT);
	assert.deepEqual(
		lines.filter(({ pid }) => pid === tracing.pid),
		[],
	);
});
