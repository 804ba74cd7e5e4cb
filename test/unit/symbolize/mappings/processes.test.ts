import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
	closeSync,
	copyFileSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import type { MmapRecord, SidebandRecord } from '../../../../src/perf/records.js';
import { ProcessHistory } from '../../../../src/symbolize/mappings/processes.js';

/** Numbers that no process has: above the kernel's limit of 2^22. */
const PID = 5_000_000;
const CHILD = 5_000_001;

function mmap(pid: number, time_ns: number, start: number, path: string): MmapRecord {
	const where = { start, end: start + 0x1000, fileOffset: 0, major: 0, minor: 0, inode: 0 };
	return { type: 'mmap', pid, tid: pid, time_ns, ...where, path };
}
const exec = (pid: number, time_ns: number, comm = 'x'): SidebandRecord => {
	return { type: 'comm', pid, tid: pid, time_ns, comm, exec: true };
};
const fork = (pid: number, parentPid: number, time_ns: number): SidebandRecord => {
	return { type: 'fork', pid, tid: pid, time_ns, parentPid };
};
const exit = (pid: number, time_ns: number): SidebandRecord => {
	return { type: 'exit', pid, tid: pid, time_ns };
};

/** What a process has at an address at a time, after these records. */
function lookUp(records: readonly SidebandRecord[]) {
	const history = new ProcessHistory();
	for (const record of records) history.add(record);
	return (pid: number, time_ns: number, address = 0x1800) =>
		history.at(pid, time_ns)?.find(address)?.path;
}

test('what was mapped last at that time', () => {
	const at = lookUp([mmap(PID, 10, 0x1000, '[a]'), mmap(PID, 30, 0x1000, '[b]')]);
	assert.equal(at(PID, 10), '[a]');
	assert.equal(at(PID, 29), '[a]');
	assert.equal(at(PID, 30), '[b]');
	assert.equal(at(PID, 5), '[a]', 'the first, where none was known to be yet');
	assert.equal(at(PID, 30, 0x2000), undefined);
	assert.equal(at(PID, 30, 0xfff), undefined);
	assert.equal(at(CHILD, 30), undefined);
});

test('what a process has mapped is known as far as all of it is, and of which file', () => {
	const history = new ProcessHistory();
	const file = { fileOffset: 0x1000, major: 0, minor: 0, inode: 7, path: '/no-such-file' };
	const code = { start: 0x1000, end: 0x3000, ...file };
	history.add({ type: 'mmap', pid: PID, tid: PID, time_ns: 10, ...code });
	const none = { fileOffset: 0, inode: 0, major: 0, minor: 0, path: '' };
	for (const [mapped, known] of [
		[[], true],
		[[code], true],
		[[{ ...code, end: 0x2000 }], true],
		// The same code, from where the kernel has split it.
		[[{ ...code, start: 0x2000, fileOffset: 0x2000 }], true],
		[[{ ...code, start: 0x2000 }], false],
		[[{ ...code, end: 0x4000 }], false],
		[[{ ...code, path: '/another-file' }], false],
		[[code, { ...code, start: 0x5000, end: 0x6000 }], false],
		// Memory without a file has no names to lose, unless it is where a file was.
		[[{ start: 0x5000, end: 0x6000, ...none }], true],
		[[{ start: 0x1000, end: 0x2000, ...none }], false],
	] as const)
		assert.equal(history.knows(PID, mapped), known, JSON.stringify(mapped));
	assert.equal(history.knows(CHILD, [code]), false);
	history.close();
});

test('exec begins with nothing', () => {
	const at = lookUp([mmap(PID, 10, 0x1000, '[a]'), exec(PID, 20), mmap(PID, 21, 0x5000, '[b]')]);
	assert.equal(at(PID, 15), '[a]');
	assert.equal(at(PID, 25), undefined);
	assert.equal(at(PID, 25, 0x5000), '[b]');
});

test('fork copies what the parent had then; what either maps later is its own', () => {
	const at = lookUp([
		mmap(PID, 10, 0x1000, '[a]'),
		fork(CHILD, PID, 20),
		mmap(PID, 30, 0x1000, '[parent]'),
		mmap(CHILD, 40, 0x2000, '[child]'),
		mmap(CHILD, 45, 0x1000, '[instead]'),
	]);
	assert.equal(at(CHILD, 44), '[a]');
	assert.equal(at(CHILD, 50), '[instead]');
	assert.equal(at(CHILD, 50, 0x2000), '[child]');
	assert.equal(at(PID, 50), '[parent]');
	assert.equal(at(PID, 50, 0x2000), undefined);
});

