/** Results, and the page that is made of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mutation } from '../../mutants/mutation.js';
import { merged, page, type TableResult, versionOf } from '../../mutants/results.js';
import { folderResult } from '../../mutants/stryker-report.js';

const mutation = (id: string, to = 'b'): Mutation => ({
	id,
	file: 'bpf/lib/x.h',
	from: 'a',
	to,
	bug: `bug ${id}`,
	test: 'live/x',
});
const [ONE, TWO] = [mutation('1'), mutation('2')];
const NONE = { table: {}, folders: {} };

const verdict = (of: Mutation, caught: boolean, date = '2026-01-02'): TableResult => ({
	caught,
	by: '',
	date,
	version: versionOf(of),
});

test('results of a run replace those of the same mutations, and no others', () => {
	const before = { table: { 1: verdict(ONE, false), 2: verdict(TWO, false) }, folders: {} };
	const { table } = merged(before, [ONE, TWO], { 2: verdict(TWO, true) }, {});
	assert.deepEqual(table, { 1: verdict(ONE, false), 2: verdict(TWO, true) });
});

test('what is not in the table any more, or was changed, has no result', () => {
	const before = { table: { 1: verdict(ONE, true), 2: verdict(TWO, true) }, folders: {} };
	const { table } = merged(before, [mutation('1', 'c')], {}, {});
	assert.deepEqual(table, {});
});

test('the page: rates of what was run, by folder; survivors; days', () => {
	const other = { ...mutation('3'), file: 'src/a/b.ts', only: 'x | y' };
	const table = { 1: verdict(ONE, true), 2: verdict(TWO, false, '2026-02-03') };
	const text = page([ONE, TWO, other], { ...NONE, table });
	assert.match(text, /\| `bpf\/lib\/` \| 2 \| 2 \| 1 \| 50 % \| 2026-01-02 to 2026-02-03 \|/);
	assert.match(text, /\| `src\/a\/` \| 1 \| 0 \| 0 \| – \| {2}\|/);
	assert.match(text, /\| all \| 3 \| 2 \| 1 \| 50 % \|/);
	assert.match(text, /\| 2 \| `bpf\/lib\/x.h` \| bug 2 \| `live\/x` \|/);
	assert.doesNotMatch(text, /bug 1/);
});

test('of a report of StrykerJS: the sample, what tests do not execute, and survivors', () => {
	const at = (line: number, column: number, end: number) => ({
		start: { line, column },
		end: { line, column: end },
	});
	const mutants = [
		{ status: 'Killed', mutatorName: 'x', replacement: 'true', location: at(1, 1, 2) },
		{ status: 'Timeout', mutatorName: 'x', replacement: 'true', location: at(1, 1, 2) },
		{ status: 'NoCoverage', mutatorName: 'x', replacement: 'true', location: at(1, 1, 2) },
		{ status: 'CompileError', mutatorName: 'x', replacement: 'true', location: at(1, 1, 2) },
		{ status: 'Survived', mutatorName: 'x', replacement: 'a | c', location: at(2, 8, 13) },
	];
	const source = 'one;\nreturn a & b;\n';
	const result = folderResult({ files: { 'src/a/b.ts': { source, mutants } } }, '2026-01-02', 7);
	assert.deepEqual(result, {
		all: 5,
		run: 4,
		unreached: 1,
		caught: 2,
		survivors: [{ at: 'src/a/b.ts:2', change: 'a & b → a | c' }],
		date: '2026-01-02',
		seed: 7,
	});
	const text = page([], { table: {}, folders: { 'src/a': result } });
	assert.match(text, /\| `src\/a\/` \| 5 \| 4 \| 1 \| 2 \| 50 % \| 2026-01-02 \|/);
	assert.match(text, /\| `src\/a\/b.ts:2` \| `a & b → a \\\| c` \|/);
});
