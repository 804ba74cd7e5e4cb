import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFunctionWord, readFunctionWord } from '../../../../src/bpf/runtimes/functions.js';

/** As function_word() of bpf/lib/runtimes/functions.h makes it. */
function viewOf(place: bigint, print: bigint, isCallers: boolean): DataView {
	const view = new DataView(new ArrayBuffer(8));
	const word = (1n << 63n) | (isCallers ? 1n << 62n : 0n) | (print << 45n) | (place >> 3n);
	view.setBigUint64(0, word, true);
	return view;
}

test('a word of a stack tells where a function is, what it is, and whose frame', () => {
	const place = 0xffff_89ab_cdef_0120n & ((1n << 48n) - 1n);
	for (const isCallers of [false, true])
		for (const print of [0n, 1n, 0x1_5a5an, 0x1_ffffn]) {
			const view = viewOf(place, print, isCallers);
			assert.ok(isFunctionWord(view, 0));
			assert.deepEqual(readFunctionWord(view, 0), {
				place: Number(place),
				print: Number(print),
				isCallers,
			});
		}
});

test('an address of user space is no function', () => {
	const view = new DataView(new ArrayBuffer(8));
	view.setBigUint64(0, 0x7fff_ffff_ffffn, true);
	assert.equal(isFunctionWord(view, 0), false);
});
