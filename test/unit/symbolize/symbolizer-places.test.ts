/** Frames that lie in no file, or in one with names of other languages; and names that nobody has time to look for. */
import assert from 'node:assert/strict';
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SECTION_TYPE } from '../../../src/elf/elf.js';
import type { MmapRecord } from '../../../src/perf/records.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { Symbolizer } from '../../../src/symbolize/symbolizer.js';
import { elfOf, symbolsOf } from '../hostile/elf-builder.js';
import { fakeProc } from '../proc/fake-proc.js';
import { stackOf, temporaryFolder } from './support.js';

const START = 0x10_0000_0000;
const TEXT = 0x401000;

/** A program with one function. */
function programOf(name: string): Buffer {
	const symbols = [{ name: 1, address: TEXT + 16, size: 32, section: 3 }];
	return elfOf({
		sections: [
			{ name: '.symtab', type: SECTION_TYPE.symtab, data: symbolsOf(symbols), link: 2 },
			{ name: '.strtab', type: 3, data: Buffer.from(`\0${name}\0`) },
			{ name: '.text', flags: 6, address: TEXT, data: Buffer.alloc(64) },
		],
		segments: [{ type: 1, flags: 5, address: TEXT, dataOf: 2 }],
	});
}

/** This process has a file mapped, from where its code begins there. */
function mappedIn(history: ProcessHistory, path: string, file: Buffer, start = START): void {
	writeFileSync(path, file);
	const { dev, ino } = statSync(path);
	const mapped: MmapRecord = {
		...{ type: 'mmap', pid: process.pid, tid: process.pid, path, inode: ino },
		...{ start, end: start + 64, fileOffset: Number(file.readBigUInt64LE(64 + 8)) },
		...{ time_ns: Number(process.hrtime.bigint()), major: (dev >>> 8) & 0xfff },
		minor: (dev & 0xff) | ((dev >>> 12) & 0xfff00),
	};
	history.add(mapped);
}

const now = () => ({ at_ns: Number(process.hrtime.bigint()) });

test('names of C++ and Rust are as their sources have them, in files and in perf maps', async (t) => {
	const history = new ProcessHistory();
	t.after(() => history.close());
	mappedIn(history, join(temporaryFolder(), 'program'), programOf('_ZN3foo3barEv'));
	const anon = { inode: 0, major: 0, minor: 0, path: '//anon', fileOffset: 0 };
	const of = { type: 'mmap', pid: process.pid, tid: process.pid, time_ns: 1 } as const;
	history.add({ ...of, ...anon, start: 0x1000, end: 0x2000 });
	const map = `/tmp/perf-${process.pid}.map`;
	writeFileSync(map, '1100 80 _RNvNtCs1234_7mycrate3foo3bar\n');
	chownSync(map, process.geteuid?.() ?? 0, process.getegid?.() ?? 0);
	t.after(() => rmSync(map, { force: true }));
	const [stack] = await new Symbolizer(history).resolve([
		stackOf([START + 20, START + 48, START + 17, 0x1110], now()),
	]);
	const frames = stack?.user.map(({ name, kind }) => [name, kind]);
	assert.deepEqual(frames, [
		['foo::bar()', 'user'],
		// The call is the last byte in front of where it returns to.
		['foo::bar()', 'user'],
		['foo::bar()', 'user'],
		['mycrate::foo::bar', 'jit'],
	]);
	assert.ok(stack?.user.every(({ inCLibrary }) => inCLibrary === undefined));
});

test('memory that is a file by name only is no file; what the kernel maps for old programs is told', async (t) => {
	const history = new ProcessHistory();
	t.after(() => history.close());
	const of = { type: 'mmap', pid: process.pid, tid: process.pid, time_ns: 1 } as const;
	const file = { fileOffset: 0, inode: 77, major: 0, minor: 1, start: 0x1000, end: 0x2000 };
	history.add({ ...of, ...file, path: '/memfd:doublemapper (deleted)' });
	const [stack, first, behind] = await new Symbolizer(history).resolve([
		stackOf([0x1100, -0xa0_0000, -0x9f_f001, -0x9f_efff, -0xa0_0000], { at_ns: 5 }),
		stackOf([-0xa0_0000]),
		stackOf([-0x9f_f000]),
	]);
	assert.deepEqual(
		stack?.user.map(({ name }) => name),
		['[anon]', '[unknown]', '[vsyscall]', '[unknown]', '[unknown]'],
	);
	assert.deepEqual([first?.user[0]?.name, behind?.user[0]?.name], ['[vsyscall]', '[unknown]']);
});

