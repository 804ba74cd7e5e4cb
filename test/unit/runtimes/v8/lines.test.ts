import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineEnds as endsOf, lineAt } from '../../../../src/runtimes/v8/lines.js';

function lineEnds(source: Buffer, bytesEach: 1 | 2, limit = 100): Uint32Array {
	const ends = endsOf(source, bytesEach, limit);
	assert.ok(ends);
	return ends;
}

const TEXT = 'one\ntwo\r\nthree\rfour\n\nsix';

test('lines of a source end as the language says', () => {
	const ends = lineEnds(Buffer.from(TEXT, 'latin1'), 1);
	assert.deepEqual([...ends], [3, 8, 14, 19, 20]);
	const lines = ['one', 'two', 'three', 'four', 'six'].map((word) =>
		lineAt(ends, TEXT.indexOf(word)),
	);
	assert.deepEqual(lines, [0, 1, 2, 3, 5]);
	assert.equal(lineAt(ends, 3), 0);
	assert.equal(lineAt(ends, 4), 1);
});

test('without carriage returns it is the same', () => {
	const text = TEXT.replaceAll('\r', '-');
	assert.deepEqual([...lineEnds(Buffer.from(text, 'latin1'), 1)], [3, 8, 19, 20]);
	assert.deepEqual([...lineEnds(Buffer.from(text, 'utf16le'), 2)], [3, 8, 19, 20]);
});

test('in two bytes, separators of lines and paragraphs end lines, too', () => {
	const text = 'a\u2028b\u2029c\u0a0ad\ne';
	const ends = lineEnds(Buffer.from(text, 'utf16le'), 2);
	assert.deepEqual([...ends], [1, 3, 7]);
	// In one byte there are none of these.
	assert.equal(lineEnds(Buffer.from([0x20, 0x28, 0x20, 0x29]), 1).length, 0);
});

test('a source without an end of a line is one line', () => {
	assert.equal(lineAt(lineEnds(Buffer.alloc(0), 1), 0), 0);
	assert.equal(lineAt(lineEnds(Buffer.from('abc'), 1), 2), 0);
});

test('more lines than are kept: none of them', () => {
	const text = 'a\nb\nc\n';
	for (const [source, bytesEach] of [
		[Buffer.from(text), 1],
		[Buffer.from(text, 'utf16le'), 2],
	] as const) {
		assert.equal(endsOf(source, bytesEach, 3)?.length, 3);
		assert.equal(endsOf(source, bytesEach, 2), undefined);
	}
});
