import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { grouped } from '../../../src/render/numbers.js';
import { printable, styleFor, wrapped } from '../../../src/render/terminal.js';
import { clockTime, humanTime, inUnit, MICROSECONDS } from '../../../src/render/units.js';
import { anyText } from '../any-text.js';

test('printable leaves no control character, and ordinary text as it is', () => {
	fc.assert(
		fc.property(anyText(), (text) => {
			assert.doesNotMatch(printable(text), /[\p{Cc}\u202a-\u202e]/u);
		}),
	);
	assert.equal(printable('kworker/0:1-événts 💥'), 'kworker/0:1-événts 💥');
	assert.equal(printable('\u001b[2J\u202e'), '\\x1b[2J\\u202e');
});

test('colour on a terminal only, and never with NO_COLOR', () => {
	const { NO_COLOR, TERM } = process.env;
	try {
		process.env.TERM = 'xterm';
		delete process.env.NO_COLOR;
		assert.equal(styleFor({ isTTY: true, columns: 200 }).colour, true);
		assert.equal(styleFor({ isTTY: true, columns: 200 }).width, 80);
		assert.equal(styleFor({ isTTY: true, columns: 60 }).width, 60);
		assert.equal(styleFor({}).colour, false);
		process.env.NO_COLOR = '1';
		assert.equal(styleFor({ isTTY: true }).colour, false);
	} finally {
		Object.assign(process.env, { TERM: TERM ?? '' });
		if (NO_COLOR === undefined) delete process.env.NO_COLOR;
		else process.env.NO_COLOR = NO_COLOR;
	}
});

test('numbers and times for people', () => {
	assert.equal(grouped(1234567), '1,234,567');
	assert.equal(grouped(999), '999');
	assert.deepEqual([0, 870, 4100, 12_500_000, 3.2e9, 150e9].map(humanTime), [
		'0 ns',
		'870 ns',
		'4.10 us',
		'12.5 ms',
		'3.20 s',
		'150 s',
	]);
	assert.deepEqual(
		[420, 17_300, 1_024_000].map((ns) => inUnit(ns, MICROSECONDS)),
		['0.42', '17.3', '1,024'],
	);
	assert.equal(clockTime(new Date(2026, 0, 31, 9, 5, 7, 42), true), '09:05:07.042');
});

test('wrapped breaks between words only', () => {
	assert.equal(wrapped('note: it fits', '      '), 'note: it fits');
	assert.equal(wrapped('note: one two three', '  ', 13), 'note: one two\n  three');
	assert.equal(wrapped('averylongword and more', '  ', 5), 'averylongword\n  and\n  more');
});
