/** Probes in the C library of a process: at which functions, in which order, and what becomes of them. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TstraceError } from '../../../../../src/errors.js';
import { memleak } from '../../../../../src/generated/memleak.js';
import { type ProbePoint, UserProbes } from '../../../../../src/loader/probes.js';
import { processLives } from '../../../../../src/proc/lives.js';
import { ALLOCATOR_FUNCTIONS } from '../../../../../src/tools/memleak/heap/allocators.js';
import type { HeapFile } from '../../../../../src/tools/memleak/heap/files.js';
import {
	goesOn,
	type HeapProbeOptions,
	identityOf,
	isObject,
	noAllocator,
} from '../../../../../src/tools/memleak/heap/probed-files.js';
import { HeapProbes } from '../../../../../src/tools/memleak/heap/probes.js';
import { fakeProc } from '../../../proc/fake-proc.js';
import { temporaryFolder } from '../../../symbolize/support.js';
import { waitingChild } from '../../../symbolize/waiting-child.js';

interface Request {
	readonly program: { readonly name: string };
	readonly returns: boolean;
	readonly path: string;
	readonly pid: number;
	readonly points: readonly ProbePoint[];
}

const { SIGNATURE_FUNCTION, SIGNATURE_CALLER } = memleak.enums.signature;

/** The function that a probe is at, by what its program is told. */
function nameOf({ cookie }: Pick<ProbePoint, 'cookie'>): string {
	const bits = BigInt(SIGNATURE_CALLER - SIGNATURE_FUNCTION);
	const number = Number((cookie >> BigInt(SIGNATURE_FUNCTION)) & (2n ** bits - 1n));
	return ALLOCATOR_FUNCTIONS[number - 1]?.name ?? '';
}

interface Programs {
	readonly entry: object;
	readonly return: object;
	readonly last: object;
	/** Undefined: programs are told with each probe what it is at. */
	signatures: object | undefined;
}
const programs: Programs = {
	...{ entry: { name: 'entry' }, return: { name: 'return' }, last: { name: 'last' } },
	signatures: undefined,
};
const notes: string[] = [];
const heapProbes = (more: Partial<HeapProbeOptions> = {}) =>
	new HeapProbes(programs as never, { object: undefined, prefix: '', ...more }, (text) =>
		notes.push(text),
	);
/** Of all tests, as it reads each file once: a C library takes it 50 ms. */
const probes = heapProbes();

/** `taken`: what was probed since that was looked at last; `fails`: whether the next ones do. */
function kernel(t: TestContext) {
	let requests: Request[] = [];
	const closed: number[] = [];
	const numbers = new Map<UserProbes, number>();
	const state: { fails: (() => string) | undefined } = { fails: undefined };
	t.mock.method(UserProbes.prototype, 'attach', function (this: UserProbes, request: Request) {
		if (!numbers.has(this)) numbers.set(this, numbers.size);
		const why = state.fails?.();
		if (why !== undefined) throw new TstraceError(why);
		if (request.points.length > 0) requests.push(request);
	});
	t.mock.method(UserProbes.prototype, 'close', function (this: UserProbes) {
		closed.push(numbers.get(this) ?? -1);
	});
	const taken = () => {
		const all = requests;
		requests = [];
		return all;
	};
	return { taken, closed, state };
}

/** Its program has no allocator; its C library has one. */
const child = async (t: TestContext) => (await waitingChild(t, 'cat')).pid;
const libraryOf = (pid: number) =>
	/\S+\/libc\.so\S*$/m.exec(readFileSync(`/proc/${pid}/maps`, 'utf8'))?.[0] ?? assert.fail();

test('returns are probed before entries, and what frees before what allocates: nothing is seen of which the rest is not', async (t) => {
	const pid = await child(t);
	const { taken } = kernel(t);
	probes.attachProcess(pid);
	const requests = taken();
	assert.deepEqual(
		requests.map(({ program, returns }) => [program.name, returns]),
		[
			['return', true],
			['entry', false],
			['entry', false],
			['entry', false],
		],
	);
	for (const each of requests) assert.equal(each.pid, pid);
	const [returning = [], ...entries] = requests.map(({ points }) => points);
	const [frees = [], both = [], allocates = []] = entries.map((points) => points.map(nameOf));
	for (const name of ['free', 'munmap']) assert.ok(frees.includes(name), `${frees}`);
	assert.deepEqual(both.toSorted(), ['mremap', 'realloc', 'reallocarray']);
	for (const name of ['malloc', 'calloc', 'mmap', 'posix_memalign'])
		assert.ok(allocates.includes(name), `${allocates}`);
	for (const name of [...frees, ...both]) assert.ok(!allocates.includes(name), name);
	// Each result is waited for.
	assert.equal(returning.length, both.length + allocates.length);
	assert.ok(probes.hasAllocator(pid) && !probes.hasAllocator(pid + 1));
	assert.ok(notes.some((note) => note === `probes in ${libraryOf(pid)} of process ${pid}`));
});

