/** Which variable or memory lies at an address of a process's data, as its mappings and files have it. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { MemoryPlace } from '../../../src/aggregate/wait-object.js';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { SECTION_TYPE } from '../../../src/elf/elf.js';
import { ProcessHistory } from '../../../src/symbolize/mappings/processes.js';
import { crc32 } from '../../../src/symbolize/symbols/debug-files.js';
import { memoryNames } from '../../../src/symbolize/symbols/memory-names.js';
import { elfOf, type SectionSpec, symbolsOf } from '../hostile/elf-builder.js';
import { fakeProc, NOBODY } from '../proc/fake-proc.js';
import { temporaryFolder } from './support.js';

const ARENA = 64 * 2 ** 20;
const hex = (address: number) => address.toString(16);
const line = (start: number, end: number, what: string) => `${hex(start)}-${hex(end)} ${what}\n`;

const place = (address: number, more: Partial<MemoryPlace> = {}): MemoryPlace => {
	return { pid: NOBODY, address, at_ns: 100, sp: 0, inHeap: false, ...more };
};

/** What lies at each of these addresses; `sp`: of the thread. */
function namesAt(addresses: readonly number[], sp = 0): (string | undefined)[] {
	const places = addresses.map((address) => place(address, { sp }));
	const names = memoryNames(places, new ProcessHistory());
	return places.map((each) => names.get(each));
}

/** These are the mappings of a process. */
const maps = (t: TestContext, text: string) =>
	fakeProc(t, { files: { [`/proc/${NOBODY}/maps`]: text } });

test('memory that has a name, and how far it is in a file', (t) => {
	maps(
		t,
		line(0x1000, 0x3000, 'rw-p 00005000 08:01 77                         /usr/lib/lib a.so') +
			line(0x3000, 0x4000, 'rw-p 00000000 00:00 0                          [anon:Go: heap]') +
			line(0x5000, 0x6000, 'rw-p 00000000 00:00 0                          [heap]') +
			line(0x6000, 0x7000, 'rw-s 00000000 00:01 9                          [anon_shmem:ring]') +
			line(0x8000, 0x9000, 'rw-p 00000000 00:00 0                          [stack]'),
	);
	assert.deepEqual(namesAt([0x1010, 0x2fff, 0x3000, 0x3fff, 0x5008, 0x6008, 0x8000]), [
		...['lib a.so+0x5010', 'lib a.so+0x6fff', '[anon:Go: heap]', '[anon:Go: heap]'],
		...['[heap]+0x8', '[anon_shmem:ring]', 'stack'],
	]);
	assert.equal(memoryNames([place(1, { inHeap: true })], new ProcessHistory()).size, 1);
	const inHeap = place(0x8000, { inHeap: true });
	assert.equal(memoryNames([inHeap], new ProcessHistory()).get(inHeap), 'heap');
});

test('memory without a name: a stack, an arena of the C library, or any', (t) => {
	const any = 'rw-p 00000000 00:00 0 ';
	maps(
		t,
		line(0x1000, 0x2000, any) +
			// Of a thread, as the C library makes it.
			line(0x10_000, 0x11_000, '---p 00000000 00:00 0 ') +
			line(0x11_000, 0x20_000, any) +
			// Nobody may touch what is elsewhere.
			line(0x30_000, 0x31_000, '---p 00000000 00:00 0 ') +
			line(0x32_000, 0x40_000, any) +
			line(0x40_000, 0x50_000, 'rwxp 00000000 00:00 0 ') +
			line(3 * ARENA, 3 * ARENA + 0x1000, any),
	);
	const all = [0x1000, 0x11_000, 0x1f_fff, 0x32_000, 0x40_000, 3 * ARENA + 8];
	const anonymous = 'anonymous memory';
	assert.deepEqual(namesAt(all), [anonymous, 'stack', 'stack', anonymous, anonymous, 'heap']);
	// Where the thread's stack pointer is, it is a stack.
	assert.deepEqual(namesAt([0x1ff8, 0x32_000], 0x1000), ['stack', anonymous]);
	assert.deepEqual(namesAt([0x1ff8], 0x2000), [anonymous]);
});

