/** Where functions return: made-up code, and the operators new of this machine's allocators. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findReturns } from '../../../../../src/tools/memleak/machine-code/returns.js';

const none = () => undefined;

test('by every way through it, also by way of what it jumps to', () => {
	const code = Buffer.from([
		...[0x74, 0x03], // 0: je 5
		...[0xc3, 0xcc, 0xcc], // 2: ret
		...[0xe8, 0, 0, 0, 0], // 5: call 10
		...[0xeb, 0x02], // 10: jmp 14
		...[0xc3, 0xc3], // 12: of nobody
		...[0xff, 0x25, 0, 0, 0, 0], // 14: jmp *variable
		...[0x90, 0xc3], // 20: nop, ret
	]);
	const resolve = (at: number) => (at === 14 ? 20 : undefined);
	assert.deepEqual(findReturns(code, 0, resolve)?.sort(), [2, 21]);
	// What goes to another file does not come back.
	assert.deepEqual(findReturns(code, 0, none), [2]);
});

test('not known: a jump table, what cannot be decoded, what never returns', () => {
	assert.equal(findReturns(Buffer.from([0x74, 0x01, 0xc3, 0xff, 0xe0]), 0, none), undefined);
	assert.equal(findReturns(Buffer.from([0x74, 0x01, 0xc3, 0x06]), 0, none), undefined);
	assert.equal(findReturns(Buffer.from([0xeb, 0xfe]), 0, none), undefined);
	assert.equal(findReturns(Buffer.from([0x90]), 0, none), undefined);
});
