/** What threads waited for, of workloads whose threads each wait for one thing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { kindForPrograms } from '../../src/aggregate/wait-kinds.js';
import { foldedLines, type JsonStack, stackReport } from './stacks.js';
import { runToEnd, Tracing, TSTRACE, tstrace, until, Workload } from './support.js';

const folder = realpathSync(mkdtempSync('build/objects-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const MSEC = 500;
/** Folders in the path of the workload that is too deep, and how long each name is. */
const DEEP = 16;
const DEEP_NAME = 250;

type Waited = Readonly<Record<string, unknown>>;

/** The objects of all stacks of a thread that was blocked as that kind. */
function objectsOf(stacks: readonly JsonStack[], comm: string, kind: string): Waited[] {
	return stacks
		.filter(
			({ key, wait }) =>
				key.comm === comm.slice(0, 15) && wait?.kind === kindForPrograms(kind).kind,
		)
		.flatMap(({ wait }) => wait?.objects ?? []);
}

/** Waits for the one of two children that ends last; says which number that has in /proc. */
const WAITS_FOR_ONE = `
import os, time
def child(seconds):
    pid = os.fork()
    if not pid:
        if seconds > 0.3: os.write(1, os.readlink('/proc/self').encode())
        time.sleep(seconds); os._exit(0)
    return pid
one, other = child(0.4), child(0.1)
os.waitid(os.P_PID, one, os.WEXITED)
`;

for (const how of [[], ['unshare', '--pid', '--fork']])
	test(`of several children, the one that waitid waits for${how.length > 0 ? ', in a PID namespace of its own' : ''}`, () => {
		const python = ['--', ...how, 'python3', '-c', WAITS_FOR_ONE];
		const args = ['offcputime', '--json', '--exact', '--follow', '-q', '-o'];
		const file = join(folder, 'waitid.json');
		const run = tstrace([...args, file, ...python]);
		const { stacks } = stackReport({ ...run, stdout: readFileSync(file, 'utf8') });
		const waits = stacks
			.flatMap(({ wait }) => wait?.objects ?? [])
			.filter(({ type }) => type === 'child');
		const longest = waits.filter(({ value_ns }) => Number(value_ns) > 2e8);
		assert.deepEqual(
			longest.map(({ pid, comm }) => [pid, comm]),
			[[Number(run.stdout), 'python3']],
		);
	});

test('waits that go on say what they are for, and what memory and CPUs were waited for says nothing', async () => {
	const workload = await Workload.start('kinds', folder, `${MSEC}`);
	const args = ['offcputime', '--exact', '--json', '--follow', '-p', `${workload.pid}`];
	const tracing = await Tracing.start(args);
	const [, isOnDisk] = await workload.work();
	const { stacks } = stackReport(await tracing.end('SIGINT'));
	await workload.end();
	const of = (kind: string) => objectsOf(stacks, `k:${kind}`, kind);
	const all = (kind: string, field: string) => new Set(of(kind).map((object) => object[field]));

	assert.deepEqual(all('pipe', 'end'), new Set(['read', 'write']));
	assert.deepEqual(all('unix socket', 'type'), new Set(['unix socket']));
	assert.deepEqual(all('file lock', 'path'), new Set([`${folder}/locked`, `${folder}/record`]));
	assert.deepEqual(all('event', 'name'), new Set(['[eventfd]', '[timerfd]', 'inotify']));
	assert.deepEqual(all('terminal', 'type'), new Set(['device']));
	for (const { path } of of('terminal')) assert.match(`${path}`, /^\/dev\/pts\/\d+$/);
	assert.deepEqual(all('socket receive', 'protocol'), new Set(['tcp', 'udp']));
	assert.deepEqual(all('child', 'comm'), new Set(['child', 'k:stopped']));
	// Each polls one pipe, whose other end the process itself holds, and what it forked.
	assert.deepEqual(all('poll', 'type'), new Set(['pipe']));
	assert.equal(new Set(of('poll').map(({ inode }) => inode)).size, 3);
	for (const { other_end } of of('poll'))
		assert.ok((other_end as { pid: number }[]).some(({ pid }) => pid === workload.pid));
	const accepted = of('socket accept');
	// Who listens is asked, as who has accepted is.
	assert.ok(accepted.some(({ path, accepted: is }) => `${path}`.endsWith('/socket') && is));
	assert.ok(accepted.some(({ local, remote }) => /^127/.test(`${local}`) && remote === ''));
	for (const kind of ['lock', 'condition', 'futex'])
		assert.deepEqual(all(kind, 'type'), new Set(['futex']), kind);
	assert.deepEqual(all('lock', 'in'), new Set(['mutex']));
	assert.deepEqual(all('futex', 'in'), new Set(['word']));
	for (const kind of ['sleep', 'signal', 'IPC', 'run queue']) assert.deepEqual(of(kind), [], kind);
	if (!isOnDisk) return;
	assert.deepEqual(all('disk write', 'path'), new Set([`${folder}/written`]));
	assert.deepEqual(all('disk read', 'path'), new Set([`${folder}/read`]));
	assert.deepEqual(all('page fault', 'path'), new Set([`${folder}/mapped`]));
	assert.deepEqual(all('page fault', 'mapped'), new Set([true]));
});

