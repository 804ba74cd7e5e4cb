/** What a reader of the Markdown pages relies on: lines that fit, links that lead somewhere. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
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
