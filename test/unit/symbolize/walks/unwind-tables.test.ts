/** Of which files unwind tables are read, and what programs get to know of them. No program is loaded. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Filter } from '../../../../src/bpf/filter.js';
import { FunctionMaps } from '../../../../src/bpf/runtimes/functions.js';
import type { UnwoundLayout } from '../../../../src/bpf/unwind/table-memory.js';
import { type FileIdentity, UnwindMaps, VDSO } from '../../../../src/bpf/unwind/tables.js';
import type { BpfObject } from '../../../../src/loader/object.js';
import { commandPath } from '../../../../src/proc/command-path.js';
import { parseMaps } from '../../../../src/proc/maps.js';
import { readMaps } from '../../../../src/proc/process-facts.js';
import { TableReader } from '../../../../src/symbolize/walks/table-reader.js';
import { UnwindTables } from '../../../../src/symbolize/walks/unwind-tables.js';
import { fakeProc, NOBODY } from '../../proc/fake-proc.js';
import { waitingChild } from '../waiting-child.js';

const FILTER: Filter = {
	...{ pids: [], tids: [], comms: [], cgroups: [], cpus: [] },
	...{ userThreads: true, kernelThreads: true, follow: false },
};

type Request = FileIdentity & {
	readonly pid: number;
	readonly start: number;
	readonly end: number;
};

/** Tables whose programs are not there: what they would be told, and what they ask. */
function tablesOf(
	t: TestContext,
	{ pids = [], words = [] }: { pids?: number[]; words?: string[] },
) {
	const put: FileIdentity[] = [];
	const dropped: FileIdentity[] = [];
	const notes: string[] = [];
	const asked: Request[] = [];
	let hasRoom = true;
	let ask: () => Promise<void> = async () => {};
	const maps = UnwindMaps.prototype;
	for (const name of ['open', 'addRules', 'close'] as const) t.mock.method(maps, name, () => {});
	const rounds = t.mock.method(maps, 'nextRound', () => {}).mock;
	for (const name of ['open', 'close'] as const)
		t.mock.method(FunctionMaps.prototype, name, () => {});
	t.mock.method(maps, 'watch', (call: typeof ask) => {
		ask = call;
	});
	t.mock.method(maps, 'requests', () => asked.splice(0));
	t.mock.method(maps, 'put', (file: FileIdentity) => put.push(file));
	t.mock.method(maps, 'drop', (file: FileIdentity) => dropped.push(file));
	t.mock.getter(maps, 'lacksRoom', () => !hasRoom);
	const subjects = { filter: { ...FILTER, pids }, command: undefined, words };
	const object = {} as BpfObject<UnwoundLayout>;
	const tables = new UnwindTables(object, subjects, (note) => notes.push(note));
	t.after(() => tables.close());
	return {
		...{ tables, put, dropped, notes, rounds },
		request: async (...requests: readonly Request[]) => {
			asked.push(...requests);
			await ask();
		},
		fill: () => {
			hasRoom = false;
		},
	};
}

const byInode = (files: readonly Pick<FileIdentity, 'inode' | 'device'>[]) =>
	files.map(({ inode, device }) => `${inode} ${device}`).sort();

test('the tables of a process that was chosen are read as tracing begins, with those of the vdso', async (t) => {
	const { pid } = await waitingChild(t, 'cat');
	const { tables, put, dropped, notes } = tablesOf(t, { pids: [pid] });
	tables.order();
	tables.begin();
	const mapped = parseMaps(readMaps(pid) ?? '').filter(({ inode }) => inode > 0);
	const expected = mapped.map(({ inode, major, minor }) => {
		return { inode: BigInt(inode), device: major * 2 ** 20 + minor };
	});
	// On a slow machine tracing begins before all are read.
	while (put.length < expected.length + 1) await sleep(1);
	assert.deepEqual(byInode(put), byInode([...expected, VDSO]));
	const files = put.filter(({ inode }) => inode !== VDSO.inode);
	assert.ok(files.every(({ changed_ns }) => changed_ns > 0n));
	assert.equal(notes.at(-1), `has read the unwind tables of ${expected.length + 1} files`);
	assert.equal(notes.length, 1);
	tables.drain();
	assert.deepEqual(dropped, []);
	assert.equal(tables.problem, undefined);
});

