/** Instructions that set the stack pointer, as assemblers write them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { savesPointer, switchesFrom, switchesTo } from '../../../src/unwind/go-code.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

test('x86-64: each way to set rsp, by where it ends; what sets another register is none', () => {
	for (const [instruction, text] of [
		['48 8b 20', 'mov (%rax), %rsp'],
		['48 8b 60 38', 'mov 56(%rax), %rsp'],
		['48 8b a0 78 56 34 12', 'mov 0x12345678(%rax), %rsp'],
		['48 8b 64 24 08', 'mov 8(%rsp), %rsp'],
		['48 8b a4 24 00 01 00 00', 'mov 256(%rsp), %rsp'],
		['48 8b 24 c5 10 00 00 00', 'mov 16(, %rax, 8), %rsp'],
		['48 8b 25 10 00 00 00', 'mov 16(%rip), %rsp'],
		['48 8b e0', 'mov %rax, %rsp'],
		['48 89 c4', 'the same, written otherwise'],
		['4c 89 e4', 'mov %r12, %rsp'],
		['48 83 e4 f0', 'and $-16, %rsp'],
		['48 81 e4 00 f0 ff ff', 'and $-4096, %rsp'],
	] as const) {
		const length = hex(instruction).length;
		const code = hex(`90 ${instruction} 90 90 90 90 90 90 90 90`);
		assert.equal(switchesFrom(code, false), 1 + length, text);
		assert.equal(
			switchesTo(hex(`${instruction} 90 ${instruction} 90`), false),
			2 * length + 1,
			text,
		);
		// Its last byte is cut off.
		const cut = code.subarray(0, length);
		if (length > 3) assert.equal(switchesFrom(cut, false), length, text);
	}
	for (const [other, text] of [
		['4c 8b 60 38', 'mov 56(%rax), %r12'],
		['49 89 e4', 'mov %rsp, %r12'],
		['48 89 e0', 'mov %rsp, %rax'],
		['48 83 c4 08', 'add $8, %rsp'],
		['48 83 e0 f0', 'and $-16, %rax'],
		['90 89 c4', 'mov %eax, %esp'],
	] as const) {
		assert.equal(switchesFrom(hex(other), false), undefined, text);
		assert.equal(switchesTo(hex(other), false), 0, text);
	}
});

test('arm64: from another register, by a sum, a difference or a mask; not by what grows the stack', () => {
	for (const [instruction, text] of [
		['7f000091', 'mov sp, x3'],
		['9f4200d1', 'sub sp, x20, #16'],
		['7fec7c92', 'and sp, x3, #-16'],
	] as const) {
		assert.equal(switchesFrom(hex(`1f2003d5${instruction}1f2003d5`), true), 8, text);
		assert.equal(switchesTo(hex(`${instruction}${instruction}1f2003d5`), true), 8, text);
	}
	for (const other of ['ff4300d1', 'fd030091', '1f2003d5'])
		assert.equal(switchesFrom(hex(other), true), undefined, other);
});

test('x86-64: the frame pointer is saved by a push in front, or by a mov to any place on the stack', () => {
	assert.equal(savesPointer(hex('55 48 89 e5'), 1, false), true);
	assert.equal(savesPointer(hex('50 48 89 e5 90'), 1, false), false);
	for (const mov of ['48 89 6c 24 10', '48 89 2c 24', '48 89 ac 24 00 01 00 00'])
		assert.equal(savesPointer(hex(`48 83 ec 18 ${mov}`), 4, false), true, mov);
	assert.equal(savesPointer(hex('48 83 ec 18 48 89 5c 24 10'), 4, false), false);
	assert.equal(savesPointer(hex('48 83 ec 18 48 89'), 4, false), false, 'cut off');
});
