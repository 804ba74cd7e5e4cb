/** trace: which calls are shown that have not returned as tracing ends, and that no other is among them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { Tracing, Workload } from './support.js';

/** A thread makes a call that returns at once, and waits from then on in one that is not chosen; the first one waits in one that is. */
const WAITS = `
import ctypes, os, socket, sys, threading, time
libc, ends = ctypes.CDLL(None), socket.socketpair()
def second():
    libc.getpgid(0)
    ends[0].recvfrom(79)
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
thread = threading.Thread(target=second, daemon=True)
thread.start()
tid = thread.native_id
while ' S ' not in open(f'/proc/self/task/{tid}/stat').read(): time.sleep(0.005)
time.sleep(0.05)
print('done', tid, flush=True)
sys.stdin.buffer.raw.read(1)
`;

test('a call that has not returned is shown if it is chosen; it has not failed, nor succeeded, and may be too brief', async () => {
	const python = await Workload.startBy('python3', '-c', WAITS);
	const options = [[], ['--min-duration', '20ms'], ['--min-duration', '1h'], ['-z'], ['-Z']];
	const all = await Promise.all(
		options.map((each) =>
			Tracing.start(['trace', '--json', ...each, '-e', 'read,getpgid', '-p', `${python.pid}`]),
		),
	);
	const [second = 0] = await python.work();
	const found: Array<Array<readonly unknown[]>> = [];
	const ofSecond: unknown[] = [];
	for (const tracing of all) {
		const rows = reportsOf((await tracing.end('SIGINT')).stdout).flatMap((report) => report.rows);
		found.push(rows.filter((row) => row.unfinished).map(({ syscall, tid }) => [syscall, tid]));
		ofSecond.push(rows.filter(({ tid }) => tid === second).length);
	}
	await python.end();
	assert.deepEqual(ofSecond, [1, 0, 0, 1, 0]);
	const open = [['read', python.pid]];
	const [first, long, ...none] = found;
	assert.deepEqual(first, open);
	// It may have begun just now.
	if (long?.length) assert.deepEqual(long, open);
	assert.deepEqual(none, [[], [], []]);
});
