/** Tables of real files agree with what readelf prints of them, at every address. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { firstAtLeast } from '../../../src/ascending.js';
import { FileBytes } from '../../../src/elf/bytes.js';
import { parseMaps } from '../../../src/proc/maps.js';
import { CFA, RA, type UnwindRule } from '../../../src/unwind/rule.js';
import { ruleAt, type UnwindTable, unwindTable } from '../../../src/unwind/table.js';
import { compile, temporaryFolder } from '../symbolize/support.js';
import { type ReadelfRow, readelfFunctions, readelfSegments } from './readelf.js';

/** node, libc, ld.so, libstdc++ and so on: what this process has mapped. */
const MAPPED = parseMaps(readFileSync('/proc/self/maps', 'utf8'))
	.map(({ path }) => path)
	.filter((path) => path.startsWith('/') && existsSync(path));
/** Where they are installed. */
const INSTALLED = [
	'/usr/bin/redis-server',
	'/usr/bin/python3',
	'/usr/sbin/nginx',
	'/usr/lib/jvm/default-java/lib/server/libjvm.so',
	'/usr/bin/bash',
	'/lib/x86_64-linux-gnu/libcrypto.so.3',
	'/lib/x86_64-linux-gnu/libgcrypt.so.20',
].filter((path) => existsSync(path));

function tableOf(path: string): UnwindTable {
	const fd = openSync(path, 'r');
	try {
		return unwindTable(new FileBytes(fd, fstatSync(fd).size));
	} finally {
		closeSync(fd);
	}
}

const plus = (offset: number) => `${offset < 0 ? '' : '+'}${offset}`;

/** "sp+16 c-16 c-8", as readelf writes a row: CFA, frame pointer, return address. */
function ruleText({ cfa, cfaOffset, fp, fpOffset, ra, raOffset }: UnwindRule): string {
	const [kind = ''] = Object.entries(CFA).find(([, number]) => number === cfa) ?? [];
	if (['gap', 'unknown', 'end'].includes(kind)) return kind;
	if (kind === 'signal') return 'exp exp exp';
	const place = kind === 'sp' || kind === 'fp' ? `${kind}${plus(cfaOffset)}` : 'exp';
	const pointer = ['u', `c${plus(fpOffset)}`, '?', 'exp'][fp];
	return `${place} ${pointer} ${ra === RA.register ? 'u' : `c${plus(raOffset)}`}`;
}

/** The same of what readelf says; what a rule cannot say is unknown. */
function rowText({ cfa, fp, ra, sp }: ReadelfRow, isArm64: boolean): string {
	if (ra === 'u' && !isArm64) return 'end';
	const place = cfa.replace(/^(rsp|sp)\b/, 'sp').replace(/^(rbp|x29)\b/, 'fp');
	const isSaid = /^(sp|fp|exp)/.test(place) && /^(c.*|u|s||exp)$/.test(ra) && !/^[rv]/.test(sp);
	if (!isSaid) return 'unknown';
	const same = (text: string) => text.replace(/^s?$/, 'u');
	return `${place} ${same(fp).replace(/^[rv].*/, '?')} ${same(ra)}`;
}

/** Whether a rule is what readelf says; it does not show what an expression says. */
function isAs(rule: string, row: string): boolean {
	if (rule === row) return true;
	// Of arm64: readelf writes a register that has not changed as one that is undefined.
	if (rule === 'end') return row.endsWith(' u');
	return row.startsWith('exp') && (rule === 'unknown' || rule === row.replace(' exp ', ' ? '));
}

