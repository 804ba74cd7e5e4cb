import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { escapedJson } from '../../../src/render/json.js';
import { grouped } from '../../../src/render/numbers.js';
import { named, printable, shortened, styleFor, wrapped } from '../../../src/render/terminal.js';
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
		process.env.TERM = 'dumb';
		assert.equal(styleFor({ isTTY: true }).colour, false);
		process.env.TERM = 'xterm';
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

test('how wide: what a terminal says, if it knows; a file or a pipe has no columns', () => {
	const widths = (stream: { isTTY?: boolean; columns?: number }) => {
		const { width, columns } = styleFor(stream);
		return [width, columns];
	};
	assert.deepEqual(widths({ isTTY: true, columns: 60 }), [60, 60]);
	assert.deepEqual(widths({ isTTY: true, columns: 200 }), [80, 200]);
	assert.deepEqual(widths({ isTTY: true, columns: 20 }), [50, 20], 'less room no line has');
	assert.deepEqual(widths({ isTTY: true, columns: 0 }), [80, undefined], 'it does not know');
	assert.deepEqual(widths({ columns: 60 }), [80, undefined]);
});

test('what hides or reorders text, or is no character, is shown as its number', () => {
	for (const code of [
		...[0x7f, 0x80, 0x9f, 0x61c, 0x200b, 0x200d, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060],
		...[0x2066, 0x2069, 0xfeff, 0xfff9, 0xfffb],
	]) {
		const character = String.fromCharCode(code);
		const hex = code.toString(16);
		const shown = code < 0x100 ? `\\x${hex}` : `\\u${hex.padStart(4, '0')}`;
		assert.equal(printable(`a${character}b`), `a${shown}b`);
		// In JSON as it has it, so that it reads as it was.
		const json = escapedJson({ character });
		assert.ok(!json.includes(character) || code > 0xfff8, hex);
		assert.deepEqual(JSON.parse(json), { character });
	}
});

test('what is cut in its middle keeps its beginning and its end, and is as long as there is room', () => {
	assert.equal(shortened('abcdefghij', 10), 'abcdefghij');
	assert.equal(shortened('abcdefghij', 9), 'abcd…ghij');
	assert.equal(shortened('abcdefghij', 6), 'abc…ij');
	assert.equal(shortened('💥'.repeat(5), 5), '💥'.repeat(5));
	assert.equal(shortened('💥'.repeat(5), 4), '💥💥…💥');
	assert.deepEqual(['', 'sh'].map(named), ['[no name]', 'sh']);
});