test('where nothing is mapped it was the stack, if it lay above the stack pointer, and not far', (t) => {
	maps(t, line(0x1000, 0x2000, 'rw-p 00000000 00:00 0 '));
	const sp = 0x7000_0000;
	assert.deepEqual(namesAt([sp, sp + 8 * 2 ** 20 - 1, sp + 8 * 2 ** 20, sp - 8, 0x2000], sp), [
		...['stack', 'stack', '', '', ''],
	]);
});

test('each process has its own mappings, which are read once for all places', (t) => {
	const path = `/proc/${NOBODY}/maps`;
	const other = `/proc/${NOBODY + 1}/maps`;
	const named = (name: string) => line(0x1000, 0x2000, `rw-p 00000000 00:00 0    [anon:${name}]`);
	fakeProc(t, { files: { [path]: named('a'), [other]: named('b') } });
	const places = [0, 1, 0, 1].map((more, i) => place(0x1000 + i, { pid: NOBODY + more }));
	const names = memoryNames(places, new ProcessHistory());
	assert.deepEqual(
		places.map((each) => names.get(each)),
		['[anon:a]', '[anon:b]', '[anon:a]', '[anon:b]'],
	);
});

const [TEXT, DATA, SIZE] = [0x401000, 0x404000, 0x100];
const [EXECUTED, WRITTEN] = [5, 6];

/** A program or library of these sections, behind its code and its data. */
function linked(...sections: readonly SectionSpec[]): Buffer {
	return elfOf({
		sections: [
			{ name: '.text', flags: 6, address: TEXT, data: Buffer.alloc(SIZE) },
			{ name: '.data', flags: 3, address: DATA, data: Buffer.alloc(SIZE) },
			...sections,
		],
		segments: [
			{ type: 1, flags: WRITTEN, address: DATA, dataOf: 1 },
			{ type: 1, flags: EXECUTED, address: TEXT, dataOf: 0 },
		],
		// As long in memory as in the file.
		header: [0, 1].map((i) => [64 + 56 * i + 40, 8, BigInt(SIZE)] as const),
	});
}

/** A library with one variable, 0x10 from where its data begins; its code is behind what others have in that page. */
function library(variable: string): Buffer {
	const names = Buffer.from(`\0${variable}\0`);
	const symbols = [{ name: 1, address: DATA + 0x10, size: 0x20, info: 0x11, section: 2 }];
	return linked(
		{ name: '.symtab', type: SECTION_TYPE.symtab, data: symbolsOf(symbols), link: 4 },
		{ name: '.strtab', type: 3, data: names },
	);
}

/** Where its code is in the file: the second segment's offset. */
const codeOffset = (file: Buffer) => Number(file.readBigUInt64LE(64 + 56 + 8));

/** Writes a file once, of a library or a damaged one, and has its code mapped at this address. */
function mapFile(history: ProcessHistory, path: string, start: number, file?: Buffer): void {
	if (!existsSync(path)) writeFileSync(path, file ?? 'damaged');
	const { dev, ino } = statSync(path);
	history.add({
		...{ type: 'mmap', pid: NOBODY, tid: NOBODY, path, start, end: start + SIZE },
		...{ time_ns: Number(process.hrtime.bigint()), fileOffset: file ? codeOffset(file) : 0 },
		...{ inode: ino, major: (dev >>> 8) & 0xfff },
		minor: (dev & 0xff) | ((dev >>> 12) & 0xfff00),
	});
}

/** What lies 0x18 behind where the data begins of a library that is mapped at this address. */
function inLibraryAt(history: ProcessHistory, start: number): string | undefined {
	const at_ns = Number(process.hrtime.bigint());
	const asked = place(start + DATA - TEXT + 0x18, { at_ns });
	return memoryNames([asked], history).get(asked);
}

