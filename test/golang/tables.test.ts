/** What is read of Go's own tables is what Go's tools, and readelf, say of the same programs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { FileBytes } from '../../src/elf/bytes.js';
import { Elf } from '../../src/elf/elf.js';
import { goNames } from '../../src/symbolize/symbols/go-names.js';
import { ruleLookup } from '../../src/unwind/lookup.js';
import { CFA, RA, type UnwindRule } from '../../src/unwind/rule.js';
import { ruleAt, unwindTable } from '../../src/unwind/table.js';
import { readelfFunctions, readelfSegments } from '../unit/unwind/readelf.js';
import { ARM64, BUILDS, type Build, built } from './builds.js';

function withBytes<T>(path: string, work: (bytes: FileBytes) => T): T {
	const fd = openSync(path, 'r');
	try {
		return work(new FileBytes(fd, fstatSync(fd).size));
	} finally {
		closeSync(fd);
	}
}

/** Names as tables of symbols have them, without which of Go's two calling conventions a function has. */
const plain = (name: string) => name.replace(/\.abi(0|internal)$/, '').replace(/\[.*\]/, '[...]');

/** Go's functions and where they begin, as `go tool nm` says. */
function functionsOf(path: string): Map<number, Set<string>> {
	const text = execFileSync('go', ['tool', 'nm', '-n', path], { encoding: 'utf8', maxBuffer: 1e9 });
	const begins = new Map<number, Set<string>>();
	let isGo = false;
	for (const [, address = '', name = ''] of text.matchAll(/^ *([\da-f]+) [Tt] (.*)$/gm)) {
		if (name === 'runtime.etext') isGo = false;
		const at = Number.parseInt(address, 16);
		if (isGo) begins.set(at, (begins.get(at) ?? new Set()).add(plain(name)));
		if (name === 'runtime.text') isGo = true;
	}
	return begins;
}

/** What strippers leave names the same functions, in a program that is otherwise the same. */
for (const [symbols, stripped] of BUILDS.flatMap((build, i) =>
	build.isStripped ? [[BUILDS[i - 1] as Build, build] as const] : [],
)) {
	test(`${stripped.name}: the name of each function that ${symbols.name} has symbols of`, () => {
		const functions = functionsOf(built(symbols));
		assert.ok(functions.size > 1000);
		const wanted = [...functions.keys()].filter((at) => !isLabel(functions.get(at)));
		withBytes(built(stripped), (bytes) => {
			const names = goNames(new Elf(bytes), wanted);
			for (const at of wanted) {
				const name = names.get(at) ?? '';
				assert.ok(functions.get(at)?.has(plain(name)), `${at.toString(16)}: ${name}`);
			}
		});
	});
}

/** Linkers put them where no function begins. */
const isLabel = (names: ReadonlySet<string> = new Set()) =>
	[...names].every((name) => /^(runtime\.e?text|go:buildid|go\.buildid|_?init|_fini)$/.test(name));

/** What a rule says of where the return address and the caller's stack pointer are, as readelf writes it. */
function textOf({ cfa, cfaOffset, ra, raOffset }: UnwindRule): string {
	if (cfa !== CFA.sp) return Object.keys(CFA)[cfa] ?? '';
	return `sp+${cfaOffset} ${ra === RA.register ? 'u' : `c${raOffset}`}`;
}

/** DWARF says that a handler was called by nobody; it returns to what a signal interrupted. */
const HANDLER = 'runtime.sigtramp';
/** Functions whose tables of DWARF say what is not so, as they go to other stacks; or say no end. */
const OTHERWISE = new Set([CFA.end, CFA.unknown, CFA.elsewhere, CFA.goC, CFA.signal] as number[]);

for (const build of [...BUILDS.filter(({ isStripped }) => !isStripped), ARM64]) {
	test(`${build.name}: at each address the rule is that of .debug_frame`, () => {
		const path = built(build);
		const segments = readelfSegments(path);
		const functions = functionsOf(path);
		const [table, lookup] = withBytes(path, (bytes) => [unwindTable(bytes), ruleLookup(bytes)]);
		assert.deepEqual(table.problems, []);
		const wrong: string[] = [];
		const otherwise = new Set<string>();
		let compared = 0;
		for (const { start, end, rows } of readelfFunctions(path)) {
			const segment = segments.find(({ address, size_bytes }) => start - address < size_bytes);
			const [name = ''] = functions.get(start) ?? [];
			if (!segment || name === '' || name === HANDLER) continue;
			for (let at = start; at < end; at++) {
				const rule = ruleAt(table, at - segment.address + segment.offset);
				const single = lookup.ruleAt(at - segment.address + segment.offset);
				assert.deepEqual(single, rule, `${at.toString(16)} by itself`);
				const row = rows.findLast(({ address }) => address <= at);
				const expected = `${row?.cfa.replace('rsp', 'sp')} ${row?.ra.replace(/^s$/, 'u')}`;
				compared++;
				if (OTHERWISE.has(rule.cfa)) otherwise.add(name);
				else if (textOf(rule) !== expected)
					wrong.push(`${at.toString(16)} ${name}: ${textOf(rule)}, not ${expected}`);
			}
		}
		assert.ok(compared > 100_000, `${compared} addresses`);
		assert.deepEqual(wrong.slice(0, 10), [], `${wrong.length} of ${compared}`);
		for (const name of otherwise)
			assert.match(name, /^(gogo|time\.now|_rt0_\w+|debugCall\d+|runtime\.\w+)$/);
		assert.ok(otherwise.size < 40, [...otherwise].join(' '));
	});
}
