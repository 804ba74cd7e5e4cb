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
