/** Names of what threads waited for, where these are hard to tell: in a chroot, very deep, as long as can be. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stackReport } from './stacks.js';
import { tstrace, until, Workload } from './support.js';

/** More names than tstrace keeps of a path, each of one letter. */
const DEEP = 70;
/** As man 7 unix has it: all bytes of a path that the kernel takes, with no 0 behind them. */
const UNIX_PATH_BYTES = 108;

/**
 * In a mount namespace of its own, and a chroot. A thread for each thing: two locks that it has already, two fifos of
 * the same number in two file systems, whose writers are two children, and two unix sockets.
 */
const HARD_NAMES = `
import ctypes, fcntl, os, signal, socket, struct, sys, threading
libc, folder = ctypes.CDLL(None, use_errno=True), sys.argv[1]
def must(result):
    if result: sys.exit(os.strerror(ctypes.get_errno()))
def writer(path):
    pid = os.fork()
    if not pid:
        libc.prctl(1, signal.SIGKILL)
        os.open(path, os.O_WRONLY)
        signal.pause()
    return pid, os.open(path, os.O_RDONLY)
def locked(path):
    ends = [os.open(path, os.O_CREAT | os.O_RDWR) for _ in range(2)]
    fcntl.flock(ends[0], fcntl.LOCK_EX)
    return lambda: fcntl.flock(ends[1], fcntl.LOCK_EX)
def client(path):
    listening, connected = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    address = struct.pack('H108s', socket.AF_UNIX, path)
    size = 2 + len(path)
    must(libc.bind(listening.fileno(), address, size))
    listening.listen()
    must(libc.connect(connected.fileno(), address, size))
    return lambda: (listening, connected.recv(1))
ways, writers = [], []
for name in 'one', 'two':
    os.mkdir(f'{folder}/{name}')
    must(libc.mount(b'none', f'{folder}/{name}'.encode(), b'tmpfs', 0, None))
    os.mkfifo(f'{folder}/{name}/fifo')
    assert os.stat(f'{folder}/{name}/fifo').st_ino == os.stat(f'{folder}/one/fifo').st_ino
    pid, end = writer(f'{folder}/{name}/fifo')
    writers.append(pid)
    ways.append(lambda end=end: os.read(end, 1))
os.chroot(folder)
os.chdir('/')
os.mkdir('inside')
ways.append(locked('/inside/locked'))
os.makedirs('/d' * ${DEEP})
ways.append(locked('/d' * ${DEEP} + '/deep'))
ways.append(client(b'/' + b'u' * ${UNIX_PATH_BYTES - 1}))
ways.append(client(b'\\0' + b'abstract'))
for way in ways: threading.Thread(target=way, daemon=True).start()
print('ready', *writers, flush=True)
sys.stdin.buffer.raw.read(1)
os._exit(0)
`;

test('names as the thread sees them, and what is at the other end of fifos of the same number', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-paths-'));
	const command = ['python3', '-c', HARD_NAMES, folder];
	const python = await Workload.startBy('unshare', '-m', ...command);
	try {
		const { starter: pid, pid: one, tid: two } = python;
		const isAsleep = (tid: string) =>
			/ S /.test(readFileSync(`/proc/${pid}/task/${tid}/stat`, 'utf8')) &&
			!/futex/.test(readFileSync(`/proc/${pid}/task/${tid}/wchan`, 'utf8'));
		await until(() => {
			const tids = readdirSync(`/proc/${pid}/task`);
			return tids.length === 7 && tids.every(isAsleep);
		});
		const { stacks } = stackReport(tstrace(['offcputime', '--json', '-L', '-p', `${pid}`, '0.3']));
		const objects = stacks.flatMap(({ wait }) => wait?.objects ?? []);
		const paths = objects.map(({ path }) => `${path}`);
		const said = JSON.stringify(objects);
		const [deep = ''] = paths.filter((path) => path.endsWith('/deep'));
		assert.match(deep, /^…(\/d){63}\/deep$/, said);
		for (const path of ['/inside/locked', `/${'u'.repeat(UNIX_PATH_BYTES - 1)}`, '@abstract'])
			assert.ok(paths.includes(path), `${path}: ${said}`);
		const endsOf = (name: string) =>
			objects.find(({ path }) => path === `/${name}/fifo`)?.other_end;
		const ends = ['one', 'two'].map((name) =>
			(endsOf(name) as { pid: number }[] | undefined)?.map((end) => end.pid),
		);
		assert.deepEqual(ends, [[one], [two]], said);
	} finally {
		await python.end();
		rmSync(folder, { recursive: true });
	}
});
