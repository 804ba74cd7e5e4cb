/** Threads of one process that end at the same time, on several CPUs: the filter has them all until their ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { Tracing, Workload } from './support.js';
import { tracedLines } from './traced-lines.js';

/** Processes of two threads that are both on a CPU as one of them ends the process. */
const PROCESSES = 200;
const END_TOGETHER = `
import hashlib, os, sys, threading
print('ready', os.getpid(), os.getpid(), flush=True)
sys.stdin.buffer.raw.read(1)
# Without Python's lock, for much longer than it is let.
work = lambda: hashlib.pbkdf2_hmac('sha256', b'', b'', 1 << 30)
for _ in range(${PROCESSES}):
    child = os.fork()
    if not child:
        threading.Thread(target=work).start()
        os._exit(3)
    os.waitpid(child, 0)
print('done', flush=True)
sys.stdin.buffer.raw.read(1)
`;

/** What a tool prints of them, and of the process that forks them. */
async function tracedBy(...args: string[]): Promise<{ pid: number; stdout: string }> {
	const python = await Workload.startBy('python3', '-c', END_TOGETHER);
	const tracing = await Tracing.start([...args, '--follow', '-p', `${python.pid}`]);
	await python.work();
	await python.end();
	return { pid: python.pid, stdout: (await tracing.end()).stdout };
}

test('trace tells each of them, and one of each process as its end', async () => {
	const { pid: parent, stdout } = await tracedBy('trace', '-e', 'none');
	const ends = new Map<number, string[]>();
	for (const { pid, text } of tracedLines(stdout)) {
		const [, end] = /^\+\+\+ (.*) after /.exec(text) ?? [];
		if (end !== undefined) ends.set(pid, [...(ends.get(pid) ?? []), end]);
	}
	assert.deepEqual(ends.get(parent), ['exited with 0']);
	ends.delete(parent);
	assert.equal(ends.size, PROCESSES);
	for (const each of ends.values())
		assert.deepEqual(each.sort(), ['exited with 3', 'thread exited with 3']);
});

test('schedlat has what each of them ran', async () => {
	const { pid, stdout } = await tracedBy('schedlat', '--json');
	const threads = reportsOf(stdout)
		.flatMap(({ rows }) => rows)
		.map(({ key }) => key as unknown as { pid: number; tid: number });
	const children = threads.filter((each) => each.pid !== pid);
	assert.equal(new Set(children.map((each) => each.tid)).size, 2 * PROCESSES);
});
