/** Tables of real files agree with what readelf prints of them, at every address. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { test } from 'node:test';
import { FileBytes } from '../../../src/elf/bytes.js';
import { parseMaps } from '../../../src/symbolize/maps.js';
import { CFA, RA, type UnwindRule } from '../../../src/unwind/rule.js';
import { ruleAt, type UnwindTable, unwindTable } from '../../../src/unwind/table.js';
import { type ReadelfRow, readelfFunctions, readelfSegments } from './readelf.js';

/** node, libc, ld.so, libstdc++ and so on: what this process has mapped. */
const MAPPED = parseMaps(readFileSync('/proc/self/maps', 'utf8'))
	.map(({ path }) => path)
	.filter((path) => path.startsWith('/') && existsSync(path));
const IS_ARM64 = process.arch === 'arm64';
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
function rowText({ cfa, fp, ra, sp }: ReadelfRow): string {
	if (ra === 'u' && !IS_ARM64) return 'end';
	const place = cfa.replace(/^(rsp|sp)\b/, 'sp').replace(/^(rbp|x29)\b/, 'fp');
	const isSaid = /^(sp|fp|exp)/.test(place) && /^(c.*|u|s||exp)$/.test(ra) && !/^[rv]/.test(sp);
	if (!isSaid) return 'unknown';
	const same = (text: string) => text.replace(/^s?$/, 'u');
	return `${place} ${same(fp).replace(/^[rv].*/, '?')} ${same(ra)}`;
}

/** Whether a rule is what readelf says; it does not show what an expression says. */
function isAs(rule: string, row: string): boolean {
	if (rule === row) return true;
	if (IS_ARM64 && rule === 'end') return row.endsWith(' u');
	return row.startsWith('exp') && (rule === 'unknown' || rule === row.replace(' exp ', ' ? '));
}

/** By address in the file: the rows that hold from there on; undefined for gaps. */
function expectedRows(path: string): Map<number, ReadelfRow | undefined> {
	const segments = readelfSegments(path);
	const expected = new Map<number, ReadelfRow | undefined>();
	const functions = readelfFunctions(path)
		.filter(({ start, end }) => end > start)
		.sort((a, b) => a.start - b.start);
	for (const [i, { start, end, rows }] of functions.entries()) {
		const segment = segments.find(
			({ address, size_bytes }) => start >= address && start < address + size_bytes,
		);
		if (!segment || functions[i - 1]?.start === start) continue;
		const next = functions.find((other, j) => j > i && other.start > start)?.start ?? end;
		const until = Math.min(end, next);
		const toFile = segment.offset - segment.address;
		for (const row of rows) if (row.address < until) expected.set(row.address + toFile, row);
		if (!expected.has(until + toFile)) expected.set(until + toFile, undefined);
	}
	return expected;
}

/** Compares at each address where either changes. */
function compare(path: string): void {
	const table = tableOf(path);
	const expected = expectedRows(path);
	assert.ok(expected.size > 5, `readelf reads ${path}`);
	assert.deepEqual(table.problems, [], path);
	const wrong: string[] = [];
	for (const [offset, row] of expected) {
		const [ours, theirs] = [ruleText(ruleAt(table, offset)), row ? rowText(row) : 'gap'];
		if (!isAs(ours, theirs)) wrong.push(`${offset.toString(16)}: ${ours}, not ${theirs}`);
	}
	assert.deepEqual(wrong.slice(0, 5), [], `${path}: ${wrong.length} differ`);
	const more = table.rows.addresses.filter((address) => !expected.has(address));
	assert.deepEqual([...more.slice(0, 5)], [], `${path}: changes where readelf has none`);
}

for (const path of new Set([...MAPPED, ...INSTALLED].map((each) => realpathSync(each)))) {
	test(`as readelf: ${path}`, () => compare(path));
}
