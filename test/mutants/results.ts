/** What became of mutants, as test/mutants/results.json keeps it, and docs/mutants.md: pure. */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Mutation } from './mutation.js';

/** Of one mutation of the table. */
export interface TableResult {
	readonly caught: boolean;
	/** By what, in the words of judge(). */
	readonly by: string;
	/** The day. */
	readonly date: string;
	/** What was tried; see `versionOf`. */
	readonly version: string;
}

/** Of a folder of src/, by StrykerJS. */
export interface FolderResult {
	/** Mutants that StrykerJS makes there. */
	readonly all: number;
	/** A sample of these. */
	readonly run: number;
	/** Of the sample, those in code that no unit test of the folder executes. */
	readonly unreached: number;
	readonly caught: number;
	/** Of the sample, those that tests executed and did not notice: where, and what was changed. */
	readonly survivors: readonly { readonly at: string; readonly change: string }[];
	readonly date: string;
	readonly seed: number;
}

export interface Results {
	readonly table: Readonly<Record<string, TableResult>>;
	readonly folders: Readonly<Record<string, FolderResult>>;
}

/** Tells a mutation from what it was before: a result is that of one version only. */
export function versionOf({ file, from, to, test, only = '' }: Mutation): string {
	const text = [file, from, to, test, only].join('\0');
	return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** Adds results to those of earlier runs; what is not in the table any more goes. */
export function merged(
	before: Results,
	mutations: readonly Mutation[],
	table: Results['table'],
	folders: Results['folders'],
): Results {
	const known = { ...before.table, ...table };
	const kept = mutations.flatMap((mutation) => {
		const result = known[mutation.id];
		return result?.version === versionOf(mutation) ? [[mutation.id, result] as const] : [];
	});
	return { table: Object.fromEntries(kept), folders: { ...before.folders, ...folders } };
}

const percent = (part: number, whole: number): string =>
	whole === 0 ? '–' : `${Math.floor((100 * part) / whole)} %`;

/** As in a cell of a table: one line, as code. */
function code(text: string): string {
	const line = text.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|');
	return line.includes('`') ? `\`\` ${line} \`\`` : `\`${line}\``;
}

interface Tried {
	readonly mutation: Mutation;
	readonly result: TableResult | undefined;
}

function tableRate(folder: string, tried: readonly Tried[]): string {
	const run = tried.filter(({ result }) => result);
	const caught = run.filter(({ result }) => result?.caught).length;
	const dates = run.map(({ result }) => result?.date ?? '').sort();
	const days = [...new Set([dates[0], dates.at(-1)])].filter(Boolean).join(' to ');
	const cells = [folder, tried.length, run.length, caught, percent(caught, run.length), days];
	return `| ${cells.join(' | ')} |`;
}

const testOf = ({ test, only }: Mutation) => `\`${test}\`${only ? `: “${only}”` : ''}`;

function tableSection(mutations: readonly Mutation[], results: Results['table']): string[] {
	const tried = mutations.map((mutation) => ({ mutation, result: results[mutation.id] }));
	const folders = [...new Set(mutations.map(({ file }) => dirname(file)))].sort();
	const rates = folders.map((folder) =>
		tableRate(
			`\`${folder}/\``,
			tried.filter(({ mutation }) => dirname(mutation.file) === folder),
		),
	);
	const survivors = tried
		.filter(({ result }) => result && !result.caught)
		.map(
			({ mutation }) =>
				`| ${mutation.id} | \`${mutation.file}\` | ${mutation.bug} | ${testOf(mutation)} |`,
		);
	return [
		'| folder | mutants | run | caught | rate | day |',
		'| --- | --- | --- | --- | --- | --- |',
		...rates,
		tableRate('all', tried),
		'',
		...listed('No test noticed these:', survivors, [
			'| id | file | the bug | the test that was run |',
			'| --- | --- | --- | --- |',
		]),
	];
}

function folderSection(results: Results['folders']): string[] {
	const folders = Object.entries(results).sort(([a], [b]) => (a < b ? -1 : 1));
	const rates = folders.map(([folder, { all, run, unreached, caught, date }]) => {
		const cells = [`\`${folder}/\``, all, run, unreached, caught, percent(caught, run), date];
		return `| ${cells.join(' | ')} |`;
	});
	const survivors = folders.flatMap(([, each]) =>
		each.survivors.map(({ at, change }) => `| \`${at}\` | ${code(change)} |`),
	);
	return [
		'| folder | mutants | sample | not executed | caught | rate | day |',
		'| --- | --- | --- | --- | --- | --- | --- |',
		...rates,
		'',
		...listed('Tests executed these, and noticed nothing:', survivors, [
			'| place | change |',
			'| --- | --- |',
		]),
	];
}

/** A table with its head, or nothing where it has no rows. */
function listed(title: string, rows: readonly string[], head: readonly string[]): string[] {
	return rows.length === 0 ? [] : [title, '', ...head, ...rows, ''];
}

/** docs/mutants.md */
export function page(mutations: readonly Mutation[], results: Results): string {
	return [
		HEAD,
		'',
		...tableSection(mutations, results.table),
		FOLDERS_HEAD,
		'',
		...folderSection(results.folders),
	]
		.join('\n')
		.replace(/\n*$/, '\n');
}

const HEAD = `# Mutants

A mutant is tstrace with one plausible bug in it. A test that passes on the mutant would not notice
that bug. \`make mutants\` makes mutants one at a time, in a copy of the working tree, runs tests on
each, and writes this page from the results (\`test/mutants/results.json\`). It takes hours, so it
runs by hand. A mutant is caught if a test fails. It is also caught if a test hangs, if the test
runner crashes, or if the test leaves a process, a mount or a BPF program behind; \`make mutants\`
then removes that, and goes on.

    make mutants                          # everything
    make mutants FILE=bpf/lib/filter.h    # one file, or a folder
    make mutants TOOL=offcputime          # the code and the tests of one tool
    make mutants ID='B15 G1'              # some mutations of the table

## The table of mutations

\`test/mutants/table/\` lists bugs by hand: the file, the text there, the text with the bug, and the
test that is to catch it. They are in BPF programs, and in what only live tests see. Each test runs
once without the bug first, and must pass. If the text of an entry is not in its file exactly once,
or if the mutant does not compile, the run fails: change the entry. A unit test checks the texts,
too.`;

const FOLDERS_HEAD = `## The folders of \`src/\`

StrykerJS makes all the small changes it knows to the files of a folder: other operators, constants,
conditions, empty blocks. \`make mutants\` runs a sample of 60 of them, drawn by a seed. The unit
tests of the same folder in \`test/unit/\` are to notice. A mutant in code that none of them executes
counts as not caught. With \`FILE=\` and one file, all its mutants are run and printed, and this page
stays as it is. Not every survivor is a gap: some changes make no difference.`;
