/**
 * Stacks of threads that sleep, walked from outside by tables: frame by frame what gdb finds. gdb
 * holds the process stopped meanwhile, and both read the same memory.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Gdb } from '../../bench/exact/gdb.js';
import { FileBytes, MemoryBytes } from '../../src/elf/bytes.js';
import { type MapsEntry, parseMaps } from '../../src/proc/maps.js';
import { type RuleLookup, ruleLookup } from '../../src/unwind/lookup.js';
import { END } from '../../src/unwind/step.js';
import { type CodeMapping, type WalkedProcess, walkOutside } from '../../src/unwind/walk.js';

const DEPTH = 127;
const IS_ARM64 = process.arch === 'arm64';

type FileMapping = MapsEntry & CodeMapping;

/** A process as a walk sees it: its mappings and memory as they are now. */
class Process implements WalkedProcess<FileMapping> {
	readonly processor = { isArm64: IS_ARM64 };
	readonly #mappings: readonly FileMapping[];
	readonly #tables = new Map<string, RuleLookup>();
	readonly #memory: number;

	constructor(private readonly pid: number) {
		this.#mappings = parseMaps(readFileSync(`/proc/${pid}/maps`, 'utf8')).map((entry) => {
			return { ...entry, hasFile: entry.inode > 0 || entry.path === '[vdso]' };
		});
		this.#memory = openSync(`/proc/${pid}/mem`, 'r');
	}

	mappingAt(address: number) {
		return this.#mappings.find(({ start, end }) => address >= start && address < end);
	}

	tableOf(mapping: FileMapping): RuleLookup {
		const known = this.#tables.get(mapping.path);
		const table = known ?? this.#readTable(mapping);
		this.#tables.set(mapping.path, table);
		return table;
	}

	read(address: number, length_bytes: number): DataView | undefined {
		const bytes = Buffer.alloc(length_bytes);
		try {
			const got = readSync(this.#memory, bytes, 0, length_bytes, address);
			return got === length_bytes ? new DataView(bytes.buffer, bytes.byteOffset, got) : undefined;
		} catch {
			return undefined;
		}
	}

	codeAt(_mapping: FileMapping, address: number, length_bytes: number): DataView | undefined {
		return this.read(address, length_bytes);
	}

	close(): void {
		closeSync(this.#memory);
	}

	#readTable({ path, start, end }: MapsEntry): RuleLookup {
		if (path === '[vdso]') {
			const view = this.read(start, end - start);
			return ruleLookup(new MemoryBytes(Buffer.from(view?.buffer ?? new ArrayBuffer(0))));
		}
		const fd = openSync(`/proc/${this.pid}/root${path}`, 'r');
		try {
			return ruleLookup(new FileBytes(fd, fstatSync(fd).size));
		} finally {
			closeSync(fd);
		}
	}
}

/** Starts it, and waits for its first line. */
async function start(file: string, ...args: string[]): Promise<ChildProcess & { pid: number }> {
	const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
	await once(child, 'spawn');
	await once(createInterface({ input: child.stdout }), 'line');
	return Object.assign(child, { pid: child.pid as number });
}

/** Compares all threads; gives how many were whole. */
async function compare(pid: number): Promise<{ threads: number; whole: number; deep: number }> {
	const seen = { threads: 0, whole: 0, deep: 0 };
	const gdb = new Gdb();
	try {
		const threads = await gdb.hold(pid);
		const process = new Process(pid);
		for (const { registers, addresses } of threads) {
			const walked = walkOutside(registers, process, DEPTH);
			const hex = (numbers: readonly number[]) => numbers.map((number) => number.toString(16));
			assert.deepEqual(hex(walked.addresses), hex(addresses.slice(0, DEPTH)));
			seen.threads++;
			if (walked.end === END.whole) seen.whole++;
			if (walked.end === END.tooDeep) seen.deep++;
		}
		process.close();
		await gdb.release();
		return seen;
	} finally {
		await gdb.close();
	}
}

const BUILT = ['sleepers', 'sleepers-plain', 'sleepers-static', 'sleepers-gcc'];

for (const name of BUILT.filter((each) => existsSync(`build/workloads/${each}`))) {
	test(`${name}: frame by frame what gdb finds, up to each thread's first function`, async () => {
		const child = await start(`build/workloads/${name}`);
		const exited = once(child, 'exit');
		try {
			// One thread's stack is deeper than a walk goes.
			assert.deepEqual(await compare(child.pid), { threads: 9, whole: 8, deep: 1 });
		} finally {
			child.stdin?.end();
			await exited;
		}
	});
}

const PYTHON = `import threading, sys
threads = [threading.Thread(target=threading.Event().wait, daemon=True) for i in range(3)]
for thread in threads: thread.start()
print('ready', flush=True)
sorted([2, 1], key=lambda _: sys.stdin.read())`;
/** Programs as they are installed, which wait for their standard input. */
const INSTALLED: readonly [file: string, ...args: string[]][] = [
	['/bin/bash', '-c', 'f() { echo ready; read x; }; f'],
	['/usr/bin/python3', '-c', PYTHON],
	['/usr/bin/perl', '-e', '$| = 1; print "ready\n"; my @a = sort { <STDIN>; 0 } (1, 2);'],
];

for (const [file, ...args] of INSTALLED.filter(([path]) => existsSync(path))) {
	test(`${file}: frame by frame what gdb finds`, async () => {
		const child = await start(file, ...args);
		const exited = once(child, 'exit');
		try {
			const { threads, whole } = await compare(child.pid);
			assert.ok(threads > 0);
			assert.equal(whole, threads);
		} finally {
			child.stdin?.end();
			await exited;
		}
	});
}
