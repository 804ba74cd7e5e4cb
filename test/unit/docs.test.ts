/** What a reader of the Markdown pages relies on: lines that fit, links that lead somewhere. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const WIDTH = 100;
/** Written by programs; their commands and findings are one line each. */
const GENERATED = ['docs/benchmarks.md', 'docs/faults.md', 'docs/kernels.md'];
const pages = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' })
	.trim()
	.split('\n')
	.filter((path) => !path.startsWith('test/'));

/** Lines outside code blocks, tables and pictures, which cannot be wrapped. */
function prose(markdown: string): string[] {
	const withoutCode = markdown.replace(/^```.*?^```/gms, '');
	return withoutCode.split('\n').filter((line) => !/^(\||!\[| {4}(?! *[-*\d]))/.test(line));
}

test('prose wraps at 100 columns', () => {
	assert.ok(pages.length > 10);
	const written = pages.filter((path) => !GENERATED.includes(path));
	const long = written.flatMap((path) =>
		prose(readFileSync(path, 'utf8'))
			// One word that is longer, such as a link, has nowhere to break.
			.filter((line) => [...line].length > WIDTH && line.trim().includes(' '))
			.map((line) => `${path}: ${line}`),
	);
	assert.deepEqual(long, []);
});

test('links inside the repository lead to files that exist', () => {
	const broken = pages.flatMap((path) => {
		const targets = readFileSync(path, 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)/g);
		return [...targets]
			.map(([, target = '']) => target)
			.filter((target) => !/^\w+:/.test(target) && !existsSync(join(dirname(path), target)))
			.map((target) => `${path}: ${target}`);
	});
	assert.deepEqual(broken, []);
});

/** Paths in code spans that begin in one of our folders, those with a placeholder or a pattern left out. */
function pathsNamed(markdown: string): string[] {
	const spans = [...markdown.matchAll(/`([^`\s]+)`/g)].map(([, span = '']) => span);
	return spans.filter((span) => /^(src|bpf|test|bench|scripts|bin|docs)\/[\w./-]*$/.test(span));
}

/** The comments of a file in C or TypeScript. */
const commentsOf = (code: string) =>
	[...code.matchAll(/^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm)].map(([comment]) => comment).join('\n');

test('files that comments name exist', () => {
	const code = execFileSync('git', ['ls-files', 'src', 'bpf', 'test', 'bench'], {
		encoding: 'utf8',
	})
		.split('\n')
		.filter((path) => /\.([ch]|ts)$/.test(path));
	assert.ok(code.length > 500);
	// Go's runtime has folders of such names, and so has the kernel. The build writes what is generated.
	const others = /^(src\/(runtime|internal|generated)\/|scripts\/syscall\.tbl)/;
	const gone = code.flatMap((file) =>
		[
			...commentsOf(readFileSync(file, 'utf8')).matchAll(
				/(?<![\w/.])(?:src|bpf|test|bench|scripts)\/[\w./-]*\w(?![\w./*-]*[\w*])/g,
			),
		]
			.map(([path]) => path)
			.filter((path) => !others.test(path) && !existsSync(path) && !existsSync(`${path}.c`))
			.map((path) => `${file}: ${path}`),
	);
	assert.deepEqual(gone, []);
});

test('the page of the house names each folder, and each variable of the environment', () => {
	const page = readFileSync('docs/architecture.md', 'utf8');
	const rows = page.split('\n').filter((line) => line.startsWith('| `'));
	const names = new Set(rows.flatMap((row) => row.split(' | ')[0]?.match(/[\w./*-]+/g) ?? []));
	const foldersOf = (parent: string) =>
		readdirSync(parent, { withFileTypes: true }).flatMap((entry) =>
			entry.isDirectory() ? [entry.name] : [],
		);
	const isNamed = (parent: string) => (name: string) =>
		names.has(`${parent}/${name}/`) || names.has(`${name}/`);
	for (const parent of ['src', 'bpf/lib'])
		assert.deepEqual(
			foldersOf(parent).filter((name) => !isNamed(parent)(name)),
			[],
		);
	const grep = [
		'grep',
		'-hoE',
		'TSTRACE_[A-Z_]+',
		'--',
		'*.ts',
		'*.sh',
		'*.mjs',
		'Makefile',
		'bin',
	];
	const used = execFileSync('git', grep, { encoding: 'utf8' }).trim().split('\n');
	// A guard of a header is none; nor is a prefix that something follows.
	const variables = [...new Set(used)].filter((name) => !/_H$|_$/.test(name));
	assert.ok(variables.length >= 8);
	assert.deepEqual(
		variables.filter((name) => !names.has(name)),
		[],
	);
});

test('files and folders that pages name exist', () => {
	const named = '`src/a.ts` `src/tools/NAME/NAME.ts` `bpf/*.bpf.c` `a/b.ts`';
	assert.deepEqual(pathsNamed(named), ['src/a.ts', 'src/tools/NAME/NAME.ts']);
	const invented = /NAME|slices/;
	// What the build writes is not in the repository.
	const built = /^src\/generated/;
	const gone = pages.flatMap((page) =>
		page === 'CHANGELOG.md'
			? []
			: pathsNamed(readFileSync(page, 'utf8'))
					.filter((path) => !invented.test(path) && !built.test(path) && !existsSync(path))
					.map((path) => `${page}: ${path}`),
	);
	assert.deepEqual(gone, []);
});
