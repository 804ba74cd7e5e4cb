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

test('numbers of 64 bits in two halves, as BigInt has them', () => {
	const values = [
		0n,
		1n,
		0xffff_ffffn,
		2n ** 32n,
		2n ** 53n,
		2n ** 53n + 1n,
		2n ** 63n,
		2n ** 64n - 1n,
		2n ** 63n + 7n,
	];
	for (const value of values) {
		const [low, high] = [Number(value & 0xffff_ffffn), Number(value >> 32n)];
		assert.equal(
			text((lines) => lines.unsigned64(low, high)),
			`${value}`,
		);
		assert.equal(
			text((lines) => lines.signed64(low, high)),
			`${BigInt.asIntN(64, value)}`,
		);
		assert.equal(
			text((lines) => lines.hex64(low, high)),
			`0x${value.toString(16)}`,
		);
	}
	for (const value of [0, 7, 8, 0o644, 0o100755, 0xffff_ffff])
		assert.equal(
			text((lines) => lines.octal(value)),
			value === 0 ? '0' : `0${value.toString(8)}`,
		);
});

test('bytes as a C string has them; three digits where a digit follows', () => {
	const escaped = (...bytes: number[]) =>
		text((lines) => lines.escaped(Uint8Array.from([1, ...bytes, 2]), 1, bytes.length));
	assert.equal(escaped(0x61, 0x20, 0x7e), 'a ~');
	assert.equal(escaped(0x22, 0x5c, 0x0a, 0x09, 0x0d, 0x0b, 0x0c), '\\"\\\\\\n\\t\\r\\v\\f');
	assert.equal(escaped(0, 1, 0x1b, 0x7f, 0xff), '\\0\\1\\33\\177\\377');
	assert.equal(escaped(0, 0x31, 7, 0x39, 7, 0x61), '\\0001\\0079\\7a');
});

test('times of day have two digits for each part, and begin anew at midnight', () => {
	const DAY_US = 86_400e6;
	const timeOf = (local_us: number) => text((lines) => lines.timeOfDay(local_us));
	assert.equal(timeOf(((1 * 60 + 2) * 60 + 3) * 1e6 + 4), '01:02:03.000004');
	assert.equal(timeOf(20_000 * DAY_US - 1), '23:59:59.999999');
	assert.equal(timeOf(20_000 * DAY_US), '00:00:00.000000');
	assert.equal(timeOf(20_000 * DAY_US + 3_671_500_000), '01:01:11.500000');
});
