/** Whether programs keep frame pointers: by how functions begin, and by which functions count. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBytes } from '../../../../src/elf/bytes.js';
import { Elf, MACHINE } from '../../../../src/elf/elf.js';
import {
	countFrames,
	FEW_FUNCTIONS,
	keepsFrame,
} from '../../../../src/symbolize/walks/frame-pointers.js';
import { elfOf } from '../../hostile/elf-builder.js';
import { CODE, many, program, TEXT } from '../frames-writer.js';

const code = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const [ENDBR, PUSH, SUB] = ['f30f1efa', '55', '4883ec08'];
const MOV = ['4889e5', '488bec'];

test('x86-64: push %rbp, and then mov %rsp,%rbp, as either is written', () => {
	for (const mov of MOV) {
		assert.ok(keepsFrame(code(PUSH + mov), MACHINE.x64));
		assert.ok(keepsFrame(code(`${ENDBR}${PUSH}4157${mov}${SUB}`), MACHINE.x64), 'some time later');
		assert.ok(!keepsFrame(code(mov + PUSH), MACHINE.x64), 'the other way round');
		assert.ok(!keepsFrame(code(SUB + mov), MACHINE.x64), 'the old one is not kept');
	}
	assert.ok(!keepsFrame(code(`${PUSH}${SUB}`), MACHINE.x64), 'a register like any other');
	assert.ok(!keepsFrame(code(''), MACHINE.x64));
});

test('arm64: x29 is set from sp, with or without a distance', () => {
	const [STP, MOV_SP, ADD_SP, ADD_X1] = ['fd7bbfa9', 'fd030091', 'fd430091', '21040091'];
	assert.ok(keepsFrame(code(STP + MOV_SP), MACHINE.arm64));
	assert.ok(keepsFrame(code(STP + ADD_SP), MACHINE.arm64));
	assert.ok(!keepsFrame(code(STP), MACHINE.arm64));
	assert.ok(!keepsFrame(code(STP + ADD_X1), MACHINE.arm64), 'add x1, x1, #1');
	// The same bytes elsewhere than where an instruction begins.
	assert.ok(!keepsFrame(code(`0000${ADD_SP}0000`), MACHINE.arm64));
	// What is one architecture's is not the other's.
	assert.ok(!keepsFrame(code(PUSH + MOV[0]), MACHINE.arm64));
	assert.ok(!keepsFrame(code(STP + MOV_SP), MACHINE.x64));
});

const countIn = (...of: Parameters<typeof program>) =>
	countFrames(new Elf(new MemoryBytes(program(...of))));

test('functions that are long enough are counted, those with a frame apart', () => {
	const functions = [...many(9, 100, true), ...many(5, 64, false), ...many(7, 63, true)];
	assert.deepEqual(countIn(functions), { sampled: 14, withFrame: 9 });
});

test('in a small program shorter ones count too, but for the shortest', () => {
	const long = many(FEW_FUNCTIONS - 1, 64, true);
	const few = [...long, ...many(3, 16, false), ...many(4, 15, true)];
	assert.deepEqual(countIn(few), { sampled: FEW_FUNCTIONS + 2, withFrame: FEW_FUNCTIONS - 1 });
	const enough = [...many(FEW_FUNCTIONS, 64, true), ...many(3, 16, false)];
	assert.deepEqual(countIn(enough), { sampled: FEW_FUNCTIONS, withFrame: FEW_FUNCTIONS });
});

test('the last function ends with its section; where a program begins nobody called it', () => {
	const functions = [...many(3, 32, true), { bytes: 20, frame: false }];
	assert.deepEqual(countIn(functions), { sampled: 4, withFrame: 3 });
	assert.deepEqual(countIn(functions, { entry: TEXT + 32 }), { sampled: 3, withFrame: 2 });
});

test('of very many a sample is taken, from all over the program', () => {
	const functions = [...many(1000, 64, true), ...many(1000, 64, false)];
	assert.deepEqual(countIn(functions), { sampled: 500, withFrame: 250 });
});

test('what does not say where functions begin, or has none, is not judged', () => {
	const functions = many(20, 64, true);
	assert.equal(countIn(functions, { version: 2 }), undefined);
	assert.equal(countIn([]), undefined);
	assert.equal(countIn(functions, { flags: 2 }), undefined, 'no code');
	assert.equal(countIn(functions, { name: '.plt.sec' }), undefined, 'stubs');
	assert.deepEqual(countIn(functions, { listed: 12 }), { sampled: 12, withFrame: 12 });
	// It says that it has more than there are.
	assert.deepEqual(countIn(functions, { listed: 1e6 }), {
		sampled: 20,
		withFrame: 20,
	});
	const without = new Elf(new MemoryBytes(elfOf({ sections: [{ name: '.text', flags: CODE }] })));
	assert.equal(countFrames(without), undefined);
});
