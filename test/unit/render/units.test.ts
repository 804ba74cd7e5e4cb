/** Times, bytes, counts and shares, as people read them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountText, shareText } from '../../../src/render/amounts.js';
import { leftOutText, valueText } from '../../../src/render/left-out.js';
import { grouped } from '../../../src/render/numbers.js';
import { moreLine } from '../../../src/render/table.js';
import {
	clockTime,
	humanBytes,
	humanTime,
	inUnit,
	MICROSECONDS,
	MILLISECONDS,
} from '../../../src/render/units.js';

function says(text: (value: number) => string, table: readonly (readonly [number, string])[]) {
	for (const [value, expected] of table) assert.equal(text(value), expected, `${value}`);
}

test('times, three digits each, and no unit of a thousand', () => {
	says(humanTime, [
		[0, '0 ns'],
		[0.4, '0 ns'],
		[870, '870 ns'],
		[999.4, '999 ns'],
		[999.5, '1.00 us'],
		[4100, '4.10 us'],
		[999_499, '999 us'],
		[999_500, '1.00 ms'],
		[12_500_000, '12.5 ms'],
		[999_499_999, '999 ms'],
		[999_500_000, '1.00 s'],
		[3.2e9, '3.20 s'],
		[99.9e9, '99.9 s'],
		[100e9, '100 s'],
		[12_345e9, '12,345 s'],
	]);
});

test('bytes: exact as long as they are few; taken and given back alike', () => {
	says(humanBytes, [
		[0, '0 B'],
		[99_700, '99,700 B'],
		[-99_700, '-99,700 B'],
		[999_999, '999,999 B'],
		[1_000_000, '977 KiB'],
		[-1_000_000, '-977 KiB'],
		[1_023_000, '999 KiB'],
		[1_023_500, '0.976 MiB'],
		[12.3 * 2 ** 20, '12.3 MiB'],
		[-12.3 * 2 ** 20, '-12.3 MiB'],
		[5 * 2 ** 30, '5.00 GiB'],
		[5 * 2 ** 40, '5.00 TiB'],
		[999 * 2 ** 40, '999 TiB'],
	]);
	assert.match(humanBytes(2 ** 60), / TiB$/, 'there is no larger unit');
});

test('times in a unit that a heading says', () => {
	assert.deepEqual([MICROSECONDS.name, MILLISECONDS.name], ['usecs', 'msecs']);
	says(
		(ns) => inUnit(ns, MICROSECONDS),
		[
			[420, '0.42'],
			[9994, '9.99'],
			[10_000, '10.0'],
			[17_340, '17.3'],
			[100_000, '100'],
			[1_024_400, '1,024'],
		],
	);
	assert.equal(inUnit(1_500_000, MILLISECONDS), '1.50');
});

test('counts have commas, and shares are never nothing of what is there', () => {
	says(grouped, [
		[0, '0'],
		[999, '999'],
		[1000, '1,000'],
		[1_234_567.6, '1,234,568'],
	]);
	says(shareText, [
		[0, '0.0 %'],
		[1, '100.0 %'],
		[0.4123, '41.2 %'],
		[0.001, '0.1 %'],
		[0.00012, '0.01 %'],
		[0.00001, '0.001 %'],
		[4e-16, '< 0.001 %'],
	]);
	const amounts = [
		[1, 'samples', '1 sample'],
		[2, 'samples', '2 samples'],
		[1234, '', '1,234'],
		[1, 'cows', '1 cows'],
		[2.5, 'cows', '2.5 cows'],
		[1234.56, 'cows', '1234.56 cows'],
		[1 / 3, '', '0.333333'],
		[1.2, 's', '1.20 s'],
		[1500, 'us', '1.50 ms'],
		[1.5, 'ms', '1.50 ms'],
		[15, 'ns', '15 ns'],
	] as const;
	for (const [value, name, text] of amounts) assert.equal(amountText(value, name), text);
});

test('values of stacks, in their unit', () => {
	assert.equal(valueText(1, 'samples'), '1 sample');
	assert.equal(valueText(0, 'samples'), '0 samples');
	assert.equal(valueText(1234, 'samples'), '1,234 samples');
	assert.equal(valueText(1.5e9, 'ns'), '1.50 s');
	assert.equal(valueText(1024, 'bytes'), '1,024 B');
});

test('what is left out, and by what', () => {
	const row = (value: number) => {
		return { key: {}, frames: [], parts: [value], value, count: 1, variance: 0 };
	};
	const findings = {
		unit: 'ns',
		parts: ['blocked'],
		kind: 'stacks',
		about: {},
		noun: 'wait',
	} as const;
	const said = (...leftOut: Parameters<typeof leftOutText>[0]['leftOut'] & object) =>
		leftOutText({ ...findings, stacks: [], notices: [], leftOut });
	assert.equal(leftOutText({ ...findings, stacks: [], notices: [] }), '');
	assert.equal(said({ by: 'grep', rows: [] }), '');
	assert.equal(said({ by: 'grep', rows: [row(1e9)] }), 'left out: 1.00 s in 1 stack by --grep');
	assert.equal(
		said({ by: 'grep', rows: [] }, { by: 'exclude', rows: [row(1e9), row(2e9)] }),
		'left out: 3.00 s in 2 stacks by --exclude',
	);
	assert.equal(
		said({ by: 'idle', rows: [row(1e9)], threads: 1 }, { by: 'grep', rows: [row(5)] }),
		'left out: 1.00 s of 1 idle thread; 5 ns in 1 stack by --grep',
	);
	assert.equal(
		said({ by: 'idle', rows: [row(1e9)], threads: 1200 }),
		'left out: 1.00 s of 1,200 idle threads',
	);
});

test('rows that are not shown are counted, and none is no line', () => {
	assert.equal(moreLine(0), '');
	assert.equal(moreLine(0, ' with 3 waits'), '');
	assert.equal(moreLine(1), '1 more; --top 0 shows them\n');
	assert.equal(moreLine(1200, ' with 3 waits'), '1,200 more with 3 waits; --top 0 shows them\n');
});

test('a time of the day has two digits each, and three of milliseconds', () => {
	const date = new Date(2026, 0, 31, 4, 5, 6, 7);
	assert.equal(clockTime(date), '04:05:06');
	assert.equal(clockTime(date, true), '04:05:06.007');
	assert.equal(clockTime(new Date(2026, 0, 31, 23, 59, 58, 999), true), '23:59:58.999');
});
