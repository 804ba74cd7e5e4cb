/** How much of a file's code has rules: of files whose code is known. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { coveredShare } from '../../../src/unwind/covered.js';
import { compile, llvm, manyFunctions, temporaryFolder } from '../symbolize/support.js';

const folder = temporaryFolder();
const SOURCE = manyFunctions(40);
/** As much code again, of which the file says nothing. */
const MUTE = '__asm__(".text; .skip 4000, 0x90");';
const WITHOUT = ['-fno-asynchronous-unwind-tables', '-fno-unwind-tables'];

const shareOf = (path: string) => coveredShare(new MemoryBytes(readFileSync(path)));

test('of compiled code nearly all has rules, wherever it is linked to', () => {
	for (const flags of [[], ['-s'], ['-no-pie'], ['-static'], ['-shared', '-fPIC']]) {
		const share = shareOf(compile(join(folder, 'with'), SOURCE, ...flags));
		assert.ok(share > 0.9 && share <= 1, `${flags}: ${share}`);
	}
});

test('compiled without tables: only what the C library adds has rules', () => {
	for (const flags of [[], ['-Wl,--no-eh-frame-hdr']]) {
		const share = shareOf(compile(join(folder, 'without'), SOURCE, ...WITHOUT, ...flags));
		assert.ok(share < 0.1, `${flags}: ${share}`);
	}
});

test('code of both kinds: the share, by bytes', () => {
	const share = shareOf(compile(join(folder, 'both'), SOURCE + MUTE));
	assert.ok(share > 0.3 && share < 0.7, `${share}`);
});

test('a file with hardly any code says nothing of it, and need not', () => {
	const tiny = 'int answer(void) { return 42; }';
	assert.equal(shareOf(compile(join(folder, 'tiny'), tiny, ...WITHOUT, '-shared', '-fPIC')), 1);
});

test('.debug_frame counts, and a file whose sections were taken away', () => {
	const debug = compile(join(folder, 'debug'), SOURCE, ...WITHOUT, '-g');
	assert.ok(shareOf(debug) > 0.9, `${shareOf(debug)}`);
	const file = compile(join(folder, 'bare'), SOURCE, '-Wl,-z,separate-code');
	llvm('llvm-strip', '--strip-sections', file);
	assert.ok(shareOf(file) > 0.5, `${shareOf(file)}`);
	// Of segments that are not loaded, none says where in the file an address is: the first is of program headers.
	const bytes = readFileSync(file);
	assert.equal(bytes.readUInt32LE(64), 6);
	for (const [at, value] of [
		[16, 0],
		[32, bytes.length],
		[40, bytes.length],
	] as const)
		bytes.writeBigUInt64LE(BigInt(value), 64 + at);
	assert.equal(coveredShare(new MemoryBytes(bytes)), shareOf(file));
});

test('what is no ELF file, or is cut off anywhere, has no more rules than all of it', () => {
	assert.equal(coveredShare(new MemoryBytes(Buffer.alloc(0))), 0);
	assert.equal(coveredShare(new MemoryBytes(Buffer.from('#!/bin/sh\n'))), 0);
	const whole = readFileSync(compile(join(folder, 'cut'), SOURCE));
	for (let length = 0; length < whole.length; length += 997) {
		const share = coveredShare(new MemoryBytes(whole.subarray(0, length)));
		assert.ok(share >= 0 && share <= 1, `${length}: ${share}`);
	}
});
