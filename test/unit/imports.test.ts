/** Imports run one way, and no tool is known outside its own folder: docs/architecture.md. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';

/** Folders and modules of src/, the lowest first: each imports what stands in lines above its own. */
const LAYERS: readonly (readonly string[])[] = [
	['ascending.ts', 'bounded-names.ts', 'errors.ts', 'nearest.ts', 'text-of.ts'],
	['abi', 'elf'],
	['unwind', 'runtimes'],
	['loader'],
	['proc'],
	['perf'],
	['aggregate'],
	['render'],
	['input', 'browser', 'reader.ts'],
	['bpf'],
	['symbolize'],
	['options', 'doctor'],
	['tool.ts', 'converter.ts'],
	['waits'],
	['tools', 'converters'],
	['run'],
	['cli'],
];
const TOOLS = readdirSync('src/tools').map((entry) => entry.replace(/\.ts$/, ''));
/** "profile", "stat", "trace" and "why" are words and fields without tools, too. */
const WORDS = ['profile', 'stat', 'trace', 'why'];
/** A tool's name as a word, or at the beginning of one of its programs', and what the build writes of its object. */
const TOOL_NAME = new RegExp(
	`\\b(${TOOLS.filter((name) => !WORDS.includes(name)).join('|')})(\\b|_)` +
		`|tstrace (${WORDS.join('|')})\\b|'profile'|generated/(${WORDS.join('|')})\\b`,
);

type Sources = ReadonlyMap<string, string>;

function sources(): Sources {
	const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
	return new Map(
		files
			.filter((file) => file.endsWith('.ts') && !file.startsWith('generated'))
			.map((file) => [file, readFileSync(join('src', file), 'utf8')]),
	);
}

/** What a file imports of ours, by path in src/; what the build writes is no part of the order. */
function importsOf(file: string, text: string): string[] {
	const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
	return [...found]
		.map(([, path = '']) => normalize(join(dirname(file), path)).replace(/\.js$/, '.ts'))
		.filter((path) => !path.startsWith('generated'));
}

const topOf = (file: string) => file.split('/')[0] as string;
const layerOf = (file: string) => LAYERS.findIndex((names) => names.includes(topOf(file)));
/** "tools/memleak" for all that is memleak's. */
const unitOf = (file: string) =>
	/^(tools|converters)\//.test(file) ? file.split('/').slice(0, 2).join('/') : topOf(file);

/** Imports against the order, as "a.ts imports b.ts". */
function wrongWays(all: Sources): string[] {
	const faults: string[] = [];
	for (const [file, text] of all) {
		for (const other of importsOf(file, text)) {
			const isOwn = unitOf(file) === unitOf(other);
			if (layerOf(file) < 0 || (!isOwn && layerOf(other) >= layerOf(file)))
				faults.push(`${file} imports ${other}`);
		}
	}
	return faults;
}

/** Files that import each other, by whatever way, as "a.ts b.ts a.ts". */
function circles(all: Sources): string[] {
	const found: string[] = [];
	const done = new Set<string>();
	const follow = (file: string, path: readonly string[]) => {
		if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(' '));
		if (path.includes(file) || done.has(file)) return;
		for (const other of importsOf(file, all.get(file) ?? '')) follow(other, [...path, file]);
		done.add(file);
	};
	for (const file of all.keys()) follow(file, []);
	return found;
}

/** Files that name a tool, and have nothing to do with one. */
function namers(all: Sources): string[] {
	return [...all].flatMap(([file, text]) =>
		/^(tools|converters)\//.test(file) || !TOOL_NAME.test(text)
			? []
			: [`${file}: ${TOOL_NAME.exec(text)?.[0]}`],
	);
}

test('a wrong import, a circle and a tool that is named are found', () => {
	const invented = (files: Record<string, string>) => new Map(Object.entries(files));
	const one = (file: string, path: string) =>
		wrongWays(invented({ [file]: `import { x } from '${path}';` }));
	assert.deepEqual(one('render/x.ts', '../bpf/filter.js'), ['render/x.ts imports bpf/filter.ts']);
	assert.equal(one('tools/a/x.ts', '../b/y.js').length, 1);
	assert.equal(one('tools/a/heap/x.ts', '../../b.js').length, 1);
	assert.equal(one('tools/a/heap/x.ts', '../y.js').length, 0);
	assert.equal(one('tools/a.ts', './b.js').length, 1);
	assert.equal(one('converters/a.ts', '../tools/b.js').length, 1);
	assert.equal(one('loader/x.ts', '../aggregate/histogram.js').length, 1);
	assert.equal(one('nowhere/x.ts', './y.js').length, 1);
	assert.equal(one('cli/x.ts', '../tool.js').length, 0);
	const round = invented({ 'a.ts': "import './b.js';", 'b.ts': "import './a.js';" });
	assert.deepEqual(circles(round), ['a.ts b.ts a.ts']);
	const named = (text: string) => namers(invented({ 'bpf/x.ts': text, 'tools/x.ts': text })).length;
	assert.equal(named("'memleak'"), 1);
	assert.equal(named("'timehist_switch'"), 1);
	assert.equal(named("import { profile } from '../generated/profile.js';"), 1);
	assert.equal(named("import { timehist } from '../generated/timehist.js';"), 1);
	assert.equal(named("import { loss } from '../generated/common.js';"), 0);
});

test('imports run one way', () => assert.deepEqual(wrongWays(sources()), []));

test('no circle of imports', () => assert.deepEqual(circles(sources()), []));

test('no file outside tools and converters names a tool', () =>
	assert.deepEqual(namers(sources()), []));