/** Runs in which the kernel did not report a switch, which happens on a busy machine. */
const MOST_RUNS = 8;

/** Traces the workload, all of whose waits end and are seen; what it prints, and what is at its other end. */
async function traced(args: readonly string[], ...more: readonly string[]) {
	for (let run = 0; run < MOST_RUNS; run++) {
		const all = await tracedOnce(args, more);
		if (!/waits_unseen/.test(all.finished.stdout + all.finished.stderr)) return all;
	}
	return assert.fail('the kernel reports too few switches');
}

async function tracedOnce(args: readonly string[], more: readonly string[]) {
	const where = mkdtempSync(`${folder}/`);
	const workload = await Workload.start('objects', where, ...more);
	const tracing = await Tracing.start([...args, '--exact', '--comm', 'o:*']);
	const [peer, ...ports] = await workload.work();
	// Numbers as they are out here: the process that has the peer.
	const own = more.length > 0 ? childOf(workload.starter) : workload.pid;
	const other = more.length > 0 ? childOf(own) : peer;
	const finished = await tracing.end('SIGINT');
	await workload.end();
	return { finished, ports, own, where, peer: { pid: other, comm: 'o:peer' } };
}

const childOf = (pid: number) =>
	Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);

/** The only object of a thread, but for how long it was waited for. */
function onlyObject(stacks: readonly JsonStack[], name: string, kind: string): Waited {
	const objects = objectsOf(stacks, `o:${name}`, kind).map(({ value_ns, ...rest }) => {
		assert.ok(Number(value_ns) > 0);
		return rest;
	});
	const different = new Set(objects.map((object) => JSON.stringify(object)));
	const others = stacks.filter(({ key }) => key.comm === `o:${name}`);
	const seen = others.map(({ wait, blocked, frames }) => [wait?.kind, blocked, ...frames]);
	assert.equal(different.size, 1, `${name}: ${[...different]}; ${JSON.stringify(seen)}`);
	return objects[0] ?? {};
}