test('a number that is used again is another process', () => {
	const at = lookUp([
		mmap(PID, 10, 0x1000, '[a]'),
		mmap(CHILD, 12, 0x1000, '[first]'),
		exit(CHILD, 15),
		fork(CHILD, PID, 20),
		exec(CHILD, 22),
		mmap(CHILD, 23, 0x1000, '[second]'),
	]);
	assert.equal(at(CHILD, 14), '[first]');
	assert.equal(at(CHILD, 21), '[a]');
	assert.equal(at(CHILD, 25), '[second]');
});

test('threads share; their names are not the process’s', () => {
	const history = new ProcessHistory();
	history.add(mmap(PID, 10, 0x1000, '[a]'));
	history.add(exec(PID, 5, 'program'));
	history.add({ type: 'fork', pid: PID, tid: PID + 7, time_ns: 20, parentPid: PID });
	history.add({ type: 'comm', pid: PID, tid: PID + 7, time_ns: 21, comm: 'thread', exec: false });
	assert.equal(history.at(PID, 30)?.find(0x1800)?.path, '[a]');
	assert.equal(history.comm(PID, 30), 'program');
});

test('records in any order: the same', () => {
	const records = [
		mmap(PID, 10, 0x1000, '[a]'),
		fork(CHILD, PID, 20),
		exec(CHILD, 30),
		mmap(CHILD, 31, 0x1000, '[b]'),
		exit(CHILD, 40),
		fork(CHILD, PID, 50),
	];
	const inOrder = lookUp(records);
	const all = fc.shuffledSubarray(records, { minLength: records.length });
	fc.assert(
		fc.property(
			all,
			fc.constantFrom(PID, CHILD),
			fc.integer({ min: 0, max: 60 }),
			(any, pid, time) => {
				assert.equal(lookUp(any)(pid, time), inOrder(pid, time));
			},
		),
	);
});

test('forks in a circle end', () => {
	const at = lookUp([fork(PID, CHILD, 10), fork(CHILD, PID, 10), fork(PID, CHILD, 10)]);
	assert.equal(at(PID, 20), undefined);
});

test('our own process', () => {
	const history = new ProcessHistory();
	assert.ok(ProcessHistory.pids().includes(process.pid));
	assert.ok(!ProcessHistory.pids().includes(2), 'kthreadd has no user side');
	history.snapshot(process.pid);
	const space = history.at(process.pid, 0);
	assert.ok([...(space?.paths() ?? [])].includes(process.execPath));
	const facts = history.facts(process.pid, 0);
	assert.equal(facts?.uid, process.getuid?.());
	assert.ok(Math.abs((facts?.started_s ?? 0) - (Date.now() / 1000 - process.uptime())) < 2);
	history.snapshot(PID);
	assert.equal(history.at(PID, 0), undefined);
	history.close();
});

test('when there is too much, those that ended first are forgotten, and counted', () => {
	const history = new ProcessHistory();
	// Of 25 things each, of which exec is two. Of few processes /proc is asked.
	const count = 12_000;
	for (let i = 0; i < count; i++) {
		history.add(exec(PID + i, i));
		for (let j = 1; j <= 23; j++) history.add(mmap(PID + i, i, j * 0x1000, '[a]'));
		if (i > 0) history.add(exit(PID + i, i));
	}
	// A thread of the first one, which goes on without it.
	history.add({ ...exit(PID, 1), tid: PID + 7 * count });
	assert.equal(history.dropped, 0);
	const newest = PID + count;
	history.add(mmap(newest, count, 0x1000, '[b]'));
	assert.equal(history.dropped, 100_000);
	assert.equal(history.at(newest, count)?.find(0x1800)?.path, '[b]');
	assert.equal(history.at(PID, count)?.find(0x1800)?.path, '[a]', 'did not end');
	assert.equal(history.at(PID + 1, count), undefined);
});

test('one place mapped again and again, without end: an answer in bounded time', () => {
	const history = new ProcessHistory();
	for (let i = 0; i < 100_000; i++) history.add(mmap(PID, i, 0x1000, '[a]'));
	for (let i = 0; i < 1000; i++) assert.ok(history.at(PID, 100_000)?.find(0x1000 + i));
});

