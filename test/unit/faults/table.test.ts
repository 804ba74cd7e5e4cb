/** The table of faults is that of the tests, and docs/faults.md that of the table. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { page, testNames } from '../../faults/page.js';
import { FAULTS } from '../../faults/table.js';

const namesIn = (file: string) => testNames(readFileSync(`test/live/${file}.test.ts`, 'utf8'));

const CITED = FAULTS.flatMap(({ tests }) =>
	Object.entries(tests).flatMap(([file, parts]) => parts.map((part) => ({ file, part }))),
);

test('each part of a name is that of one test', () => {
	for (const { file, part } of CITED) {
		const found = namesIn(file).filter((name) => name.includes(part));
		assert.equal(found.length, 1, `${file}: "${part}" is in the names of ${found.length} tests`);
	}
});

test('every test of faults is in the table', () => {
	const files = readdirSync('test/live').flatMap(
		(name) => /^((?:faults|vm)-.*)\.test\.ts$/.exec(name)?.[1] ?? [],
	);
	assert.ok(files.length >= 7);
	for (const file of files) {
		const parts = CITED.filter((cited) => cited.file === file).map(({ part }) => part);
		const names = namesIn(file);
		assert.ok(names.length > 0, file);
		for (const name of names) {
			const isCited = parts.some((part) => name.includes(part));
			assert.ok(isCited, `${file}: "${name}" is not in test/faults/table.ts`);
		}
	}
});

test('docs/faults.md is what make faults-doc writes', () => {
	assert.equal(readFileSync('docs/faults.md', 'utf8'), page(FAULTS));
});
