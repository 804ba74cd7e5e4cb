/** The table of mutations fits the code and the tests as they are, and docs/mutants.md the results. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { testNames } from '../../faults/page.js';
import { applied } from '../../mutants/mutation.js';
import { page } from '../../mutants/results.js';
import { MUTATIONS } from '../../mutants/table.js';

test('each has an id of its own', () => {
	const ids = MUTATIONS.map(({ id }) => id);
	assert.deepEqual([...new Set(ids)], ids);
});

test('the text of each is in its file exactly once', () => {
	for (const mutation of MUTATIONS) {
		const text = readFileSync(mutation.file, 'utf8');
		assert.notEqual(applied(text, mutation), text, mutation.id);
	}
});

test('the tests that are to catch them exist', () => {
	for (const { id, test, only } of MUTATIONS) {
		const file = `test/${test}.test.ts`;
		assert.ok(existsSync(file), `${id}: ${file}`);
		const names = testNames(readFileSync(file, 'utf8'));
		const found = names.filter((name) => name.includes(only ?? ''));
		assert.ok(found.length > 0, `${id}: no test "${only}" in ${file}`);
	}
});

test('docs/mutants.md is what make mutants writes', () => {
	const results = JSON.parse(readFileSync('test/mutants/results.json', 'utf8'));
	assert.equal(readFileSync('docs/mutants.md', 'utf8'), page(MUTATIONS, results));
});
