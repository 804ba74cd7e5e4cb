import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineBuffer } from '../../../src/render/line-buffer.js';

const text = (fill: (lines: LineBuffer) => void) => {
	const lines = new LineBuffer(8);
	lines.room(256);
	fill(lines);
	return Buffer.from(lines.bytes()).toString();
};

test('numbers are what toFixed and padStart make of them', () => {
	for (const value of [0, 7, 9, 10, 999, 1000, 1001, 123_456_789, 2 ** 32, 2 ** 53 - 1]) {
		assert.equal(
			text((lines) => lines.whole(value, 9)),
			`${value}`.padStart(9),
		);
		const [thousand, million] = [BigInt(value) / 1000n, BigInt(value) / 1_000_000n];
		const thousandths = `${thousand}.${`${BigInt(value) % 1000n}`.padStart(3, '0')}`;
		assert.equal(
			text((lines) => lines.thousandths(value, 9)),
			thousandths.padStart(9),
		);
		const millionths = `${million}.${`${BigInt(value) % 1_000_000n}`.padStart(6, '0')}`;
		assert.equal(
			text((lines) => lines.millionths(value, 15)),
			millionths.padStart(15),
		);
	}
});

test('room is made for a line, and what was there stays', () => {
	const lines = new LineBuffer(4);
	for (let i = 0; i < 1000; i++) {
		lines.room(8);
		lines.whole(i, 4);
		lines.newline();
	}
	const expected = Array.from({ length: 1000 }, (_, i) => `${`${i}`.padStart(4)}\n`).join('');
	assert.equal(Buffer.from(lines.bytes()).toString(), expected);
	lines.clear();
	assert.equal(lines.length, 0);
});
