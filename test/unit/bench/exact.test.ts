import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from '../../../bench/exact/compare.js';
import { FEW, foundIn, pathsOf, wholeOfPerf } from '../../../bench/exact/paths.js';

test('frames agree from the leaf on, up to the first that does not', () => {
	assert.deepEqual(compare([1, 2, 3], [1, 2, 3], 127), { frames: 3, agree: 3 });
	assert.deepEqual(compare([1, 2, 3, 4], [1, 9, 3, 4], 127), { frames: 4, agree: 1 });
	assert.deepEqual(compare([1, 2, 3], [], 127), { frames: 3, agree: 0 });
});

test('a walk that ends early, or goes on too far, does not agree', () => {
	assert.deepEqual(compare([1, 2, 3], [1, 2], 127), { frames: 3, agree: 2 });
	assert.deepEqual(compare([1, 2], [1, 2, 3], 127), { frames: 3, agree: 2 });
});

test('no more is compared than a walk takes', () => {
	assert.deepEqual(compare([1, 2, 3], [1, 2], 2), { frames: 2, agree: 2 });
});

test('what the oracle says behind code that it does not know does not count', () => {
	const isBlind = (address: number) => address >= 100;
	assert.deepEqual(compare([1, 2, 100, 7], [1, 2, 100, 4, 5], 127, isBlind), {
		frames: 3,
		agree: 3,
	});
	assert.deepEqual(compare([1, 2, 100, 7], [1, 2, 101], 127, isBlind), { frames: 3, agree: 2 });
});

const SCRIPT = `  1234
	           10010 compress (/usr/lib/libz.so.1)
	           1001f deflate (/usr/lib/libz.so.1)
	           2002f start_thread (/usr/lib/libc.so.6)
	           2003f __clone3 (/usr/lib/libc.so.6)

  1234
	ffffffff81000010 schedule ([kernel.kallsyms])
	           10011 compress (/usr/lib/libz.so.1)
	           1001f deflate (/usr/lib/libz.so.1)
	           2002f start_thread (/usr/lib/libc.so.6)
	           2003f __clone3 (/usr/lib/libc.so.6)

  1234
	           10010 compress (/usr/lib/libz.so.1)
	           1001f deflate (/usr/lib/libz.so.1)
`;

test('a path is the return addresses of a whole stack, whatever its leaf', () => {
	const callers = ['libz.so.1+0x10020', 'libc.so.6+0x20030', 'libc.so.6+0x20040'];
	assert.deepEqual([...pathsOf(wholeOfPerf(SCRIPT))], [[callers.join(' ◂ '), 2]]);
	const ours = pathsOf([
		{ frames: ['libz.so.1+0x10015', ...callers], count: 3 },
		{ frames: ['libz.so.1+0x10015'], count: 5 },
	]);
	assert.deepEqual([...ours], [[callers.join(' ◂ '), 3]]);
});

test('only paths that were sampled more than a few times must be in the other sampling', () => {
	const paths = new Map([
		['1 2', FEW],
		['1 3', FEW - 1],
		['1 4', 2 * FEW],
	]);
	const other = new Map([['1 2', 1]]);
	assert.deepEqual(foundIn(paths, other), {
		paths: 2,
		samples: 3 * FEW,
		all: 4 * FEW - 1,
		missing: [['1 4', 2 * FEW]],
	});
});