for (const more of [[], ['apart']] as const) {
	const how = more.length > 0 ? 'in namespaces of its own' : 'here';
	test(`a process that lives ${how}: what each wait was for that ends, and who is at the other end`, async () => {
		const all = await traced(['offcputime', '--json'], ...more);
		const { finished, ports, own, where, peer } = all;
		const { stacks } = stackReport(finished);
		const of = (name: string, kind: string) => onlyObject(stacks, name, kind);
		const pipe = { type: 'pipe', end: 'read', path: '', other_end: [peer] };
		for (const [name, kind] of [
			['read', 'pipe'],
			['epoll', 'poll'],
			['poll', 'poll'],
			['select', 'poll'],
		] as const) {
			const { inode, ...rest } = of(name, kind);
			assert.deepEqual(rest, pipe, name);
			assert.ok(Number(inode) > 0);
		}
		const { inode: _, ...written } = of('write', 'pipe');
		assert.deepEqual(written, { ...pipe, end: 'write' });
		const { inode: __, ...fifo } = of('fifo', 'pipe');
		assert.deepEqual(fifo, { ...pipe, path: `${where}/fifo` });
		const unix = of('unix', 'unix socket');
		assert.equal(unix.path, `${where}/socket`);
		assert.deepEqual(unix.other_end, [peer]);
		for (const [i, name] of ['tcp', 'tcp6', 'udp', 'queued'].entries()) {
			const { local, ...socket } = of(name, 'socket receive');
			const protocol = name === 'udp' ? 'udp' : 'tcp';
			const remote = `127.0.0.1:${ports[i]}`;
			assert.deepEqual(socket, { type: 'socket', protocol, remote, other_end: [peer] }, name);
			assert.match(`${local}`, /^127\.0\.0\.1:\d+$/);
			assert.notEqual(local, remote);
		}
		for (const [name, lies] of [
			['static', 'object_words+0x8'],
			['heap', 'heap'],
			['stack', 'stack'],
		] as const) {
			const { address, ...futex } = of(name, 'futex');
			assert.deepEqual(futex, { type: 'futex', pid: own, in: lies }, name);
			assert.match(`${address}`, /^0x[0-9a-f]+$/);
		}
		const file = (path: string) => ({ type: 'file', path });
		assert.deepEqual(of('deleted', 'file lock'), { ...file(`${where}/deleted`), deleted: true });
		assert.deepEqual(of('memfd', 'file lock'), file('memfd:object'));
		assert.deepEqual(of('hostile', 'file lock'), file(`${where}/a\u001b[31m\nb\ufffd`));
		const { path: long } = of('long', 'file lock');
		const names = Array.from(
			{ length: DEEP },
			(_, i) => String.fromCharCode(97 + i) + 'd'.repeat(DEEP_NAME - 1),
		);
		assert.equal(`${where}/${names.join('/')}/the-end`.endsWith(`${long}`.slice(1)), true);
		assert.ok(`${long}`.startsWith('…/') && `${long}`.length > 3 * DEEP_NAME);
		assert.deepEqual(of('reused', 'pipe'), {
			type: 'unknown',
			why: 'descriptor closed or used again',
		});
		// Nothing was ready as they ended: whichever of the two was added first, it was for both. select has no count.
		for (const name of ['none-of-two', 'none-turned', 'select-many'])
			assert.deepEqual(of(name, 'poll'), { type: 'unknown', why: 'one of several' }, name);
		assert.deepEqual(of('poll-many', 'poll'), { type: 'unknown', why: 'one of 3 descriptors' });
	});
}

test('who is at the other end is found though all processes end before tracing does', () => {
	const writer = 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; echo; done';
	const command = ['sh', '-c', `(${writer}) | (read a; exec cat >/dev/null)`];
	const { stacks } = stackReport(
		tstrace(['offcputime', '--exact', '--json', '--follow', '--', ...command]),
	);
	const read = objectsOf(stacks, 'cat', 'pipe');
	assert.ok(read.length > 0);
	for (const { other_end } of read) {
		const comms = new Set((other_end as { comm: string }[]).map(({ comm }) => comm));
		assert.ok(comms.has('sh'), [...comms].join());
		assert.ok(!comms.has('cat'));
	}
});

test('--by object, and --by kind,object: objects have entries of their own', async () => {
	const by = (what: string, ...more: string[]) => traced(['offcputime', '--by', what, ...more]);
	const { finished, peer } = await by('object', '--top', '0', '--format', 'text');
	const written = `pipe write → o:peer(?: \\(${peer.pid}\\))?`;
	assert.match(finished.stdout, new RegExp(`^.* ${written} +\\d+ % +o:write`, 'm'));
	assert.match(finished.stdout, /^.* object_words\+0x8 +\d+ % +o:static/m);
	assert.match(finished.stdout, /^.* \[one of 3 descriptors\] +\d+ % +o:poll-m/m);
	assert.match(finished.stdout, /^.* stack 0x[7f][0-9a-f]+ +\d+ % +o:stack/m);
	for (const line of finished.stdout.split('\n')) assert.ok(line.length <= 80, line);
	const folded = await by('kind,object');
	const lines = foldedLines(folded.finished.stdout).map(([frames]) => frames.slice(0, 3));
	const roots = lines.map((frames) => frames.join(';'));
	assert.ok(roots.includes(`pipe;pipe write → o:peer (${folded.peer.pid});o:write`), `${roots}`);
	assert.ok(roots.includes('file lock;memfd:object;o:memfd'));
	assert.ok(roots.some((root) => root.startsWith('run queue;[run queue];o:')));
});