/** A process that has a file of its own mapped, and what else fills up what is remembered; it ends. */
function addShortLife(history: ProcessHistory, pid: number, time_ns: number): void {
	history.add(exec(pid, time_ns));
	const path = `/tmp/${'of-its-own/'.repeat(40)}${pid}`;
	history.add({ ...mmap(pid, time_ns, 0x1000, path), inode: pid });
	for (let i = 0; i < 28; i++) history.add(mmap(pid, time_ns, 0x10_000 + i * 0x1000, '[a]'));
	history.add(exit(pid, time_ns));
}

test('processes that end, each with a file of its own: memory does not grow with them', () => {
	setFlagsFromString('--expose-gc');
	const collect: () => void = runInNewContext('gc');
	const heapBytes = () => {
		collect();
		return process.memoryUsage().heapUsed;
	};
	const history = new ProcessHistory(15_000);
	let pid = PID;
	const add = (count: number) => {
		for (const end = pid + count; pid < end; pid++) addShortLife(history, pid, pid);
	};
	// More than are remembered; of 500 a third is forgotten at a time, so in the end there are as many.
	add(550);
	const before = heapBytes();
	add(1000);
	const grown = heapBytes() - before;
	// Each of 1,000 files takes 1 kB.
	assert.ok(grown < 5e5, `${grown} bytes`);
	assert.equal(history.at(pid - 1, pid)?.find(0x1800)?.file?.inode, pid - 1);
});

test('a file that was deleted is held open for as long as its process is remembered', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-processes-'));
	const path = join(folder, 'program');
	const isHeld = () =>
		readdirSync('/proc/self/fd').some((fd) => {
			try {
				return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path);
			} catch {
				return false;
			}
		});
	copyFileSync('/bin/sleep', path);
	const child = spawn(path, ['60']);
	try {
		await once(child, 'spawn');
		rmSync(path);
		const history = new ProcessHistory(30_000);
		history.snapshot(child.pid as number);
		assert.ok(isHeld());
		history.add(exit(child.pid as number, 1));
		for (let pid = PID; pid < PID + 1100; pid++) addShortLife(history, pid, pid);
		assert.ok(!isHeld(), 'forgotten');
		history.close();
	} finally {
		child.kill();
		await once(child, 'exit');
		rmSync(folder, { recursive: true });
	}
});

/** A file that this test writes, as a record of its mapping has it. */
function writtenFile() {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-processes-'));
	const path = join(folder, 'library');
	const write = (text: string, mtime_s: number) => {
		writeFileSync(path, text);
		utimesSync(path, mtime_s, mtime_s);
	};
	const record = (pid: number, time_ns = now_ns()): MmapRecord => {
		const { ino, dev } = statSync(path);
		const device = { major: dev >>> 8, minor: dev & 0xff };
		return { ...mmap(pid, time_ns, 0x1000, path), ...device, inode: ino };
	};
	return { path, write, record, remove: () => rmSync(folder, { recursive: true }) };
}

const now_ns = () => Number(process.hrtime.bigint());

/** What a process has mapped, as it can be read; undefined: it cannot. */
function textIn(history: ProcessHistory, pid: number): string | undefined {
	const open = history.at(pid, now_ns())?.find(0x1800)?.file?.open();
	if (!open) return undefined;
	const text = readFileSync(open.fd, 'latin1');
	closeSync(open.fd);
	return text;
}

test('a file that is written to while it is mapped: only who maps it later has its contents', () => {
	const { write, record, remove } = writtenFile();
	const history = new ProcessHistory();
	const before_ns = now_ns() - 3600e9;
	write('one', 1000);
	history.add(record(PID));
	assert.equal(textIn(history, PID), 'one');
	write('two', 2000);
	assert.equal(textIn(history, PID), undefined);
	history.add(record(CHILD));
	assert.equal(textIn(history, CHILD), 'two');
	assert.equal(textIn(history, PID), undefined);
	// Its birth is a change, too: another file had its number before.
	history.add(record(PID + 2, before_ns));
	assert.equal(textIn(history, PID + 2), undefined);
	history.close();
	remove();
});

test('a file that gets the number of a deleted one is not that one', () => {
	const { path, write, record, remove } = writtenFile();
	const history = new ProcessHistory();
	write('one', 1000);
	const old = record(PID);
	history.add(old);
	rmSync(path);
	// Most file systems give the number away at once; the others cannot be mistaken.
	write('two', 1000);
	assert.equal(textIn(history, PID), undefined);
	history.add(record(CHILD));
	assert.equal(textIn(history, CHILD), 'two');
	assert.equal(textIn(history, PID), undefined);
	history.close();
	remove();
});
