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

const FORBIDDEN = [
	['src/render/x.ts', '../tools/runqlat.js'],
	['src/render/x.ts', '../kit/tool.js'],
	['src/aggregate/x.ts', '../cli/run.js'],
	['src/symbolize/x.ts', '../kit/tool.js'],
	['src/symbolize/x.ts', 'koffi'],
	['src/probes/x.ts', '../kit/tool.js'],
	['src/loader/x.ts', '../aggregate/histogram.js'],
	['src/perf/x.ts', '../kit/tool.js'],
	['src/kit/x.ts', '../tools/runqlat.js'],
	['src/tools/x.ts', '../cli/run.js'],
	['src/tools/x.ts', '../doctor/check.js'],
	['src/kit/x.ts', '../doctor/check.js'],
	['src/doctor/x.ts', '../cli/run.js'],
	['src/doctor/x.ts', '../tools/runqlat.js'],
	['src/doctor/x.ts', 'koffi'],
	['src/tools/x.ts', './runqlat.js'],
	['src/tools/x.ts', 'koffi'],
	['src/cli/x.ts', 'koffi'],
] as const;

test('imports run one way: the linter refuses the others', () => {
	for (const [path, imported] of FORBIDDEN) {
		const said = lint(path, `import { x } from '${imported}';\nexport const y = x;\n`);
		assert.match(said, /noRestrictedImports/, `${path} may import ${imported}`);
	}
	const said = lint('src/tools/x.ts', "import { x } from '../kit/tool.js';\nexport const y = x;\n");
	assert.doesNotMatch(said, /noRestrictedImports/);
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