/** What is ordered, and by which way; nothing is read. */
function orders(t: TestContext, isTaken = true) {
	const all: (readonly [FileIdentity, path: string | undefined])[] = [];
	t.mock.method(TableReader.prototype, 'order', (file: FileIdentity, path: string | undefined) => {
		all.push([file, path]);
		return isTaken;
	});
	return all;
}

const FOLDER = `/proc/${NOBODY}`;
const line = (i: number, more: string) =>
	`${(0x1000 * i).toString(16)}-${(0x1000 * i + 0x800).toString(16)} ${more}\n`;
const request = (inode: number, pid = NOBODY): Request => {
	return { inode: BigInt(inode), device: 5, changed_ns: 9n, pid, start: 0xabc000, end: 0xabd000 };
};

test('who meets a file has its other files read, too: 64 of them, each once, and no memory', async (t) => {
	const lines = Array.from({ length: 100 }, (_, i) =>
		line(i + 10, `r-xp 00000000 103:0a ${1000 + i}    /lib/${i}.so`),
	);
	const memory =
		line(1, 'r-xp 00000000 00:00 0 ') +
		line(2, 'r-xp 00000000 00:01 9999999999999999    /too-large') +
		line(3, 'rw-p 00000000 103:0a 999    /data');
	fakeProc(t, { files: { [`${FOLDER}/maps`]: memory + lines.join('') } });
	const ordered = orders(t);
	const { tables, request: ask } = tablesOf(t, {});
	tables.order();
	tables.begin();
	assert.deepEqual(ordered, [[VDSO, undefined]]);
	// The second one is one of the others.
	await ask(request(7), { ...request(1003), device: 0x103 * 2 ** 20 + 10 });
	assert.deepEqual(ordered[1], [request(7), `${FOLDER}/map_files/abc000-abd000`]);
	const inodes = ordered.slice(1).map(([{ inode }]) => Number(inode));
	const others = Array.from({ length: 64 }, (_, i) => 1000 + i);
	assert.deepEqual(inodes, [7, ...others, 1003]);
	const first = { inode: 1000n, device: 0x103 * 2 ** 20 + 10, changed_ns: 0n };
	assert.deepEqual(ordered[2], [first, `${FOLDER}/map_files/a000-a800`]);
	// Once in a second, and then those that were left out.
	await ask(request(8));
	assert.equal(ordered.length, 1 + 66 + 1);
	tables.drain();
	await ask(request(9));
	assert.equal(Number(ordered.at(-1)?.[0].inode), 1099);
	assert.equal(ordered.length, 1 + 66 + 1 + 1 + 36);
});

test('a file that is asked for is not read a second time as one of the others', async (t) => {
	const maps = [7, 8].map((inode) =>
		line(inode, `r-xp 00000000 00:05 ${inode}    /lib/${inode}.so`),
	);
	fakeProc(t, { files: { [`${FOLDER}/maps`]: maps.join('') } });
	const ordered = orders(t);
	const { tables, request: ask } = tablesOf(t, {});
	tables.order();
	tables.begin();
	await ask(request(8));
	assert.deepEqual(
		ordered.slice(1).map(([{ inode }]) => inode),
		[8n, 7n],
	);
});