test('text has the object in the first line of an entry; of a path, the end', async () => {
	// Of blocked time only: on a busy machine a thread may wait longer for a CPU.
	const args = ['offwaketime', '--top', '0', '--format', 'text'];
	const { finished, own, peer } = await traced(args);
	const heads = finished.stdout.split('\n').filter((line) => / % +\S+ waits? {2}/.test(line));
	const who = `o:peer(?: \\(${peer.pid}\\))?  o:write \\(${own}\\)$`;
	assert.match(finished.stdout, new RegExp(` 1 wait  pipe write → ${who}`, 'm'));
	assert.match(finished.stdout, /^ {4}tcp 127\.0\.0\.1:\d+ ↔ o:peer \(\d+\)/m);
	assert.ok(heads.some((line) => / {2}poll \[one of.*\] {2}o:poll-many/.test(line)));
	assert.ok(heads.some((line) => /file lock …\S*the-end {2}o:long/.test(line)));
	assert.ok(heads.some((line) => /file lock …\S*\\x0ab\ufffd {2}o:hostile/.test(line)));
	for (const line of heads) assert.ok(line.length <= 80, line);
});

for (const tool of ['offwaketime', 'wakeuptime'])
	test(`${tool} says what those waited for who were woken`, async () => {
		const { finished, peer, where } = await traced([tool, '--json']);
		const { stacks } = stackReport(finished);
		const objects = stacks.flatMap(({ wait }) => wait?.objects ?? []);
		assert.ok(objects.some(({ type, end }) => type === 'pipe' && end === 'write'));
		const fifo = objects.find(({ path }) => path === `${where}/fifo`);
		assert.deepEqual(fifo?.other_end, [peer]);
		assert.ok(objects.some((object) => object.in === 'object_words+0x8'));
	});

test('without kernel frames nobody can tell what was waited for', () => {
	for (const by of ['object', 'kind,object']) {
		const { status, stderr } = runToEnd(TSTRACE, ['offcputime', '--by', by, '-U', '1']);
		assert.equal(status, 2);
		assert.match(stderr, new RegExp(`give either --by ${by} or --user-stacks`));
	}
});

/** One thread has connected and waits for an answer, the other has accepted and waits for a question. */
const UNIX_PAIR = `
import socket, sys, threading
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
def serve():
	listening.accept()[0].recv(1)
threading.Thread(target=serve, daemon=True).start()
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.recv(1)
`;

test('of a unix connection, who has connected is not who has accepted', async () => {
	const path = join(mkdtempSync(join(tmpdir(), 'unix-')), 'socket');
	const python = spawn('python3', ['-c', UNIX_PAIR, path]);
	try {
		const RECVFROM = process.arch === 'arm64' ? 207 : 45;
		const isReceiving = (tid: string) =>
			readFileSync(`/proc/${python.pid}/task/${tid}/syscall`, 'utf8').startsWith(`${RECVFROM} `);
		await until(() => {
			const threads = readdirSync(`/proc/${python.pid}/task`);
			return threads.length === 2 && threads.every(isReceiving);
		});
		const { stacks } = stackReport(
			tstrace(['offcputime', '--by', 'thread', '--json', '-p', `${python.pid}`, '0.2']),
		);
		const accepted = stacks.map(({ key, wait }) => [
			key.tid === python.pid,
			(wait?.objects ?? []).map((object) => object.accepted ?? false),
		]);
		assert.deepEqual(
			accepted.sort(),
			[
				[false, [true]],
				[true, [false]],
			],
			JSON.stringify(stacks),
		);
	} finally {
		python.kill();
		rmSync(dirname(path), { recursive: true });
	}
});
