import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import {
	parseComms,
	parseCount,
	parseCpus,
	parsePids,
	parseSeconds,
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