test('a file is probed once in a process, by whatever name it was found; again after its probes were taken out', async (t) => {
	const pid = await child(t);
	const link = join(temporaryFolder(), 'link.so');
	symlinkSync(libraryOf(pid), link);
	const { taken, closed } = kernel(t);
	probes.attachFiles(pid, [link, '/no/such/file']);
	assert.equal(taken().length, 4);
	probes.refresh(pid);
	probes.attachProcess(pid);
	assert.deepEqual(taken(), []);
	probes.drop(pid);
	assert.deepEqual(closed, [0]);
	probes.refresh(pid);
	assert.equal(taken().length, 4);
	assert.equal(probes.dropEnded(pid), false);
	probes.close();
	assert.equal(closed.at(-1), 1);
	const { length } = closed;
	probes.close();
	assert.equal(closed.length, length);
});

test('of two files of a process both have their probes taken out, the last ones first', async (t) => {
	const pid = await child(t);
	const { closed, taken } = kernel(t);
	const other = join(temporaryFolder(), 'other.so');
	copyFileSync(libraryOf(pid), other);
	probes.attachFiles(pid, [other, libraryOf(pid)]);
	assert.equal(new Set(taken().map(({ path }) => path)).size, 2);
	probes.drop(pid);
	assert.deepEqual(closed, [1, 0]);
});

test('files that cannot be probed are told of, with the first reason, and are not tried again', async (t) => {
	const pid = await child(t);
	const { taken, state, closed } = kernel(t);
	assert.equal(probes.hasFailed, false);
	state.fails = () => 'it cannot be probed';
	probes.refresh(pid);
	assert.equal(probes.hasFailed, true);
	assert.equal(closed.length, 1);
	assert.ok(notes.includes('it cannot be probed'));
	state.fails = undefined;
	probes.refresh(pid);
	assert.deepEqual(taken(), []);
	assert.deepEqual(probes.notices(), [
		'tstrace could not probe one file, and misses allocations there: it cannot be probed.',
	]);
	// No regular file: it may be an allocator all the same, for all that is known.
	probes.attachFiles(pid, ['/dev/null']);
	assert.deepEqual(probes.notices(), [
		'tstrace could not probe 2 files, and misses allocations there: it cannot be probed.',
	]);
	// One that ends meanwhile misses nothing.
	const other = await child(t);
	state.fails = () => {
		process.kill(other, 'SIGKILL');
		while (processLives(other));
		return 'it has ended';
	};
	probes.refresh(other);
	assert.match(probes.notices()[0] ?? '', /^tstrace could not probe 2 files/);
});

test('a process with filtered calls gets no probes of returns, where these would end it', async (t) => {
	const pid = await child(t);
	const { taken } = kernel(t);
	fakeProc(t, { files: { [`/proc/${pid}/status`]: 'Seccomp:\t2\n' } });
	t.mock.method(os, 'release', () => '6.12.1');
	syncBuiltinESMExports();
	const { arch } = process;
	Object.defineProperty(process, 'arch', { value: 'x64' });
	try {
		assert.throws(() => probes.attachProcess(pid), {
			message: new RegExp(`^cannot put probes into process ${pid}: it filters its system calls`),
		});
	} finally {
		Object.defineProperty(process, 'arch', { value: arch });
		t.mock.restoreAll();
		syncBuiltinESMExports();
	}
	assert.deepEqual(taken(), []);
});

