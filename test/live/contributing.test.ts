/** CONTRIBUTING.md says that a tool is two files: they are taken from it, built, and run. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { reportsOf } from './reports.js';
import { runToEnd } from './support.js';

const NEEDED = [
	'bin',
	'bpf',
	'licenses',
	'scripts',
	'src',
	'package.json',
	'tsconfig.json',
	'biome.json',
];

const BUILT = ['dist/bpf', 'build/uapi'];

/** The code block that follows the line that names a file. */
function fileIn(markdown: string, path: string): string {
	const from = markdown.indexOf(`\`${path}\`:\n`);
	const block = /```\w+\n(.*?)```/s.exec(markdown.slice(from));
	assert.ok(from >= 0 && block?.[1], `${path} is not in CONTRIBUTING.md`);
	return block[1];
}

test('the example tool of CONTRIBUTING.md works as written, with nothing else changed', () => {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-toy-'));
	try {
		for (const name of NEEDED) cpSync(name, join(folder, name), { recursive: true });
		symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
		const markdown = readFileSync('CONTRIBUTING.md', 'utf8');
		for (const path of ['bpf/slices.bpf.c', 'src/tools/slices.ts']) {
			writeFileSync(join(folder, path), fileIn(markdown, path));
		}
		// Newer than all sources: of BPF programs only the tool's own is compiled, which saves a minute.
		for (const name of BUILT) cpSync(name, join(folder, name), { recursive: true });
		const inFolder = (command: string) => runToEnd('sh', ['-c', `cd ${folder} && ${command}`]);
		const built = inFolder('node scripts/build.mjs');
		assert.equal(built.status, 0, built.stderr);
		const checked = inFolder('node_modules/.bin/tsc && node_modules/.bin/biome check .');
		assert.equal(checked.status, 0, checked.stdout + checked.stderr);
		const ran = inFolder('bin/tstrace slices --json 0.3 1');
		assert.equal(ran.status, 0, ran.stderr);
		assert.ok((reportsOf(ran.stdout)[0]?.groups[0]?.count ?? 0) > 0);
		assert.match(inFolder('bin/tstrace --help').stdout, /slices .*how long CPUs run/);
	} finally {
		rmSync(folder, { recursive: true });
	}
});
