/** syscount --bytes: every byte, by call and by process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named, rowsOf, rowsWhile } from './calls.js';
import { tstrace, Workload } from './support.js';

const COUNT = 997;

/** What test/workloads/moves.c moves in each of its rounds: read, written. */
const MOVES: Readonly<Record<string, readonly [read: number, written: number]>> = {
	pwrite64: [0, 4001],
	pread64: [3001, 0],
	pwritev: [0, 110],
	preadv: [113, 0],
	pwritev2: [0, 117],
	preadv2: [119, 0],
	writev: [0, 123],
	readv: [123, 0],
	sendto: [0, 31],
	recvfrom: [31, 0],
	sendmsg: [0, 137],
	recvmsg: [137, 0],
	sendfile: [1001, 1001],
	splice: [1511, 1511],
	copy_file_range: [2003, 2003],
};
/** Its reads of pipes; and the byte that lets it begin. */
const READ = COUNT * (1001 + 1511) + 1;
/** What it says when it is done. */
const WRITTEN = `done ${COUNT}\n`.length;
const sum = (which: 0 | 1) =>
	Object.values(MOVES).reduce((all, moved) => all + COUNT * moved[which], 0);

for (const hook of ['raw', 'perf'] as const) {
	test(`${hook}: dd bs=1 moves as many bytes as it makes calls`, () => {
		const bytes = 99_991;
		const dd = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', `count=${bytes}`, 'status=none'];
		const args = ['syscount', '--json', '--bytes', '--', ...dd];
		const finished = tstrace(args, { TSTRACE_FORCE: hook });
		const write = named(rowsOf(finished), 'write');
		assert.deepEqual([write?.read_bytes, write?.written_bytes, write?.calls], [0, bytes, bytes]);
		const openat = named(rowsOf(finished), 'openat');
		assert.deepEqual([openat?.read_bytes, openat?.written_bytes], [0, 0]);
	});
}

test('each call that moves bytes: as many as it returned, none of those that failed', async () => {
	const rows = await rowsWhile(await Workload.start('moves', `${COUNT}`), '--bytes');
	for (const [name, [read, written]] of Object.entries(MOVES)) {
		const row = named(rows, name);
		assert.deepEqual([row?.read_bytes, row?.written_bytes], [COUNT * read, COUNT * written], name);
		assert.equal(row?.calls, COUNT, name);
	}
	const [read, write] = [named(rows, 'read'), named(rows, 'write')];
	assert.deepEqual([read?.read_bytes, read?.written_bytes, read?.errors], [READ, 0, COUNT]);
	assert.deepEqual([write?.read_bytes, write?.written_bytes, write?.errors], [0, WRITTEN, COUNT]);
});

test('by process: all that it read, and all that it wrote', async () => {
	const workload = await Workload.start('moves', `${COUNT}`);
	const { pid } = workload;
	const rows = await rowsWhile(workload, '-P', '--bytes');
	assert.equal(rows.length, 1);
	const [row] = rows;
	assert.deepEqual([row?.pid, row?.comm], [pid, 'moves']);
	assert.equal(row?.read_bytes, sum(0) + READ);
	assert.equal(row?.written_bytes, sum(1) + WRITTEN);
	assert.equal(row?.errors, 2 * COUNT);
});

test('calls that are filtered out move nothing', async () => {
	const workload = await Workload.start('moves', `${COUNT}`);
	const rows = await rowsWhile(workload, '-P', '--bytes', '--syscall', 'sendfile,pread64');
	assert.equal(rows[0]?.read_bytes, COUNT * (1001 + 3001));
	assert.equal(rows[0]?.written_bytes, COUNT * 1001);
});

test('as text: what moves nothing has no number, and the sum is below', () => {
	const dd = ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=7', 'count=11', 'status=none'];
	const { stdout } = tstrace([
		'syscount',
		'-q',
		'--bytes',
		'--syscall',
		'write,close',
		'--',
		...dd,
	]);
	assert.match(stdout, /^SYSCALL +CALLS +ERRORS +READ +WRITTEN$/m);
	assert.match(stdout, /^write +11 +0 +77 B$/m);
	assert.match(stdout, /^close +\d+ +0$/m);
	assert.match(stdout, /calls, 0 failed, 0 B read, 77 B written in all$/m);
});

test('--bytes with what it cannot be with: one line', () => {
	for (const other of [['--latency'], ['--failed'], ['--errors'], ['--errno', 'ENOENT']]) {
		const { status, stderr } = tstrace(['syscount', '--bytes', ...other]);
		assert.equal(status, 2);
		assert.match(stderr, /^tstrace syscount: .*--bytes.* cannot be used with .*\n$/);
	}
});
