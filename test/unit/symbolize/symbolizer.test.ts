import assert from 'node:assert/strict';
import { closeSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { MmapRecord } from '../../../src/perf/records.js';
import { parseMaps } from '../../../src/proc/maps.js';
import { openRegular } from '../../../src/proc/open.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { Symbolizer } from '../../../src/symbolize/symbolizer.js';
import { keepsFramePointers } from '../../../src/symbolize/walks/c-library.js';
import { functionsOf, stackOf } from './support.js';

const PID = 5_000_000;
const entries = parseMaps(readFileSync('/proc/self/maps', 'utf8'));

/** Where a function of a mapped file is in this process. */
function addressOf(path: RegExp, name: string): number {
	const entry = entries.find((each) => path.test(each.path)) ?? assert.fail('not mapped');
	const found = functionsOf(entry.path, '-D').find((each) => each.name === name);
	if (!found) assert.fail(`${entry.path} has no ${name}`);
	// In a library that is linked in the common way, pages of code are at their offset.
	return entry.start - entry.fileOffset + found.address;
}

function ourselves(): ProcessHistory {
	const history = new ProcessHistory();
	history.snapshot(process.pid);
	return history;
}

test('user frames: a library, callers by where they were called, vdso, nothing', async () => {
	const history = ourselves();
	const symbolizer = new Symbolizer(history);
	const getenv = addressOf(/libc\.so\.6$/, 'getenv');
	const vdso = entries.find(({ path }) => path === '[vdso]') ?? assert.fail('no vdso');
	const [stack] = await symbolizer.resolve([
		stackOf([getenv, getenv + 5, getenv + 1, vdso.start + 1, 0x10, -1]),
	]);
	const names = stack?.user.map(({ name }) => name) ?? [];
	assert.deepEqual(names.slice(0, 3), ['getenv', 'getenv', 'getenv']);
	assert.match(names[3] ?? '', /^(\[vdso\]\+0x0|__vdso_\w+)$/);
	assert.deepEqual(names.slice(4), ['[unknown]', '[unknown]']);
	assert.equal(stack?.cut, 'no frame pointers');
	history.close();
});

test('the order is kept; stacks of unknown processes are what they are', async () => {
	const symbolizer = new Symbolizer(new ProcessHistory());
	const named = await symbolizer.resolve([
		stackOf([0x1000], { pid: PID }),
		stackOf([], { pid: PID }),
		stackOf([0x1000, 0x2000], { pid: PID }),
	]);
	assert.deepEqual(
		named.map(({ user }) => user.length),
		[1, 0, 2],
	);
});

test('the same addresses, of other processes and at other times, are not the same functions', async () => {
	const history = ourselves();
	const now_ns = Number(process.hrtime.bigint());
	const user = [addressOf(/libc\.so\.6$/, 'getenv')];
	// Something else is there from then on.
	const start = Math.floor((user[0] as number) / 4096) * 4096;
	const other = { major: 0, minor: 0, inode: 1, path: '/no-such-file', fileOffset: 0 };
	const mmap: MmapRecord = {
		...{ type: 'mmap', pid: process.pid, tid: process.pid, time_ns: now_ns + 10 },
		...{ start, end: start + 4096, ...other },
	};
	history.add(mmap);
	const of = (pid: number, at_ns: number) => ({ ...stackOf([], { pid, at_ns }), user });
	const named = await new Symbolizer(history).resolve([
		of(process.pid, now_ns),
		of(PID, now_ns),
		of(process.pid, now_ns),
		of(process.pid, now_ns + 20),
	]);
	const [first, second, third, fourth] = named.map((stack) => stack.user[0]?.name);
	assert.deepEqual([first, second, third], ['getenv', '[unknown]', 'getenv']);
	assert.match(fourth ?? '', /^no-such-file\+0x/);
	history.close();
});

test('kernel frames: returns, and exact leaves', async () => {
	const kallsyms = readFileSync('/proc/kallsyms', 'utf8').split('\n');
	const addresses = kallsyms
		.map((line) => Number.parseInt(line.slice(8, 16), 16) - 2 ** 32)
		.sort((a, b) => a - b);
	const start = (name: string) => {
		const line = kallsyms.find((each) => each.endsWith(` ${name}`)) ?? assert.fail(name);
		return Number.parseInt(line.slice(8, 16), 16) - 2 ** 32;
	};
	const end = (name: string) => {
		const begin = start(name);
		return addresses.find((each) => each > begin) ?? assert.fail(name);
	};
	const resolve = async (kernel: readonly number[]) => {
		const [stack] = await new Symbolizer(new ProcessHistory()).resolve([stackOf([], { kernel })]);
		return stack?.kernel.map(({ name }) => name);
	};
	const stack = [start('schedule') + 8, end('schedule'), start('do_exit') + 4, -4096];
	assert.deepEqual(await resolve(stack), [
		'schedule',
		'schedule',
		'do_exit',
		'[kernel]+0xfffffffffffff000',
	]);
	assert.deepEqual(await resolve([start('schedule'), end('do_exit')]), ['schedule', 'do_exit']);
});

test('made at run time, without a perf map: said, with what to do', async () => {
	const history = new ProcessHistory();
	const node: MmapRecord = {
		type: 'mmap',
		pid: PID,
		tid: PID,
		time_ns: 1,
		start: 0x400000,
		end: 0x500000,
		fileOffset: 0,
		major: 0,
		minor: 0,
		inode: 1,
		path: '/nowhere/bin/node',
	};
	history.add(node);
	history.add({ ...node, start: 0x1000, end: 0x2000, inode: 0, path: '//anon' });
	history.add({ type: 'comm', pid: PID, tid: PID, time_ns: 1, comm: 'node', exec: false });
	const symbolizer = new Symbolizer(history);
	const [stack] = await symbolizer.resolve([
		stackOf([0x1100, 0x1200, 0x400011], { pid: PID, at_ns: 5, parts: [3] }),
		stackOf([], { pid: PID, at_ns: 5, parts: [1] }),
	]);
	assert.deepEqual(
		stack?.user.map(({ name }) => name),
		['[anon]', '[anon]', 'node+0x10'],
	);
	assert.equal(stack?.cut, 'no frame pointers');
	assert.deepEqual(symbolizer.notices(), [
		{ kind: 'perf-map-missing', runtime: 'node', pid: PID, comm: 'node', share: 0.75 },
		{
			kind: 'symbols-missing',
			path: '/nowhere/bin/node',
			reason: 'unreadable',
			debuginfod: 'unset',
			buildId: undefined,
			install: undefined,
			share: 0.75,
		},
	]);
});

test('whole, cut, or without the caller of a C library that keeps no frame pointers', async () => {
	const history = ourselves();
	const libc = entries.find(({ path }) => /libc\.so\.6$/.test(path)) ?? assert.fail('no libc');
	const file = openRegular(libc.path) ?? assert.fail(libc.path);
	const kept = keepsFramePointers(file);
	closeSync(file.fd);
	const getenv = addressOf(/libc\.so\.6$/, 'getenv');
	const start = addressOf(/libc\.so\.6$/, '__libc_start_main');
	const program = entries.find(({ path }) => path === process.execPath)?.start ?? 0;
	const stacks = [
		stackOf([getenv, program + 1, start + 1]),
		stackOf([program, start + 1]),
		stackOf([getenv, program + 1]),
		stackOf([getenv]),
		stackOf([start]),
		stackOf([program, program + 1, program + 2]),
		stackOf([]),
	];
	const named = await new Symbolizer(history).resolve(stacks, 3);
	assert.deepEqual(
		named.map(({ cut }) => cut),
		[
			undefined,
			undefined,
			'no frame pointers',
			'no frame pointers',
			undefined,
			'too deep',
			undefined,
		],
	);
	// Of a stack that is nothing else but the C library's function, more than its caller is missing.
	assert.deepEqual(
		named.map(({ callerMissing }) => callerMissing),
		[!kept, false, !kept, false, false, false, false],
	);
	assert.equal(named[0]?.user[0]?.inCLibrary, true);
	assert.equal(named[0]?.user[1]?.inCLibrary, undefined);
	history.close();
});

test('a return address of 0 is the end of a known first function, and elsewhere no way on', async () => {
	const history = ourselves();
	const getenv = addressOf(/libc\.so\.6$/, 'getenv');
	const start = addressOf(/libc\.so\.6$/, '__libc_start_main');
	const end = { userEnd: 'at zero' } as const;
	const stacks = [stackOf([getenv, start + 1], end), stackOf([start, getenv + 1], end)];
	const named = await new Symbolizer(history).resolve(stacks, 3);
	assert.deepEqual(
		named.map(({ cut }) => cut),
		[undefined, 'no way on'],
	);
	history.close();
});

test('made at run time, and not in the perf map that there is: said, with what to do', async () => {
	// Our own, which is of our user, and younger than we are.
	const path = `/tmp/perf-${process.pid}.map`;
	writeFileSync(path, '1100 80 known\n');
	try {
		const history = new ProcessHistory();
		const java: MmapRecord = {
			type: 'mmap',
			pid: process.pid,
			tid: process.pid,
			time_ns: 1,
			start: 0x400000,
			end: 0x500000,
			fileOffset: 0,
			major: 0,
			minor: 0,
			inode: 0,
			path: '/usr/bin/java',
		};
		history.add(java);
		history.add({ ...java, start: 0x1000, end: 0x2000, path: '//anon' });
		history.add({ ...java, start: 0x2000, end: 0x3000, path: '[anon:interpreter]' });
		history.add({ ...java, type: 'comm', comm: 'java', exec: false });
		const symbolizer = new Symbolizer(history);
		const of = { pid: process.pid, at_ns: 5 };
		const [compiledLater] = await symbolizer.resolve([
			stackOf([0x1110, 0x1500, 0x2500, 0x5000], { ...of, parts: [1] }),
			stackOf([0x1120, 0x1110], { ...of, parts: [3] }),
		]);
		assert.deepEqual(compiledLater?.user, [
			{ name: 'known', kind: 'jit' },
			{ name: '[jit]', kind: 'jit' },
			{ name: '[anon:interpreter]', kind: 'user' },
			{ name: '[unknown]', kind: 'user' },
		]);
		const about = { runtime: 'jvm', pid: process.pid, comm: 'java', share: 0.25 };
		assert.deepEqual(symbolizer.notices()[0], { kind: 'perf-map-incomplete', ...about });
	} finally {
		rmSync(path);
	}
});
