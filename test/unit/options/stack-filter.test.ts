/** Which stacks patterns keep, and what is said of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import {
	filtersOf,
	filterText,
	keepStacks,
	stackFilterOptions,
} from '../../../src/options/stack-filter.js';
import { fromFolded, toFolded } from '../profiles.js';

const NONE = { grep: undefined, exclude: undefined };
const { profile } = await fromFolded('a;b 1\na;c 2\nd;b 4\nd 8\n');
const kept = (grep?: RegExp, exclude?: RegExp) =>
	toFolded(keepStacks(profile, { grep, exclude })).split('\n').sort().join(' ').trim();

test('a stack is kept for any frame that matches, and left out for any', () => {
	assert.equal(kept(), 'a;b 1 a;c 2 d 8 d;b 4');
	assert.equal(kept(/^b$/), 'a;b 1 d;b 4');
	assert.equal(kept(/a/), 'a;b 1 a;c 2');
	assert.equal(kept(undefined, /d/), 'a;b 1 a;c 2');
	assert.equal(kept(/b/, /a/), 'd;b 4');
	assert.equal(kept(/nowhere/), '');
});

test('what is chosen is said: in results, and in titles', () => {
	const [grep, exclude] = [/^tcp_/, /idle/];
	assert.deepEqual(filtersOf(NONE), {});
	assert.deepEqual(filtersOf({ grep, exclude: undefined }), { grep: ['/^tcp_/'] });
	assert.deepEqual(filtersOf({ grep, exclude }), { grep: ['/^tcp_/'], exclude: ['/idle/'] });
	assert.equal(filterText(NONE), '');
	assert.equal(filterText({ grep, exclude: undefined }), 'only /^tcp_/');
	assert.equal(filterText({ grep: undefined, exclude }), 'without /idle/');
	assert.equal(filterText({ grep, exclude }), 'only /^tcp_/, without /idle/');
});

test('a pattern is a regular expression', () => {
	for (const option of Object.values(stackFilterOptions())) {
		assert.deepEqual(option.parseArg?.('a|b', undefined), /a|b/iu);
		assert.throws(
			() => option.parseArg?.('(', undefined),
			new InvalidArgumentError('give a regular expression, such as ^tcp_|^ip_'),
		);
	}
});
