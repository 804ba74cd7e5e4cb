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
	    7f0000000010 compress+0x10 (inlined)
	    7f000000001f deflate
	    7f000000002f start_thread
	    7f000000003f __clone3

  1234
	ffffffff81000010 schedule
	    7f0000000011 compress
	    7f000000001f deflate
	    7f000000002f start_thread
	    7f000000003f __clone3

  1234
	    7f0000000010 compress
	    7f000000001f deflate
`;

test('a path is the return addresses of a whole stack, whatever its leaf', () => {
	const paths = pathsOf(wholeOfPerf(SCRIPT));
	assert.deepEqual([...paths], [['7f0000000020 7f0000000030 7f0000000040', 2]]);
	const ours = pathsOf([
		{ addresses: [0x7f0000000015, 0x7f0000000020, 0x7f0000000030, 0x7f0000000040], count: 3 },
		{ addresses: [0x7f0000000015], count: 5 },
	]);
	assert.deepEqual([...ours], [['7f0000000020 7f0000000030 7f0000000040', 3]]);
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
		missing: [['1 4', 2 * FEW]],
	});
});
