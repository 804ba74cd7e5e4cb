/** Patterns as people type them: when capitals matter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typedPattern } from '../../../src/aggregate/pattern.js';

test('capitals matter if there are any, but for those of classes', () => {
	for (const [pattern, finds, not] of [
		['sort', 'MapSort', 'map'],
		['Sort', 'MapSort', 'mapsort'],
		['\\Sort', 'MAPSORT', ' ort'],
		['^\\W\\D\\Bx', ' aX', 'aax'],
		['\\\\A', '\\A', '\\a'],
		['é|Ü', 'Ü', 'ü'],
	] as const) {
		assert.ok(typedPattern(pattern).test(finds), `${pattern}: ${finds}`);
		assert.ok(!typedPattern(pattern).test(not), `${pattern}: ${not}`);
	}
	assert.ok(typedPattern('^.$').test('💥'), 'one character');
	assert.throws(() => typedPattern('('), SyntaxError);
});
