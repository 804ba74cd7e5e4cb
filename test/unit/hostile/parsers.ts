/**
 * Every parser of strangers' bytes as a function of bytes. Each ends in a result that is looked at,
 * or in an error of the kinds that it says it has; anything else is thrown on.
 */
import assert from 'node:assert/strict';
import { chmodSync, closeSync, constants, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { type Bytes, MemoryBytes, SymbolError } from '../../../src/elf/bytes.js';
import { Elf } from '../../../src/elf/elf.js';
import { TstraceError } from '../../../src/errors.js';
import { readFolded } from '../../../src/input/folded.js';
import type { FormatReader } from '../../../src/input/format-reader.js';
import { readJson } from '../../../src/input/json-files.js';
import { readPerfScript } from '../../../src/input/perf-script.js';
import { readPprof } from '../../../src/input/pprof.js';
import { readProfiles } from '../../../src/input/read-files.js';
import { Btf } from '../../../src/loader/btf.js';
import { BtfError } from '../../../src/loader/btf-types.js';
import { PerfRecordError, parseRecord } from '../../../src/perf/parse.js';
import { parseMaps } from '../../../src/proc/maps.js';
import { findFunctions } from '../../../src/symbolize/symbols/functions.js';
import { kernelNames } from '../../../src/symbolize/symbols/kernel.js';
import { nameOffsets } from '../../../src/symbolize/symbols/object-file.js';
import { searchPerfMap } from '../../../src/symbolize/symbols/perf-map.js';
import { unpackXz } from '../../../src/symbolize/symbols/xz.js';
import { countFrames } from '../../../src/symbolize/walks/frame-pointers.js';
import { ALLOCATOR_FUNCTIONS } from '../../../src/tools/memleak/heap/allocators.js';
import { commandFiles } from '../../../src/tools/memleak/heap/command-files.js';
import { readHeapFile } from '../../../src/tools/memleak/heap/files.js';
import { placeProbe } from '../../../src/tools/memleak/machine-code/placement.js';
import { findReturns } from '../../../src/tools/memleak/machine-code/returns.js';
import { enclosingFunctions } from '../../../src/unwind/functions.js';
import { ruleLookup } from '../../../src/unwind/lookup.js';
import { pagesOf } from '../../../src/unwind/pages.js';
import { CFA, RuleSet } from '../../../src/unwind/rule.js';
import { unwindTable } from '../../../src/unwind/table.js';
import { chunksOf, READING } from '../profiles.js';

const MIB = 2 ** 20;
/** Where the corpus has code. */
const CODE_ADDRESS = 0x10000;
/** MAX_NAME_LENGTH, and what is put behind it. */
const MAX_NAME = 4200;

type Parser = (bytes: Buffer, scratch: string) => void | Promise<void>;

/** Files that are read more than a few times over are read for ever. */
class CountedBytes implements Bytes {
	readonly size_bytes: number;
	readonly #bytes: MemoryBytes;
	#left: number;

	constructor(buffer: Buffer) {
		this.#bytes = new MemoryBytes(buffer);
		this.size_bytes = buffer.length;
		this.#left = 256 * MIB + 16 * buffer.length;
	}

	read(offset: number, length_bytes: number): Buffer {
		const part = this.#bytes.read(offset, length_bytes);
		// Each read is a call of the kernel's, however short.
		this.#left -= length_bytes + 256;
		if (this.#left < 0) throw new Error('reads far more than the file has');
		return part;
	}
}

let inScratch: Buffer | undefined;

/** Has the file be these bytes; several parsers read the same, and the largest take long to write. */
function put(scratch: string, bytes: Buffer): void {
	if (inScratch === bytes) return;
	inScratch = undefined;
	// A file that was emptied goes to the disk when it is closed: it is only shortened.
	const fd = openSync(scratch, constants.O_WRONLY | constants.O_CREAT);
	try {
		writeFileSync(fd, bytes);
		ftruncateSync(fd, bytes.length);
	} finally {
		closeSync(fd);
	}
	inScratch = bytes;
}

function checkName(name: string): void {
	assert.ok(name.length <= MAX_NAME, 'a long name');
	assert.doesNotMatch(name, /[\0\n\r\u2028\u2029]/);
}

const ALLOCATORS = new Set(ALLOCATOR_FUNCTIONS.map(({ name }) => name));

const reading =
	(reader: FormatReader): Parser =>
	async (bytes) => {
		let notices = 0;
		for (const { frames, stacks } of await reader(chunksOf(bytes), READING, () => notices++)) {
			assert.ok(frames.size <= bytes.length && stacks.size <= bytes.length);
			for (const value of stacks.values()) assert.ok(value >= 0, 'a count below 0');
		}
		assert.ok(notices < 100, 'many notices');
	};

type Parsers = Readonly<Record<string, readonly [Parser, ...(new (...args: never[]) => Error)[]]>>;

const OF_PROGRAMS: Parsers = {
	symbols: [symbols, SymbolError],
	functions: [functions, SymbolError],
	'frame pointers': [frames, SymbolError],
	'tables of frames': [tables],
	'rules of addresses': [rulesOf],
	'functions of addresses': [functionsAround, SymbolError],
	'heap file': [heapFile],
	'files of a command': [command],
};

const PARSERS: Parsers = {
	...OF_PROGRAMS,
	xz: [xz, SymbolError],
	code: [code],
	'perf map': [perfMap, SymbolError],
	maps: [maps],
	kallsyms: [kallsyms],
	BTF: [btf, BtfError],
	'perf record': [record, PerfRecordError],
	folded: [reading(readFolded), TstraceError],
	'perf script': [reading(readPerfScript), TstraceError],
	pprof: [reading(readPprof), TstraceError],
	JSON: [reading(readJson), TstraceError],
	'any file of stacks': [anyFile, TstraceError],
};

export const PARSER_NAMES = Object.keys(PARSERS);
/** Those that read ELF files. */
export const PROGRAM_PARSERS = Object.keys(OF_PROGRAMS);
/** Of files without an index to their frames, of which rules are looked up in the whole table. */
export const TABLE_PARSERS = PROGRAM_PARSERS.filter((name) => name !== 'rules of addresses');

/** Throws what the parser must not end in. */
export async function parse(name: string, bytes: Buffer, scratch: string): Promise<void> {
	const [parser, ...allowed] = PARSERS[name] ?? assert.fail(name);
	try {
		await parser(bytes, scratch);
	} catch (error) {
		if (!allowed.some((kind) => error instanceof kind)) throw error;
		// One line, and not the file in it.
		assert.match((error as Error).message, /^.{1,1000}$/);
	}
}

async function symbols(bytes: Buffer): Promise<void> {
	const counted = new CountedBytes(bytes);
	const elf = new Elf(counted);
	for (const { name } of elf.sections) assert.ok(name.length <= 64);
	elf.debugLink();
	const offsets = Array.from({ length: 50 }, (_, i) => Math.floor((i * bytes.length) / 50));
	const { names } = await nameOffsets(counted, '/x/y', { roots: [] }, [...offsets, 64, 128, 144]);
	for (const name of names) checkName(name);
}

function functions(bytes: Buffer): void {
	const found = findFunctions(new Elf(new CountedBytes(bytes)), ALLOCATORS);
	assert.ok(found.length <= ALLOCATORS.size);
}

function frames(bytes: Buffer): void {
	const counted = countFrames(new Elf(new CountedBytes(bytes)));
	assert.ok(counted === undefined || counted.withFrame <= counted.sampled);
}

function tables(bytes: Buffer): void {
	const { rows, rules, problems } = unwindTable(new CountedBytes(bytes));
	const { addresses } = rows;
	assert.ok(
		addresses.length <= Math.min(2 ** 23 + 1, 4 * bytes.length),
		`${addresses.length} rows`,
	);
	assert.ok(addresses.every((address, i) => i === 0 || address > (addresses[i - 1] as number)));
	assert.ok(rows.rules.every((rule) => rule < rules.count));
	assert.ok(problems.length <= 8);
	for (const problem of problems) assert.match(problem, /^[ -~]{1,100}$/);
	const numbers = new RuleSet(16_384).addAll(rules);
	let pages = 0;
	for (const { rows: words } of pagesOf(rows, numbers)) pages += words.length > 0 ? 1 : 0;
	assert.ok(pages <= 2 ** 16);
}

/** More than the stacks of a process have: of code, and of wherever. */
const LOOKED_UP = 300;
const ENCLOSED = Float64Array.from({ length: 50_000 }, (_, i) => CODE_ADDRESS + i);

function rulesOf(bytes: Buffer): void {
	const lookup = ruleLookup(new CountedBytes(bytes));
	// Segments and sections have less in the file than in memory.
	assert.ok(lookup.bytesKept <= MIB + 8 * bytes.length, `${lookup.bytesKept} bytes are kept`);
	for (let i = 0; i < LOOKED_UP; i++) {
		for (const place of [i, Math.floor((i * bytes.length) / LOOKED_UP)]) {
			assert.ok(lookup.ruleAt(place).cfa <= CFA.goC);
		}
	}
}

function functionsAround(bytes: Buffer): void {
	for (const [address, { start }] of enclosingFunctions(new Elf(new CountedBytes(bytes)), ENCLOSED))
		assert.ok(start <= address);
}

function heapFile(bytes: Buffer, scratch: string): void {
	put(scratch, bytes);
	for (const { offset, placement, returns } of readHeapFile(scratch, '').functions) {
		assert.ok(placement.offset >= 0 && placement.stackBytes >= 0);
		assert.ok(Number.isSafeInteger(placement.offset), `${offset}`);
		assert.ok((returns?.length ?? 0) <= 50_000);
	}
}

function command(bytes: Buffer, scratch: string): void {
	put(scratch, bytes);
	// Only files that can be executed are looked at.
	chmodSync(scratch, 0o755);
	for (const path of commandFiles([scratch])) assert.ok(path.length < 10_000);
}

async function xz(bytes: Buffer): Promise<void> {
	assert.ok((await unpackXz(bytes, MIB)).length <= MIB);
}

function code(bytes: Buffer): void {
	const some = bytes.subarray(0, 4096);
	const { offset, stackBytes } = placeProbe(some, ['rdi', 'rsi'], { text: some, start: 0 });
	assert.ok(offset === 0 || (offset > 0 && offset < some.length));
	assert.ok(stackBytes >= 0);
	const returns = findReturns(some, 0, () => undefined) ?? [];
	for (const at of returns) assert.ok(at >= 0 && at < some.length);
}

function perfMap(bytes: Buffer): void {
	const wanted = Float64Array.of(0, 1, 0x1000, 0x1081, 0x2000, 2 ** 47, 2 ** 53);
	const { names } = searchPerfMap(new CountedBytes(bytes), wanted);
	assert.equal(names.length, wanted.length);
	for (const name of names) checkName(name ?? '');
}

function maps(bytes: Buffer): void {
	for (const { start, end, path } of parseMaps(bytes.toString())) {
		assert.ok(start < end);
		checkName(path);
	}
}

function kallsyms(bytes: Buffer): void {
	const wanted = Float64Array.of(-(2 ** 31), -(2 ** 31) + 0x234, -1, 0, 1);
	const pieces: Buffer[] = [];
	for (let at = 0; at < bytes.length; at += 2 ** 16) pieces.push(bytes.subarray(at, at + 2 ** 16));
	const { names } = kernelNames(wanted, pieces);
	for (const name of names) checkName(name ?? '');
}

function btf(bytes: Buffer): void {
	const all = new Btf(bytes);
	all.struct('task');
	all.hasField('task', 'nothing');
	all.hasTypedef('task');
	all.parameterCount('task');
	all.enumValues('task');
	all.section('task');
}

function record(bytes: Buffer): void {
	parseRecord(new DataView(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 65_535)));
}

async function anyFile(bytes: Buffer, scratch: string): Promise<void> {
	put(scratch, bytes);
	await readProfiles([scratch], READING, () => undefined);
}
