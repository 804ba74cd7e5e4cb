import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';

/** What the linter says of a file with this text at this path, by the project's own rules. */
function lint(path: string, text: string): string {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-lint-'));
	try {
		copyFileSync('biome.json', join(folder, 'biome.json'));
		mkdirSync(dirname(join(folder, path)), { recursive: true });
		writeFileSync(join(folder, path), text);
		const biome = resolve('node_modules/.bin/biome');
		const { stderr, stdout } = spawnSync(biome, ['lint', path], { cwd: folder });
		return `${stdout}${stderr}`;
	} finally {
		rmSync(folder, { recursive: true });
	}
}

test('koffi is for src/loader and src/perf only: the linter refuses it elsewhere', () => {
	const text = "import { x } from 'koffi';\nexport const y = x;\n";
	for (const folder of ['render', 'symbolize', 'bpf', 'tools/x', 'doctor', 'cli'])
		assert.match(lint(`src/${folder}/x.ts`, text), /noRestrictedImports/, folder);
	for (const folder of ['loader', 'perf'])
		assert.doesNotMatch(lint(`src/${folder}/x.ts`, text), /noRestrictedImports/, folder);
});

/** Calls that are handed a whole list of arguments: their names, and those of the list. */
function spreadCalls(text: string): string[] {
	const calls = text.matchAll(/\b(max|min|push|unshift|fromCharCode|fromCodePoint)\(/g);
	return [...calls].flatMap(({ 1: name, index }) => {
		let depth = 0;
		for (let at = index; at < text.length; at++) {
			const character = text[at] as string;
			if ('([{'.includes(character)) depth++;
			else if (')]}'.includes(character) && --depth === 0) break;
			else if (depth === 1 && text.startsWith('...', at))
				return [`${name}(${text.slice(at, at + 30)}`];
		}
		return [];
	});
}

test('no call is handed as many arguments as a recording has rows: for that it has no room', () => {
	assert.deepEqual(spreadCalls('a.push({ ...b }, [...c])'), []);
	assert.deepEqual(spreadCalls('Math.max(f(x),\n\t...rows.map(g))').length, 1);
	const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
	for (const file of files.filter(
		(name) => name.endsWith('.ts') && !name.startsWith('generated'),
	)) {
		const found = spreadCalls(readFileSync(join('src', file), 'utf8'));
		assert.deepEqual(found, [], `${file}: loop, or use largest() of src/aggregate/largest.ts`);
	}
});
