/** Names of system calls, of both architectures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ABIS, allCalls, callName, callTables, isNamed } from '../../../src/abi/syscalls.js';

test('names: native, 32-bit, x32, and numbers without one', () => {
	const name = (nr: number, abi: 'native' | '32-bit' | 'x32', arch = 'x64') =>
		callName({ nr, abi }, arch);
	assert.equal(name(0, 'native', 'arm64'), 'io_setup');
	if (process.arch === 'x64') {
		assert.equal(name(0, 'native'), 'read');
		assert.equal(name(3, '32-bit'), 'read (32-bit)');
		assert.equal(name(0, 'x32'), 'read (x32)', 'x32 has the native numbers');
	}
	assert.equal(name(3, '32-bit', 'arm64'), 'syscall_3 (32-bit)');
	assert.equal(name(515, 'x32'), 'syscall_515 (x32)');
	assert.equal(name(2 ** 18 - 1, 'native'), '(no such call)');
});

test('all calls: those of 64-bit programs, then those of 32-bit programs, by number', () => {
	const calls = allCalls();
	const [native, compat] = callTables();
	assert.equal(calls.length, Object.keys(native).length + Object.keys(compat).length);
	const order = calls.map(({ nr, abi }) => ABIS.indexOf(abi) * 2 ** 18 + nr);
	assert.deepEqual(
		order,
		order.toSorted((a, b) => a - b),
	);
	for (const call of calls) {
		assert.ok(isNamed(call, call.name), call.name);
		assert.ok(!isNamed(call, 'read') || call.name === 'read');
	}
	if (process.arch !== 'x64') return;
	assert.ok(isNamed({ nr: 0, abi: 'x32' }, 'read') && !isNamed({ nr: 0, abi: '32-bit' }, 'read'));
});

/** arch/arm/tools/syscall.tbl: those that begin or end a thread, or come back from a signal. */
const OF_ARM = {
	...{ exit: 1, fork: 2, sigreturn: 119, clone: 120, rt_sigreturn: 173, vfork: 190 },
	...{ exit_group: 248, clone3: 435 },
};

test('32-bit arm: calls that have to be known, by their own numbers', () => {
	for (const [name, nr] of Object.entries(OF_ARM))
		assert.equal(callName({ nr, abi: '32-bit' }, 'arm64'), `${name} (32-bit)`);
	assert.equal(Object.keys(callTables('arm64')[1]).length, Object.keys(OF_ARM).length);
});
