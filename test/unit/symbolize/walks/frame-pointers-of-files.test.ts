import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileBytes } from '../../../../src/elf/bytes.js';
import { Elf, MACHINE } from '../../../../src/elf/elf.js';
import { countFrames, keepsFrame } from '../../../../src/symbolize/walks/frame-pointers.js';
import { compile, manyFunctions, temporaryFolder } from '../support.js';

const code = (hex: string) => Buffer.from(hex.replaceAll(' ', '').padEnd(96, '9'), 'hex');

test('x86-64: a push of %rbp and a move of %rsp, wherever they are in the prologue', () => {
	const keeps = (hex: string) => keepsFrame(code(hex), MACHINE.x64);
	assert.ok(keeps('55 4889e5'));
	assert.ok(keeps('f30f1efa 55 4889e5'), 'behind endbr64');
	assert.ok(keeps('55 31c0 488bec'), 'another encoding, something between');
	assert.ok(!keeps('55 53 4883ec08'), '%rbp saved as other registers are');
	assert.ok(!keeps('4889e5 55'), 'the other way round');
	assert.ok(!keeps('4883ec08'));
});

test('arm64: x29 is set from sp', () => {
	const keeps = (hex: string) => keepsFrame(code(hex), MACHINE.arm64);
	assert.ok(keeps('fd7bbea9 fd030091'), 'mov x29, sp');
	assert.ok(keeps('ff8300d1 fd7b01a9 fd430091'), 'add x29, sp, #16');
	assert.ok(!keeps('ff8300d1 f30f00f9'));
	assert.ok(!keeps('fd7bbea9 fc030091'), 'mov x28, sp');
});

const FUNCTIONS = 40;
const SOURCE = manyFunctions(FUNCTIONS);
const folder = temporaryFolder();

const FEW = `
#include <stdlib.h>
__attribute__((noinline)) void *keep(int n) { char *p = malloc(n); p[0] = 1; return p; }
int main(int n, char **v) { (void)v; return keep(n) == keep(n + 1); }
`;

function count(name: string, ...flags: string[]) {
	return countOf(SOURCE, name, ...flags);
}

function countOf(source: string, name: string, ...flags: string[]) {
	const path = compile(join(folder, name), source, ...flags);
	const fd = openSync(path, 'r');
	try {
		return countFrames(new Elf(new FileBytes(fd, fstatSync(fd).size)));
	} finally {
		closeSync(fd);
	}
}

test('compiled with frame pointers, without, and stripped', () => {
	for (const strip of [[], ['-s']]) {
		const kept = count('with', '-fno-omit-frame-pointer', ...strip);
		assert.ok(kept && kept.sampled >= FUNCTIONS, JSON.stringify(kept));
		// The C library's start-up code has none.
		assert.ok(kept.withFrame >= FUNCTIONS, JSON.stringify(kept));
		const omitted = count('without', '-fomit-frame-pointer', ...strip);
		assert.ok(omitted && omitted.sampled >= FUNCTIONS, JSON.stringify(omitted));
		assert.ok(omitted.withFrame <= 2, JSON.stringify(omitted));
	}
});

test('a program of two small functions: those, not where it begins', () => {
	const kept = countOf(FEW, 'few-with', '-fno-omit-frame-pointer');
	assert.ok(kept && kept.withFrame >= 2 && kept.withFrame === kept.sampled, JSON.stringify(kept));
	const omitted = countOf(FEW, 'few-without', '-fomit-frame-pointer');
	assert.ok(omitted && omitted.sampled >= 2, JSON.stringify(omitted));
	assert.equal(omitted.withFrame, 0);
});

test('a file that does not say where its functions begin', () => {
	const flags = ['-fno-asynchronous-unwind-tables', '-Wl,--no-eh-frame-hdr'];
	assert.equal(count('mute', ...flags), undefined);
});