test('kernel functions whose addresses are hidden are told of', async (t) => {
	const symbolizer = new Symbolizer(new ProcessHistory());
	const stack = stackOf([], { kernel: [-0x7e00_0000] });
	fakeProc(t, { files: { '/proc/kallsyms': '0000000000000000 T _text\n' } });
	const [named] = await symbolizer.resolve([stack]);
	assert.deepEqual(named?.kernel, [{ name: '[kernel]+0xffffffff82000000', kind: 'kernel' }]);
	assert.deepEqual(symbolizer.notices(), [{ kind: 'kernel-symbols-hidden' }]);
	fakeProc(t, { files: { '/proc/kallsyms': 'ffffffff81fffff0 T known\n' } });
	const [known] = await symbolizer.resolve([stack]);
	assert.deepEqual(known?.kernel, [{ name: 'known', kind: 'kernel' }]);
	assert.deepEqual(symbolizer.notices(), []);
});

test('when the time is over, places are what is known of them, and that is told', async (t) => {
	const history = new ProcessHistory();
	t.after(() => history.close());
	mappedIn(history, join(temporaryFolder(), 'program'), programOf('work'));
	const { now: clock } = performance;
	t.after(() => {
		performance.now = clock;
	});
	const namedAt = async (step_ms: number) => {
		let now_ms = 0;
		performance.now = () => {
			now_ms += step_ms;
			return now_ms;
		};
		const symbolizer = new Symbolizer(history);
		const [stack] = await symbolizer.resolve([stackOf([START + 20], now())]);
		return [stack?.user[0]?.name ?? '', ...symbolizer.notices().map(({ kind }) => kind)];
	};
	assert.deepEqual(await namedAt(1), ['work']);
	const [name = '', ...kinds] = await namedAt(31_000);
	assert.match(name, /^program\+0x/);
	assert.deepEqual(kinds, ['out-of-time', 'symbols-missing']);
});

test('a kernel function is where it is at the leaf, and in front of where it returns to elsewhere', async (t) => {
	const text = 'ffffffff81000000 T first\nffffffff81000100 T second\n';
	fakeProc(t, { files: { '/proc/kallsyms': text } });
	const second = 0x8100_0100 - 2 ** 32;
	const stack = stackOf([], { kernel: [second, second, second + 1] });
	const [named] = await new Symbolizer(new ProcessHistory()).resolve([stack]);
	assert.deepEqual(
		named?.kernel.map(({ name }) => name),
		['second', 'first', 'second'],
	);
});

test('if there is not the time for all files, those with most places are named', async (t) => {
	const history = new ProcessHistory();
	t.after(() => history.close());
	const folder = temporaryFolder();
	const [few, many] = [START, START + 0x1000_0000];
	mappedIn(history, join(folder, 'few'), programOf('few'), few);
	mappedIn(history, join(folder, 'many'), programOf('many'), many);
	const { now: clock } = performance;
	t.after(() => {
		performance.now = clock;
	});
	let now_ms = 0;
	performance.now = () => {
		now_ms += 20_000;
		return now_ms;
	};
	const user = [few + 20, many + 21, many + 25, many + 30];
	const [stack] = await new Symbolizer(history).resolve([stackOf(user, now())]);
	const names = stack?.user.map(({ name }) => name) ?? [];
	assert.match(names[0] ?? '', /^few\+0x/);
	assert.deepEqual(names.slice(1), ['many', 'many', 'many']);
});

test('of Python that writes a perf map its interpreter is no sign that there is none', async (t) => {
	const map = `/tmp/perf-${process.pid}.map`;
	t.after(() => rmSync(map, { force: true }));
	const kindsWith = async (hasMap: boolean) => {
		const history = new ProcessHistory();
		const path = join(temporaryFolder(), 'python3.12');
		mappedIn(history, path, programOf('_PyEval_EvalFrameDefault'));
		const anon = { inode: 0, major: 0, minor: 0, path: '//anon', fileOffset: 0 };
		const of = { type: 'mmap', pid: process.pid, tid: process.pid, time_ns: 1 } as const;
		history.add({ ...of, ...anon, start: 0x1000, end: 0x2000 });
		if (hasMap) writeFileSync(map, '1100 80 py::f:/a.py\n');
		const symbolizer = new Symbolizer(history);
		await symbolizer.resolve([stackOf([0x1110, START + 20], now())]);
		history.close();
		return symbolizer.notices().map(({ kind }) => kind);
	};
	assert.deepEqual(await kindsWith(false), ['perf-map-missing']);
	assert.deepEqual(await kindsWith(true), []);
});

test('where it is not known what is mapped, a perf map is not missed', async () => {
	const history = new ProcessHistory();
	const of = { type: 'mmap', pid: 5_000_000, tid: 5_000_000, time_ns: 1 } as const;
	const where = { start: 0x1000, end: 0x2000, fileOffset: 0, inode: 0, major: 0, minor: 0 };
	history.add({ ...of, ...where, path: '/usr/bin/node' });
	const symbolizer = new Symbolizer(history);
	const noticesOf = async (address: number) => {
		await symbolizer.resolve([stackOf([address], { pid: 5_000_000, at_ns: 5 })]);
		return symbolizer.notices().map(({ kind }) => kind);
	};
	assert.deepEqual(await noticesOf(0x9000), []);
	assert.deepEqual(await noticesOf(0x1100), ['perf-map-missing']);
});
