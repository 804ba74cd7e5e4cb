import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError, type Option } from 'commander';
import fc from 'fast-check';
import { converters } from '../../../src/generated/converters.js';
import { tools } from '../../../src/generated/tools.js';
import { durationOf } from '../../../src/options/durations.js';
import { durationParser, parseAge, parseSeconds, parseUsec } from '../../../src/options/parsers.js';
import { offered } from '../../../src/options/typed-option.js';

test('a number with a unit is that time, whatever a plain number would be', () => {
	for (const [text, ns] of [
		['10ms', 10e6],
		['500us', 500e3],
		['500µs', 500e3],
		['2s', 2e9],
		['5m', 300e9],
		['1h', 3600e9],
		['250000ns', 250e3],
		['0.5ms', 500e3],
		['.5s', 0.5e9],
		['3 s', 3e9],
		[' 3s ', 3e9],
	] as const) {
		assert.equal(durationOf(text, 's'), ns / 1e9, text);
		assert.equal(durationOf(text, 'ms'), ns / 1e6, text);
		assert.equal(durationOf(text, 'us'), ns / 1e3, text);
	}
	assert.equal(durationOf('3000', 'us'), 3000);
	assert.equal(durationOf('3000', 'ms'), 3000);
	assert.equal(durationOf('3000', 's'), 3000);
	assert.equal(durationOf('1e3', 'us'), 1000);
});

test('what is no time is none', () => {
	for (const text of [
		'',
		's',
		'ms',
		'5 m s',
		'5x',
		'5S',
		'5M',
		'-5s',
		'5s5',
		'1e2s',
		'0x1s',
		'5min',
	]) {
		assert.ok(Number.isNaN(durationOf(text, 's')), text);
	}
});

test('milliseconds are 1000 microseconds, exactly, with any decimals', () => {
	fc.assert(
		fc.property(fc.integer({ min: 1, max: 1e9 }), (us) => {
			assert.equal(durationOf(`${us / 1000}ms`, 'us'), us);
			assert.equal(durationOf(`${us}us`, 'us'), us);
		}),
	);
});

test('a time has bounds, which are in its unit; whole ones only where there are no others', () => {
	const ms = durationParser('ms', 10, 86_400_000);
	assert.deepEqual(['10', '1.5s', '10500us'].map(ms), [10, 1500, 10.5]);
	for (const text of ['9', '9ms', '25h', '1e3s'])
		assert.throws(() => ms(text), /give milliseconds from 10 to 86400000, or 500ms, 2s or 5m/);
	assert.equal(durationParser('us', 0, 9)('1500ns'), 1.5);
	assert.throws(() => durationParser('us', 0, 9, true)('1500ns'), InvalidArgumentError);
});

test('options have bounds in their own unit, and microseconds are whole', () => {
	const min = parseUsec;
	assert.equal(min('1.5ms'), 1500);
	assert.equal(parseSeconds('10ms'), 0.01);
	assert.equal(parseAge('0'), 0);
	for (const text of ['0', '1500ns', '2000s', '1.5']) {
		assert.throws(() => min(text), /give microseconds from 1 to 1000000000, or 500us, 10ms or 2s/);
	}
	for (const text of ['9ms', '366h0', '9000h']) {
		assert.throws(() => parseSeconds(text), InvalidArgumentError, text);
	}
});

/** By their name or their value's: whatever is a time. */
const isTime = ({ long, flags }: Option) =>
	/<(usec|msec|sec|seconds|time|age|duration)>/.test(flags) ||
	/^--(slower|period|min|max|older|interval|duration)$/.test(long ?? '');

test('every option that is a time takes one with a unit, and its help names the plain unit', async () => {
	const all = [...Object.values(tools), ...Object.values(converters)];
	let times = 0;
	for (const load of all) {
		const { name, options } = await load();
		for (const option of offered(options()).filter(isTime)) {
			const inUnit = ['10ms', '10000us'].map((text) => option.parseArg?.(text, undefined));
			assert.equal(inUnit[0], inUnit[1], `${name} ${option.flags}`);
			assert.match(option.description, /seconds/, `${name} ${option.flags}`);
			times++;
		}
	}
	assert.ok(times >= 5);
});
