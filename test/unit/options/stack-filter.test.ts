/** What is said of the patterns that keep stacks, and what a pattern is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { filtersOf, filterText, stackFilterOptions } from '../../../src/options/stack-filter.js';

const NONE = { grep: undefined, exclude: undefined };

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
