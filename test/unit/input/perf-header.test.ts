import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ownerAtBeginning, ownerBefore, parseName } from '../../../src/input/perf-header.js';

/** The grammar as regular expressions, which are simple, and take time with the square of a line's length. */
const BEFORE =
	/^\s*(\S.*?|)\s*(?<!\S)(-?\d+)(?:\/(-?\d+))?(?:\s+\[\d+\])?(?:\s+[A-Za-z.]{1,12})?\s*$/;
const BEGINNING = /^\s*(\S.*?)\s+(-?\d+)(?:\/(-?\d+))?\s+(?:\[\d+\]\s+)?/;
const NAME = /^(\S.*?)\s+(\S+:)\s*$/;

const anyLine = fc
	.array(
		fc.constantFrom(
			' ',
			'  ',
			'\t',
			'a',
			'Thread',
			'1',
			'-2',
			'12/34',
			'1/',
			'[001]',
			'[',
			'd..h',
			':',
			'x:',
			'/',
		),
		{ maxLength: 12 },
	)
	.map((parts) => parts.join(''));

test('whose a sample is: a name with anything in it, numbers, a CPU', () => {
	fc.assert(
		fc.property(anyLine, (line) => {
			const [, comm, first, second] = BEFORE.exec(line) ?? [];
			const expected = comm === undefined ? undefined : { comm, first, second };
			assert.deepEqual(ownerBefore(line), expected);
		}),
		{ numRuns: 3000 },
	);
});

test('the same without a time behind it', () => {
	fc.assert(
		fc.property(anyLine, (line) => {
			const found = BEGINNING.exec(line);
			const [all = '', comm, first, second] = found ?? [];
			const expected = found ? { comm, first, second, end: all.length } : undefined;
			assert.deepEqual(ownerAtBeginning(line), expected);
		}),
		{ numRuns: 3000 },
	);
});

test('a line with a name and an event', () => {
	fc.assert(
		fc.property(anyLine, (line) => {
			const [, comm, event] = NAME.exec(line) ?? [];
			const header = parseName(line);
			assert.equal(header.comm, comm ?? line.trim());
			assert.equal(header.event, event?.slice(0, -1));
		}),
		{ numRuns: 3000 },
	);
});

test('the work grows with the length of a line, and not with its square', () => {
	const many = 1 << 21;
	for (const [blanks, last] of [
		[' '.repeat(many), undefined],
		[`a${' '.repeat(many)}x`, undefined],
		['1 '.repeat(many / 2), '1'],
		['a '.repeat(many / 2), undefined],
		[`${' '.repeat(many)}a 1 `, '1'],
	] as const) {
		assert.equal(ownerBefore(blanks)?.first, last);
		ownerAtBeginning(blanks);
	}
	assert.equal(ownerAtBeginning(`a${' '.repeat(many)}1 `)?.first, '1');
});
