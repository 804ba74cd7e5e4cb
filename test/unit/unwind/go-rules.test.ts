/** Rules of Go's functions: those that Go's tables say, and those of functions that go to another stack. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { firstAtLeast } from '../../../src/ascending.js';
import { MemoryBytes } from '../../../src/elf/bytes.js';
import { Elf } from '../../../src/elf/elf.js';
import { findGoTable } from '../../../src/elf/go-place.js';
import { GO_FLAG, GoTable } from '../../../src/elf/go-table.js';
import { ruleLookup } from '../../../src/unwind/lookup.js';
import { CFA, FP, RA, type UnwindRule } from '../../../src/unwind/rule.js';
import { ruleAt, unwindTable } from '../../../src/unwind/table.js';
import { codeAt, type GoSpec, goProgram, type WrittenGoFunction } from '../elf/go-writer.js';
import { ESBUILD } from '../esbuild.js';

const KINDS = Object.keys(CFA);
const { top, switchesStack, assembly } = GO_FLAG;

/** "sp+40 fp-16": short, with where the caller's frame pointer is; "link": so is the return address. */
function textOf({ cfa, cfaOffset, fp, fpOffset, ra, raOffset }: UnwindRule): string {
	if (cfa !== CFA.sp && cfa < CFA.elsewhere) return KINDS[cfa] ?? '';
	const pointer = fp === FP.atCfa ? ` fp${fpOffset}` : '';
	const link = ra === RA.register ? ' link' : raOffset === -8 ? '' : ` ra${raOffset}`;
	return `${KINDS[cfa]}+${cfaOffset}${pointer}${link}`;
}

/** "0 sp+8, 5 gap": where rules begin, from one byte in front of the first function on. */
function rulesOf(spec: GoSpec): string {
	const program = goProgram(spec);
	const table = unwindTable(new MemoryBytes(program));
	assert.deepEqual(table.problems, []);
	const { addresses } = table.rows;
	assert.deepEqual(
		addresses,
		addresses.toSorted((a, b) => a - b),
	);
	const lookup = ruleLookup(new MemoryBytes(program));
	const begin = codeAt(program);
	const size = spec.functions.reduce((sum, fn) => sum + fn.size, 0);
	const rules: string[] = [];
	let before = 'gap';
	for (let at = -1; at <= size; at++) {
		const rule = ruleAt(table, begin + at);
		assert.deepEqual(lookup.ruleAt(begin + at), rule, `${at} by itself`);
		const text = textOf(rule);
		if (text !== before) rules.push(`${at} ${text}`);
		before = text;
	}
	return rules.join(', ');
}

const one = (fn: Partial<WrittenGoFunction>, more: Partial<GoSpec> = {}) =>
	rulesOf({ functions: [{ name: 'main.f', size: 64, ...fn }], ...more });

const hex = (text: string) => Buffer.from(text.replace(/ /g, ''), 'hex');
const BEFORE: WrittenGoFunction = { name: 'main.before', size: 16, depths: [[0, 16]] };

test('compiled functions: how deep the stack is, and the frame pointer once it is saved', () => {
	const depths = [
		[0, 4],
		[24, 40],
		[0, 1],
		[24, 10],
	] as const;
	const expected = '0 sp+8, 4 sp+32, 5 sp+32 fp-16, 44 sp+8, 45 sp+32 fp-16, 55 gap';
	for (const version of [16, 18, 20] as const) assert.equal(one({ depths }, { version }), expected);
	assert.equal(one({}), '');
	// What stacks never are.
	assert.equal(one({ depths: [[12, 64]] }), '0 unknown, 64 gap');
	assert.equal(one({ depths: [[-8, 64]] }), '0 unknown, 64 gap');
});

test('arm64: the return address in the link register, then at the stack pointer', () => {
	const depths = [
		[0, 8],
		[48, 40],
		[0, 16],
	] as const;
	const rules = one({ depths }, { machine: 183 });
	assert.equal(rules, '0 sp+0 link, 8 sp+48 ra-48, 9 sp+48 fp-56 ra-48, 48 sp+0 link, 64 gap');
	// Further than a rule can say.
	for (const depth of [70_000, 40_000, 0x7008])
		assert.equal(one({ depths: [[depth, 64]] }, { machine: 183 }), '0 unknown, 64 gap');
	const deepest = one({ depths: [[0x7000, 64]] }, { machine: 183 });
	assert.match(deepest, /^0 sp\+28672 ra-28672, 1 sp\+28672 fp-28680 ra-28672, /);
});