test('a file that is mapped twice, and others in between: the four nearest ones are looked at', (t) => {
	const folder = temporaryFolder();
	const history = new ProcessHistory();
	t.after(() => history.close());
	maps(t, '');
	const far = [1, 2, 3, 4].map((i) => i * 0x10_0000);
	for (const start of far) mapFile(history, join(folder, `far${start}`), start, library('far'));
	const [first, second] = [0x1000_0000, 0x1080_0000];
	const path = join(folder, 'twice.so');
	for (const start of [first, second]) mapFile(history, path, start, library('lock'));
	// Between the second one's code and its data.
	for (const i of [1, 2, 3]) mapFile(history, join(folder, `near${i}`), second + i * 0x1000 - SIZE);
	assert.equal(inLibraryAt(history, first), 'lock+0x8');
	assert.equal(inLibraryAt(history, second), 'lock+0x8');
	mapFile(history, join(folder, 'near4'), second + 0x800);
	assert.equal(inLibraryAt(history, second), '');
});

test('a variable whose name is in a debug file; a file that has names itself needs none', (t) => {
	const folder = temporaryFolder();
	const history = new ProcessHistory();
	t.after(() => history.close());
	maps(t, '');
	const debug = library('hidden');
	writeFileSync(join(folder, 'lib.debug'), debug);
	const link = Buffer.alloc(16);
	link.write('lib.debug');
	link.writeUInt32LE(crc32(new MemoryBytes(debug)) ?? assert.fail(), 12);
	const linkTo = { name: '.gnu_debuglink', data: link };
	const [start, named] = [0x1000_0000, 0x1080_0000];
	mapFile(history, join(folder, 'stripped.so'), start, linked(linkTo));
	const table = { name: '.symtab', type: SECTION_TYPE.symtab, data: symbolsOf([]), link: 4 };
	const strings = { name: '.strtab', type: 3, data: Buffer.alloc(1) };
	mapFile(history, join(folder, 'named.so'), named, linked(table, strings, linkTo));
	const before = readdirSync('/proc/self/fd').length;
	assert.equal(inLibraryAt(history, start), 'hidden+0x8');
	assert.equal(inLibraryAt(history, named), `named.so+0x${hex(DATA + 0x18)}`);
	assert.equal(readdirSync('/proc/self/fd').length, before);
});

test('a variable by its name, of the nearest file that reaches there; what has none by its place', (t) => {
	const folder = temporaryFolder();
	const history = new ProcessHistory();
	t.after(() => history.close());
	const bases = [0x1000_0000, 0x1010_0000, 0x1020_0000];
	for (const [i, start] of bases.entries())
		mapFile(history, join(folder, `lib${i}.so`), start, i === 1 ? undefined : library(`lock${i}`));
	maps(t, '');
	const before = readdirSync('/proc/self/fd').length;
	const at_ns = Number(process.hrtime.bigint());
	const inData = (i: number, offset: number) =>
		place((bases[i] ?? 0) + DATA - TEXT + offset, { at_ns });
	const places = [
		...[inData(0, 0x10), inData(0, 0x2f), inData(0, 0x30), inData(2, 0x18)],
		// Its data ends there; the damaged file is nearer to some of these.
		...[inData(0, SIZE - 1), inData(0, SIZE), inData(1, 0x10), inData(0, -1)],
	];
	const names = memoryNames(places, history);
	assert.deepEqual(
		places.map((each) => names.get(each)),
		[
			...['lock0', 'lock0+0x1f', `lib0.so+0x${hex(DATA + 0x30)}`, 'lock2+0x8'],
			...[`lib0.so+0x${hex(DATA + SIZE - 1)}`, '', '', ''],
		],
	);
	assert.equal(readdirSync('/proc/self/fd').length, before);
});