test('a table of another version of the file than was met is not used: who meets it next asks again', async (t) => {
	const { pid } = await waitingChild(t, 'cat');
	const [mapped = assert.fail()] = parseMaps(readMaps(pid) ?? '').filter(({ inode }) => inode > 0);
	const { start, end, inode, major, minor } = mapped;
	const device = major * 2 ** 20 + minor;
	const met = { pid, start, end, inode: BigInt(inode), device, changed_ns: 9n };
	const { tables, put, dropped, notes, request: ask } = tablesOf(t, {});
	tables.order();
	tables.begin();
	await ask(met);
	while (notes.length === 0) await sleep(1);
	tables.drain();
	assert.deepEqual(dropped, [met]);
	assert.ok(put.every((file) => file.inode !== met.inode));
	assert.ok(put.length > 1);
});

test('tracing begins when the tables of those that were chosen are there, or after 2 s', (t) => {
	orders(t);
	const waits = t.mock.method(TableReader.prototype, 'wait', () => {}).mock;
	for (const [pids, expected] of [
		[[], []],
		[[NOBODY], [2000]],
	] as const) {
		const { tables } = tablesOf(t, { pids: [...pids] });
		tables.order();
		tables.begin();
		assert.deepEqual(
			waits.calls.flatMap(({ arguments: limits }) => limits),
			expected,
		);
	}
});

test('for a trial, whose stacks nobody walks, no file of the chosen process is read', (t) => {
	fakeProc(t, { files: { [`${FOLDER}/maps`]: line(1, 'r-xp 00000000 08:01 500    /lib/x') } });
	const ordered = orders(t);
	const { tables } = tablesOf(t, { pids: [NOBODY] });
	tables.order(false);
	assert.deepEqual(ordered, [[VDSO, undefined]]);
	tables.order();
	assert.deepEqual(
		ordered.slice(1).map(([{ inode }]) => inode),
		[VDSO.inode, 500n],
	);
});

test('of 32 processes in a second other files are looked for; what is asked for is read in any case', async (t) => {
	const files = Object.fromEntries(
		Array.from({ length: 40 }, (_, i) => [
			`/proc/${NOBODY + i}/maps`,
			line(1, `r-xp 00000000 08:01 ${500 + i}    /lib/x`),
		]),
	);
	fakeProc(t, { files });
	const ordered = orders(t);
	const { tables, request: ask } = tablesOf(t, {});
	tables.order();
	tables.begin();
	await ask(...Array.from({ length: 40 }, (_, i) => request(100 + i, NOBODY + i)));
	const inodes = ordered.slice(1).map(([{ inode }]) => Number(inode));
	assert.equal(inodes.filter((inode) => inode < 500).length, 40);
	assert.equal(inodes.filter((inode) => inode >= 500).length, 32);
});

test('what cannot be ordered now is asked for again by who meets it next, and once', async (t) => {
	const ordered = orders(t, false);
	const { tables, dropped, rounds, request: ask } = tablesOf(t, {});
	tables.order();
	tables.begin();
	await ask(request(7));
	assert.equal(ordered.length, 2);
	assert.deepEqual(dropped, []);
	assert.equal(rounds.callCount(), 0);
	tables.drain();
	assert.equal(rounds.callCount(), 1);
	assert.deepEqual(dropped, [request(7)]);
	tables.drain();
	assert.equal(dropped.length, 1);
});

test('the file of COMMAND is read before it runs', (t) => {
	const ordered = orders(t);
	const { tables } = tablesOf(t, { words: ['sh', '-c', 'exit'] });
	tables.order();
	const path = commandPath('sh');
	const { ino, dev } = statSync(path);
	const minor = (dev & 0xff) | ((dev >>> 12) & 0xfff00);
	const device = ((dev >>> 8) & 0xfff) * 2 ** 20 + minor;
	assert.deepEqual(ordered.slice(1), [[{ inode: BigInt(ino), device, changed_ns: 0n }, path]]);
});

test('that tables have no room is told, with what to do', (t) => {
	const { tables, fill } = tablesOf(t, {});
	assert.equal(tables.problem, undefined);
	fill();
	assert.match(tables.problem ?? '', /no room for all unwind tables; trace fewer processes \(-p\)/);
});