test('assembly may not save the frame pointer', () => {
	const depths = [
		[0, 4],
		[16, 60],
	] as const;
	// sub $16, %rsp; mov %rbp, 8(%rsp). And: sub $16, %rsp; mov %rax, 8(%rsp).
	const saves = hex('4883ec10 48896c2408');
	const keeps = hex('4883ec10 4889442408');
	const saved = '0 sp+8, 4 sp+24, 5 sp+24 fp-16, 64 gap';
	assert.equal(one({ depths, code: saves, flags: assembly }), saved);
	assert.equal(one({ depths, code: keeps, flags: assembly }), '0 sp+8, 4 sp+24, 64 gap');
});

test('assembly of arm64: each way to make a frame; of others nobody knows where the return address is', () => {
	const rule = (code: string, at: number) =>
		one(
			{
				size: 32,
				depths: [
					[0, at],
					[32, 32 - at],
				],
				code: hex(code),
				flags: assembly,
			},
			{ machine: 183 },
		);
	const saved = (at: number) =>
		`0 sp+0 link, ${at} sp+32 ra-32, ${at + 1} sp+32 fp-40 ra-32, 32 gap`;
	// str x30, [sp, #-80]!; stur x29, [sp, #-8]
	assert.equal(rule('fe0f1bf8 fd831ff8', 4), saved(4));
	// sub x20, sp, #448; stp x29, x30, [x20, #-8]; mov sp, x20
	assert.equal(rule('f40307d1 9dfa3fa9 9f020091', 12), saved(12));
	// str x30, [sp, x27]; sub sp, sp, #496; stur x29, [sp, #-8]
	assert.equal(rule('fe6b3bf8 ffc307d1 fd831ff8', 8), saved(8));
	assert.equal(rule('1f2003d5 ffc307d1 fd831ff8', 8), '0 sp+0 link, 8 unknown, 32 gap');
});

test('first functions, and what handlers of signals return to', () => {
	const depths = [[0, 64]] as const;
	const end = '0 end, 64 gap';
	assert.equal(one({ name: 'runtime.mstart', depths, flags: top | assembly }), end);
	assert.equal(one({ name: 'some.other', depths, flags: top | assembly }), end);
	// Go 1.16 has no flags.
	for (const name of ['runtime.goexit', 'runtime.rt0_go', '_rt0_amd64_linux', '_rt0_amd64'])
		assert.equal(one({ name, depths }, { version: 16 }), end, name);
	for (const name of ['runtime.sigtramp', 'runtime.cgoSigtramp'])
		assert.equal(one({ name, depths, flags: top }), '0 sp+8, 64 gap', name);
	for (const name of ['runtime.sigreturn', 'runtime.sigreturn__sigaction']) {
		const functions = [BEFORE, { name, size: 16, flags: assembly }];
		assert.equal(rulesOf({ functions }), '0 sp+8, 15 signal, 32 gap', name);
	}
});

const SWITCHES = switchesStack | assembly;
/** mov 0x38(%r14), %rsp; call *%r12 */
const TO_OTHER = '498b6638 41ffd4';

test('who leaves for another stack for good: nobody called what is called there', () => {
	const leaves = (name: string, flags: number, version: 16 | 20 = 20) =>
		one({ name, size: 16, depths: [[0, 16]], flags, code: hex(`4889c2 ${TO_OTHER}`) }, { version });
	const names = ['mcall', 'morestack', 'clone', 'switchToCrashStack0'];
	for (const name of names.map((each) => `runtime.${each}`))
		assert.equal(leaves(name, SWITCHES), '0 sp+8, 7 end, 16 gap');
	assert.equal(leaves('runtime.mcall', 0, 16), '0 sp+8, 7 end, 16 gap');
	// Of others nobody knows.
	assert.equal(leaves('gogo', SWITCHES), '0 sp+8, 7 unknown, 16 gap');
	const pushes = [
		[0, 1],
		[8, 15],
	] as const;
	const code = hex(`55 4889e5 ${TO_OTHER}`);
	const encrypts = one({ name: 'crypto/f.g', size: 16, depths: pushes, flags: SWITCHES, code });
	assert.equal(encrypts, '0 sp+8, 1 sp+16, 2 sp+16 fp-16, 8 unknown, 16 gap');
	const machine = 183;
	// mov sp, x3; blr x3
	const arm64 = hex('e00300aa 7f000091 60003fd6');
	const mcall = { name: 'runtime.mcall', size: 16, depths: [[0, 16]], flags: SWITCHES } as const;
	assert.equal(one({ ...mcall, code: arm64 }, { machine }), '0 sp+0 link, 8 end, 16 gap');
	// cmp x3, x2 in front of it: as a result its register 31 is none.
	const compares = hex('7f0002eb 7f000091 60003fd6');
	assert.equal(one({ ...mcall, code: compares }, { machine }), '0 sp+0 link, 8 end, 16 gap');
});

