/** Names and special numbers of system calls, of both architectures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callConstants, callName } from '../../../src/abi/syscalls.js';

/** The constants as the programs get them, as u32. */
function constants(arch: string): Map<string, Uint32Array> {
	const memories = new Map<string, Uint32Array>();
	const object = {
		constantBytes: (name: string) => {
			const words = new Uint32Array(32);
			memories.set(name, words);
			return new DataView(words.buffer);
		},
		setConstants: () => {},
	};
	callConstants(object, undefined, arch);
	return memories;
}

const NONE = 0xffff_ffff;

test('which calls begin and end threads: of 64-bit programs, then of 32-bit programs', () => {
	const expected = {
		x64: {
			child_nr: [56, 57, 58, 435, 120, 2, 190, 435],
			exit_nr: [60, 1],
			exit_group_nr: [231, 252],
			sigreturn_nr: [15, 173],
		},
		arm64: {
			child_nr: [220, NONE, NONE, 435, 120, 2, 190, 435],
			exit_nr: [93, 1],
			exit_group_nr: [94, 248],
			sigreturn_nr: [139, 173],
		},
	};
	for (const [arch, each] of Object.entries(expected)) {
		// Where it is not the own one, its headers may not have been there at the build.
		if (arch === 'x64' && process.arch !== arch) continue;
		const memories = constants(arch);
		for (const [name, numbers] of Object.entries(each))
			assert.deepEqual([...(memories.get(name) ?? [])].slice(0, numbers.length), numbers, name);
	}
});

test('names: native, 32-bit, x32, and numbers without one', () => {
	const name = (nr: number, abi: 'native' | '32-bit' | 'x32', arch = 'x64') =>
		callName({ nr, abi }, arch);
	assert.equal(name(0, 'native', 'arm64'), 'io_setup');
	if (process.arch === 'x64') {
		assert.equal(name(0, 'native'), 'read');
		assert.equal(name(3, '32-bit'), 'read (32-bit)');
	}
	assert.equal(name(3, '32-bit', 'arm64'), 'syscall_3 (32-bit)');
	assert.equal(name(515, 'x32'), 'syscall_515 (x32)');
	assert.equal(name(2 ** 18 - 1, 'native'), '(no such call)');
});
