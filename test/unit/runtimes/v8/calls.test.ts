/** Calls, as disassemblers show them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsWithCall } from '../../../../src/runtimes/v8/calls.js';

const ends = (arch: NodeJS.Architecture, ...bytes: readonly number[]) => {
	const padded = Uint8Array.from([...Array.from({ length: 8 }, () => 0x90), ...bytes]);
	return endsWithCall(new DataView(padded.buffer, bytes.length), arch);
};

test('x86-64: by a distance, a register, memory', () => {
	for (const call of [
		[0xe8, 1, 2, 3, 4],
		[0xff, 0xd0], // *rax
		[0x41, 0xff, 0xd2], // *r10
		[0xff, 0x10], // *(rax)
		[0xff, 0x53, 8], // *8(rbx)
		[0x41, 0xff, 0x55, 0x28], // *0x28(r13)
		[0x41, 0xff, 0x95, 1, 2, 3, 4], // *0x04030201(r13)
		[0xff, 0x54, 0x24, 8], // *8(rsp)
		[0xff, 0x94, 0x24, 1, 2, 3, 4], // *0x04030201(rsp)
		[0xff, 0x15, 1, 2, 3, 4], // *0x04030201(rip)
	])
		assert.ok(ends('x64', ...call), `${call}`);
	for (const other of [
		[0xe9, 1, 2, 3, 4], // jmp
		[0xff, 0xe0], // jmp *rax
		[0xff, 0x30], // push (rax)
		[0xff, 0x53], // cut
		[0x90, 0x90, 0x90],
	])
		assert.ok(!ends('x64', ...other), `${other}`);
});

test('arm64: bl, blr; other machines have none', () => {
	assert.ok(ends('arm64', 0x10, 0, 0, 0x94));
	assert.ok(ends('arm64', 0x20, 0x01, 0x3f, 0xd6));
	assert.ok(!ends('arm64', 0x10, 0, 0, 0x14)); // b
	assert.ok(!ends('arm64', 0x20, 0x01, 0x1f, 0xd6)); // br
	assert.ok(!ends('s390x', 0xe8, 1, 2, 3, 4));
});
