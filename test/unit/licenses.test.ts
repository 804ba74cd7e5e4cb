/** THIRD-PARTY.txt: the full text of every licence, or no build. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

interface Licenses {
	cratesIn(wasm: Buffer): string[];
	thirdParty(packages: readonly string[], modules?: string, committed?: string): string;
}

const { cratesIn, thirdParty } = (await import(
	pathToFileURL(resolve('scripts/licenses.mjs')).href
)) as Licenses;

const DEMANGLER = 'gecko-profiler-demangle';
const built = readFileSync('dist/THIRD-PARTY.txt', 'utf8');
const notices = new Map(
	built.split(`\n${'-'.repeat(72)}\n\n`).map((notice) => {
		const end = notice.indexOf('\n');
		return [notice.slice(0, end), notice.slice(end)] as const;
	}),
);

test('every notice is a licence in full, not its name', () => {
	for (const [name, text] of notices)
		if (!/public domain/.test(text)) assert.match(text, /AS[ -]IS/i, name);
});

test('the crates inside the demangler have theirs', () => {
	const crates = cratesIn(readFileSync('dist/demangle.wasm'));
	// They are what demangles: were they not found, nothing would be checked.
	for (const name of ['cpp_demangle', 'rustc-demangle', 'msvc-demangler'])
		assert.ok(crates.includes(name), `${name} is not in ${crates}`);
	for (const crate of crates) {
		const text = notices.get(`${crate}, inside ${DEMANGLER}`) ?? '';
		assert.match(text, /Copyright \(c\) .*Permission is hereby granted.*AS IS/s, crate);
	}
	assert.match(notices.get(`the Rust standard library, inside ${DEMANGLER}`) ?? '', /AS IS/);
});

test('what the bundle says it contains is named', () => {
	for (const part of ['xzwasm', 'XZ Embedded', 'walloc'])
		assert.ok(notices.has(`${part}, inside xz-decompress`), part);
	assert.match(notices.get('zlib, inside pako') ?? '', /Mark Adler.*may not be removed/s);
	assert.match(notices.get('@assemblyscript/loader') ?? '', /END OF TERMS AND CONDITIONS/);
});

/** Packages of our own making, and a folder of committed texts like the project's. */
function withPackages(
	use: (add: (name: string, files: Record<string, string>) => void, all: () => string) => void,
	parts: readonly object[] = [],
): void {
	const folder = mkdtempSync(join(tmpdir(), 'tstrace-licenses-'));
	const [modules, committed] = [join(folder, 'modules'), join(folder, 'licenses')];
	const packages: string[] = [];
	try {
		cpSync('licenses', committed, { recursive: true });
		writeFileSync(join(committed, 'parts.json'), JSON.stringify(parts));
		use(
			(name, files) => {
				packages.push(name);
				mkdirSync(join(modules, name), { recursive: true });
				for (const [file, text] of Object.entries(files))
					writeFileSync(join(modules, name, file), text);
			},
			() => thirdParty(packages, modules, committed),
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

const MIT = readFileSync('licenses/MIT.txt', 'utf8');
const manifest = (license?: string) => JSON.stringify({ license });

test('the build fails where a text is missing', () => {
	const cases: readonly (readonly [string, Record<string, string>, RegExp])[] = [
		['its own', { 'package.json': manifest('MIT') }, /x: the text of its licence \(MIT\)/],
		['all', { 'package.json': manifest() }, /x does not say its licence/],
		[
			'of two that both hold',
			{ 'package.json': manifest('(MIT AND Zlib)'), LICENSE: MIT },
			/x: the text of its licence \(Zlib\)/,
		],
		[
			'but its name',
			{ 'package.json': manifest('MIT'), LICENSE: 'MIT, by somebody' },
			/x: the text of its licence \(MIT\)/,
		],
		['one nobody knows', { 'package.json': manifest('WTFPL'), LICENSE: MIT }, /not know WTFPL/],
		[
			'of a crate',
			{ 'package.json': manifest('MIT'), LICENSE: MIT, 'x.wasm': 'at /src/new-1.2.3/src/lib.rs' },
			/x\.wasm has new inside/,
		],
	];
	for (const [what, files, says] of cases) {
		withPackages((add, all) => {
			add('x', files);
			assert.throws(all, says, what);
		});
	}
	withPackages((add, all) => {
		add('x', { 'package.json': manifest('MIT OR Apache-2.0'), LICENSE: MIT });
		assert.ok(all().includes(MIT.trim()));
	});
});

test('the build fails where a committed text is gone, or belongs to nothing', () => {
	const part = { in: 'x', name: 'part', license: 'ISC', copyright: 'Copyright (c) somebody' };
	withPackages(
		(add, all) => {
			add('x', { 'package.json': manifest('MIT'), LICENSE: MIT });
			assert.throws(all, /part, inside x: there is no .*ISC\.txt/);
		},
		[part],
	);
	withPackages(
		(add, all) => {
			add('y', { 'package.json': manifest('MIT'), LICENSE: MIT });
			assert.throws(all, /x is not bundled/);
		},
		[part],
	);
});
