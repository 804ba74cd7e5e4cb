import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readMaps } from '../../../src/proc/process-facts.js';

test('of a long list of mappings so much as was asked for, in whole lines', () => {
	const whole = readFileSync('/proc/self/maps', 'utf8');
	const part = readMaps('self', 1) ?? '';
	assert.ok(part.length > 0 && part.length < whole.length, `${part.length} of ${whole.length}`);
	assert.match(part, /^([0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps] .*\n)+$/);
	assert.ok((readMaps('self') ?? '').length > part.length);
});

test('a process that is gone has none', () => {
	assert.equal(readMaps(2 ** 22 + 1), undefined);
});
