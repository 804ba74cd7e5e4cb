import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import {
	parseAge,
	parseComms,
	parseContainers,
	parseCount,
	parseCpus,
	parsePaths,
	parsePercent,
	parsePids,
	parseSeconds,
	parseUsec,
	wholeNumber,
} from '../../../src/options/parsers.js';

function refuses(parse: (text: string) => unknown, ...texts: string[]): void {
	for (const text of texts) assert.throws(() => parse(text), InvalidArgumentError, text);
}

test('seconds', () => {
	assert.equal(parseSeconds('5'), 5);
	assert.equal(parseSeconds('0.5'), 0.5);
	refuses(parseSeconds, '', 'x', '-1', '0', '1e99', 'NaN', 'Infinity', '0x10', '1 2');
});

test('counts', () => {
	assert.equal(parseCount('3'), 3);
	refuses(parseCount, '0', '-1', '1.5', '99999999999');
});

test('process numbers, repeated and in lists', () => {
	assert.deepEqual(parsePids('1'), [1]);
	assert.deepEqual(parsePids('2,3', [1]), [1, 2, 3]);
	refuses(parsePids, '', '1,', ',', 'a', '-5', '0', '1.5', '99999999999');
});

test('CPUs', () => {
	assert.deepEqual(parseCpus('0'), [0]);
	refuses(parseCpus, '', '-1', '0-', 'a', '999999', '1-0', '0-0-0');
});

test('thread names', () => {
	assert.deepEqual(parseComms('nginx,node'), ['nginx', 'node']);
	refuses(parseComms, '', 'a,,b', 'sixteen-letters!');
});

test('no text makes a parser do anything but answer or refuse', () => {
	fc.assert(
		fc.property(fc.string(), (text) => {
			for (const parse of [parseSeconds, parseCount, parsePids, parseCpus, parseComms]) {
				try {
					parse(text);
				} catch (error) {
					assert.ok(error instanceof InvalidArgumentError);
				}
			}
		}),
	);
});

test('a name in place of a process number: the error says which option takes names', () => {
	assert.throws(() => parsePids('postgres'), /--comm postgres$/);
	assert.throws(
		() => parsePids('1,postgres'),
		(error: Error) => !/--comm/.test(error.message),
	);
	assert.throws(
		() => parsePids('$(reboot)'),
		(error: Error) => !/--comm/.test(error.message),
	);
});

/** Both ends are valid, and what is just beyond is not. */
test('each number has its range', () => {
	const ranges = [
		[parseSeconds, 0.01, 31_536_000, 0.0099, 31_536_001],
		[parseAge, 0, 31_536_000, -1, 31_536_001],
		[parseUsec, 1, 1e9, 0, 1e9 + 1],
		[parseCount, 1, 1e9, 0, 1e9 + 1],
		[parsePercent, 0.001, 100, 0.0009, 100.1],
		[wholeNumber(8), 1, 8, 0, 9],
		[wholeNumber(8, 0), 0, 8, -1, 9],
	] as const;
	for (const [parse, low, high, below, above] of ranges) {
		assert.equal(parse(`${low}`), low);
		assert.equal(parse(`${high}`), high);
		refuses(parse, `${below}`, `${above}`);
	}
	assert.deepEqual(parsePids('1,4194304'), [1, 4_194_304]);
	refuses(parsePids, '4194305');
});

test('the error names what is valid', () => {
	const said = [
		[parseSeconds, 'x', 'give seconds from 0.01 to 31536000, or 500ms, 2s or 5m'],
		[parseUsec, 'x', 'give microseconds from 1 to 1000000000, or 500us, 10ms or 2s'],
		[parseCount, '0', 'give a whole number from 1 to 1000000000 (a COMMAND comes after --)'],
		[parsePercent, '0', 'give a percentage from 0.001 to 100'],
		[parsePids, '0', 'give process or thread numbers from 1 to 4194304, separated by commas'],
		[parseComms, 'a,', 'give thread names, separated by commas'],
		[wholeNumber(8), '9', 'give a whole number from 1 to 8'],
		[parsePaths, '', 'give a path'],
	] as const;
	for (const [parse, text, message] of said) assert.throws(() => parse(text), { message });
});

test('numbers are numbers to the end, and have no other base', () => {
	refuses(wholeNumber(100), '5x', 'x5', '5 x', '1e', '0x5', '1.5', '--5', '.', '');
	assert.equal(wholeNumber(100)('1e1'), 10);
	assert.equal(wholeNumber(100)(' +5 '), 5);
	refuses(parseUsec, '1.5', '0.5us');
	assert.equal(parseUsec('1.5ms'), 1500);
	assert.equal(parsePercent('2.5 %'), 2.5);
	assert.equal(parsePercent('2%'), 2);
	refuses(parsePercent, '2%%', '% 2');
});

test('paths are taken as they are, one after another', () => {
	assert.deepEqual(parsePaths('/a,b'), ['/a,b']);
	assert.deepEqual(parsePaths('c', ['/a']), ['/a', 'c']);
});

test('thread names: 15 bytes, or a pattern of any length; they add up', () => {
	assert.deepEqual(parseComms('b,c', ['a']), ['a', 'b', 'c']);
	assert.deepEqual(parseComms('fifteen-letters'), ['fifteen-letters']);
	assert.throws(() => parseComms('sixteen-letters!'), /give "sixteen-letters"$/);
	assert.throws(() => parseComms('sixteen-letters!', ['a']), /15 bytes/);
	assert.throws(() => parseComms('ok,äääääääää'), /15 bytes/);
	assert.deepEqual(parseComms('*[abcdefghijklm]*'), ['*[abcdefghijklm]*']);
	refuses(parseComms, 'sixteen-letters!*');
});

test('CPUs: single ones and ranges, up to the last one that there is', () => {
	const possible = readFileSync('/sys/devices/system/cpu/possible', 'utf8').trim();
	const last = Number(/\d+$/.exec(possible)?.[0]);
	assert.deepEqual(
		parseCpus(`0-${last}`),
		Array.from({ length: last + 1 }, (_, i) => i),
	);
	assert.deepEqual(parseCpus(`${last},0`, [5]), [5, last, 0]);
	const message = `give CPUs from 0 to ${last}, such as 0,2-3`;
	for (const text of [`${last + 1}`, `0-${last + 1}`, '0-0-0', '0,'])
		assert.throws(() => parseCpus(text), { message }, text);
});

test('containers: beginnings of IDs, in lists and repeated; nothing, and no path', () => {
	assert.deepEqual(parseContainers('3f2a'), ['3f2a']);
	assert.deepEqual(parseContainers('b,c', ['a']), ['a', 'b', 'c']);
	for (const text of ['', 'a,', ',a', '/docker/3f2a', 'a,b/c'])
		assert.throws(() => parseContainers(text), { message: /^give the ID of a container/ }, text);
});

test('all patterns of thread names together are bounded, those too that were given before', () => {
	const most = Array.from({ length: 64 }, (_, i) => `n${i}*`);
	const together = (before: readonly string[]) => {
		try {
			return parseComms('last*', before).length;
		} catch (error) {
			assert.ok(error instanceof InvalidArgumentError);
			return 0;
		}
	};
	assert.equal(together([]), 1);
	assert.equal(together(most), 0);
	// Whole names take no such room.
	assert.equal(together(most.map((name) => name.replace('*', ''))), 65);
});

test('a name in place of a process number may have what names have', () => {
	for (const name of ['my-server', 'a.out', 'kworker:0', 'a_b'])
		assert.throws(() => parsePids(name), new RegExp(`--comm ${name}$`), name);
});