test('-O chooses a file by its name, a link beside it or its path; no other is probed', async (t) => {
	const pid = await child(t);
	const path = libraryOf(pid);
	const file = { path, inode: statSync(path).ino };
	const link = join(temporaryFolder(), 'other-name.so');
	symlinkSync(path, link);
	const isIt = (object: string) => isObject(object, pid, file);
	assert.deepEqual([path, basename(path), link].map(isIt), [true, true, true]);
	assert.deepEqual(['/bin/cat', 'cat', 'other-name.so', '/no/such'].map(isIt), [
		...[false, false, false, false],
	]);
	// What programs ask for is a link to what is mapped.
	const copy = join(dirname(link), 'copy.so.1.2');
	writeFileSync(copy, 'x');
	symlinkSync(copy, join(dirname(link), 'copy.so.1'));
	const mapped = { path: copy, inode: statSync(copy).ino };
	assert.deepEqual(
		['copy.so.1', 'copy.so.1.2', 'other-name.so'].map((object) => isObject(object, pid, mapped)),
		[true, true, false],
	);
	// A file is another one once something else was written to it.
	const before = identityOf(copy);
	assert.equal(identityOf(join(dirname(link), 'copy.so.1')), before);
	writeFileSync(copy, 'another');
	assert.notEqual(identityOf(copy), before);
	assert.notEqual(identityOf(path), identityOf(copy));
	const { taken } = kernel(t);
	assert.throws(() => heapProbes({ object: 'libother.so' }).attachProcess(pid), {
		message: new RegExp(
			`^-O libother\\.so: process ${pid} has no such file mapped; it has cat, .*libc\\.so`,
		),
	});
	assert.throws(() => heapProbes({ object: 'cat' }).attachProcess(pid), {
		message: /no malloc and free in cat; /,
	});
	assert.deepEqual(taken(), []);
});

test('a process without such an allocator: what was looked for, and where', async (t) => {
	const pid = await child(t);
	const { taken } = kernel(t);
	const others = heapProbes({ prefix: 'je_' });
	assert.throws(() => others.attachProcess(pid), {
		message: new RegExp(
			`^process ${pid} has no known allocator: no je_malloc and je_free in cat, .*libc`,
		),
	});
	assert.throws(() => others.attachProcess(4_194_305), { message: 'process 4194305 has ended' });
	assert.deepEqual(taken(), []);
	// The program itself has no allocator, though all that it has was looked at.
	probes.attachFiles(pid, ['/bin/cat']);
	assert.equal(probes.hasAllocator(pid), false);
	assert.deepEqual([goesOn(process.pid), goesOn(pid)], [true, false]);
});

test('why there is no allocator: a program of 32 bits, or one without names; else in which files', () => {
	const { pid } = process;
	const mapped = (count: number) =>
		Array.from({ length: count }, (_, i) => {
			return { path: `/lib/${i}.so`, inode: i + 1, start: 0, end: 4096, major: 0, minor: 0 };
		}) as never;
	const why = (count: number, file: Partial<HeapFile>) =>
		noAllocator(pid, mapped(count), { object: undefined, prefix: '' }, () => {
			return { functions: [], isAllocator: false, hasSymbols: false, ...file };
		}).message;
	assert.match(
		why(1, { problem: 'other ELF' }),
		/is a 32-bit program, and memleak probes only 64-bit/,
	);
	assert.match(why(1, {}), /is statically linked and stripped/);
	assert.match(why(1, { hasSymbols: true }), /no malloc and free in 0\.so; give its file with -O/);
	assert.match(why(2, {}), /no malloc and free in 0\.so, 1\.so; /);
	assert.match(why(9, {}), / in 0\.so, 1\.so, 2\.so, 3\.so, 4\.so, 5\.so and 3 more; /);
	assert.match(
		why(1, { problem: 'not opened' }),
		/^cannot open the files that process \d+ has mapped/,
	);
});

test('where programs know functions by their place in a page, none shares its place with another', async (t) => {
	const pid = await child(t);
	const { taken } = kernel(t);
	const known = new Map<number, bigint>();
	programs.signatures = {
		update: (key: Uint8Array, value: Uint8Array) => {
			const place = new DataView(key.buffer, key.byteOffset).getUint32(0, true);
			assert.ok(!known.has(place), `${place}`);
			known.set(place, new DataView(value.buffer, value.byteOffset).getBigUint64(0, true));
		},
	};
	probes.attachProcess(pid);
	programs.signatures = undefined;
	const points = taken()
		.slice(1)
		.flatMap((request) => request.points);
	assert.equal(known.size, points.length);
	for (const { offset, cookie } of points) {
		assert.equal(cookie, 0n);
		assert.notEqual(nameOf({ cookie: known.get(offset % 4096) ?? 0n }), '');
	}
	assert.ok(points.length > 10);
});