test('systemstack: up to Go 1.20 the end, between its two changes; later the frame pointer leads back', () => {
	const name = 'runtime.systemstack';
	// …; mov 0x38(%rax), %rsp; ret; jmp *%rdi
	const back = '488b6038 c3 ffe7';
	const old = hex(`4889c2 ${TO_OTHER} ${back}`);
	const before = one({ name, size: 24, depths: [[0, 20]], flags: SWITCHES, code: old });
	assert.equal(before, '0 sp+8, 7 end, 14 sp+8, 20 gap');
	// push %rbp; mov %rsp, %rbp; …; pop %rbp; ret
	const later = hex(`55 4889e5 ${TO_OTHER} 488b6038 5d c3`);
	const depths = [
		[0, 1],
		[8, 15],
		[0, 1],
	] as const;
	const after = one({ name, size: 24, depths, flags: SWITCHES, code: later });
	assert.equal(after, '0 sp+8, 1 sp+16, 2 sp+16 fp-16, 8 elsewhere+16 fp-16, 16 sp+8, 17 gap');
});

test('nanotime1: by the frame pointer, until its caller has that again', () => {
	// sub $24, %rsp; mov %rbp, 16(%rsp); lea 16(%rsp), %rbp; and $-16, %rsp; call *%rax; mov %r12, %rsp;
	// mov 16(%rsp), %rbp; add $24, %rsp; ret
	const code = hex('4883ec18 48896c2410 488d6c2410 4883e4f0 ffd0 4c89e4 488b6c2410 4883c418 c3');
	const depths = [
		[0, 4],
		[24, 28],
		[0, 1],
	] as const;
	const rules = one({ name: 'runtime.nanotime1', size: 48, depths, flags: SWITCHES, code });
	const expected =
		'0 sp+8, 4 sp+32, 5 sp+32 fp-16, 18 elsewhere+16 fp-16, 28 sp+32 fp-16, 32 sp+8, 33 gap';
	assert.equal(rules, expected);
	// Go 1.16 has no flags.
	for (const name of ['runtime.nanotime1', 'runtime.walltime1', 'time.now'])
		assert.equal(one({ name, size: 48, depths, code }, { version: 16 }), expected, name);
});

test('asmcgocall, up to Go 1.20: where it has kept its stack pointer, while it calls', () => {
	const code = hex(
		'488b6638 48897c2430 488b7f08 4829d7 48897c2428 4889df 4889d9 ffd0 4889f4 c3 4889df 4889d9 ffd0 c3',
	);
	const fn = { name: 'runtime.asmcgocall', size: 48, depths: [[0, 48]], flags: SWITCHES } as const;
	const calls = '0 sp+8, 4 unknown, 27 goC+40, 29 unknown, 39 goC+40, 41 unknown, 48 gap';
	assert.equal(one({ ...fn, code }), calls);
	code[8] = 0x38;
	assert.equal(one({ ...fn, code }), '0 sp+8, 4 unknown, 48 gap');
});

test("esbuild: few functions of a recent Go go to other stacks; all others have Go's own rules", {
	skip: ESBUILD.missing,
}, () => {
	const bytes = new MemoryBytes(readFileSync(ESBUILD.path));
	const elf = new Elf(bytes);
	const place = findGoTable(elf);
	assert.ok(place);
	const go = new GoTable(elf, place, true);
	const [table, lookup] = [unwindTable(bytes), ruleLookup(bytes)];
	assert.deepEqual(table.problems, []);
	const text = elf.section('.text');
	assert.ok(text);
	const starts = Float64Array.from(table.rows.addresses);
	const kinds = new Map<string, string>();
	for (let i = 0; i < go.count; i++) {
		const fn = go.functionAt(i);
		const found: number[] = [];
		const toFile: number = text.offset - text.address;
		const first = firstAtLeast(starts, fn.start + toFile);
		const behind = firstAtLeast(starts, fn.end + toFile);
		// Rules change at these places, and nowhere between.
		for (const start of [fn.start + toFile, ...starts.subarray(first, behind)]) {
			const { cfa } = ruleAt(table, start);
			if (cfa === CFA.unknown || cfa >= CFA.end) found.push(cfa);
			for (const offset of [start, start - go.quantum, start + go.quantum])
				assert.deepEqual(lookup.ruleAt(offset), ruleAt(table, offset));
		}
		if (found.length > 0) kinds.set(go.nameOf(fn), KINDS[found[0] as number] ?? '');
	}
	assert.equal(kinds.get('runtime.goexit'), 'end');
	assert.equal(kinds.get('runtime.mcall'), 'end');
	if (process.arch === 'x64') assert.equal(kinds.get('runtime.systemstack'), 'elsewhere');
	assert.ok(kinds.size < 40, [...kinds].join(' '));
});