/** By address in the file: the rows that hold from there on; undefined for gaps. */
function expectedRows(path: string): Map<number, ReadelfRow | undefined> {
	const segments = readelfSegments(path);
	const expected = new Map<number, ReadelfRow | undefined>();
	const functions = readelfFunctions(path)
		.filter(({ start, end }) => end > start)
		.sort((a, b) => a.start - b.start);
	const starts = Float64Array.from(functions, ({ start }) => start);
	for (const [i, { start, end, rows }] of functions.entries()) {
		const segment = segments.find(
			({ address, size_bytes }) => start >= address && start < address + size_bytes,
		);
		if (!segment || functions[i - 1]?.start === start) continue;
		const next = starts[firstAtLeast(starts, start + 1)] ?? end;
		const until = Math.min(end, next);
		const toFile = segment.offset - segment.address;
		for (const row of rows) if (row.address < until) expected.set(row.address + toFile, row);
		if (!expected.has(until + toFile)) expected.set(until + toFile, undefined);
	}
	return expected;
}

/** Compares at each address where either changes. */
function compare(path: string, isArm64: boolean): void {
	const table = tableOf(path);
	const expected = expectedRows(path);
	assert.ok(expected.size > 5, `readelf reads ${path}`);
	assert.deepEqual(table.problems, [], path);
	const wrong: string[] = [];
	for (const [offset, row] of expected) {
		const [ours, theirs] = [ruleText(ruleAt(table, offset)), row ? rowText(row, isArm64) : 'gap'];
		if (!isAs(ours, theirs)) wrong.push(`${offset.toString(16)}: ${ours}, not ${theirs}`);
	}
	assert.deepEqual(wrong.slice(0, 5), [], `${path}: ${wrong.length} differ`);
	const more = table.rows.addresses.filter((address) => !expected.has(address));
	assert.deepEqual([...more.slice(0, 5)], [], `${path}: changes where readelf has none`);
}

for (const path of new Set([...MAPPED, ...INSTALLED].map((each) => realpathSync(each)))) {
	test(`as readelf: ${path}`, () => compare(path, process.arch === 'arm64'));
}

const SOURCE = `
	#define FUNCTION __attribute__((noinline, used, visibility("default")))
	void outside(void *);
	FUNCTION int leaf(int a) { return a * 3; }
	FUNCTION int calls(int a) { int b[4] = {a}; outside(b); return b[a & 3] + leaf(a); }
	FUNCTION int large(int a) { char b[70000]; outside(b); return b[a & 255] + calls(a); }
	FUNCTION int any(int a) { char *b = __builtin_alloca(a); outside(b); return b[1]; }
	FUNCTION int aligned(int a) {
		_Alignas(128) char b[256];
		char *c = __builtin_alloca(a);
		outside(b); outside(c);
		return b[a] + c[a];
	}
	FUNCTION double saves(double *a) { double b = a[0], c = a[1]; outside(a); return b * c + a[2]; }
	FUNCTION int early(int a) { if (a < 3) return 1; outside(&a); if (a > 9) return a; outside(&a); return 5; }
	__asm__(".globl first\\nfirst: .cfi_startproc\\n.cfi_undefined x30\\nmov x29, #0\\nbl leaf\\n.cfi_endproc");
`;
const CROSS = ['--target=aarch64-linux-gnu', '-nostdlib', '-shared', '-fPIC', '-fuse-ld=lld'];

for (const flags of [
	['-O2'],
	['-O2', '-fomit-frame-pointer'],
	['-O0', '-mbranch-protection=standard'],
	['-O2', '-mbranch-protection=pac-ret+leaf+b-key'],
	['-O2', '-g', '-fno-asynchronous-unwind-tables', '-fno-unwind-tables'],
	['-O2', '-g', '-fno-asynchronous-unwind-tables', '-fno-unwind-tables', '-gz=zlib'],
]) {
	test(`as readelf: arm64, ${flags.join(' ')}`, () => {
		const path = compile(join(temporaryFolder(), 'arm64.so'), SOURCE, ...CROSS, ...flags);
		compare(path, true);
		const kinds = [...tableOf(path).rows.rules].map((rule) => tableOf(path).rules.get(rule));
		assert.ok(kinds.some(({ ra }) => ra === RA.register));
		assert.ok(kinds.some(({ cfa }) => cfa === CFA.end));
	});
}
