/** Addresses as numbers, and errors of a system that is short of something. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readU64 } from '../../../src/loader/layout.js';
import { shortage } from '../../../src/loader/shortage.js';
import { addressText, isUserAddress, readAddress } from '../../../src/loader/signed-address.js';

test('addresses of user space and of the kernel are exact, and told apart by their sign', () => {
	for (const [address, isUser] of [
		[0x7fff_ffff_f000n, true],
		[0x1n, true],
		[0xff_ffff_ffff_f000n, true], // with five levels of page tables
		[0x100_0000_0000_0000n, false],
		[0n, false],
		[0xffff_ffff_8100_0001n, false],
		[0xffff_8880_0000_0010n, false],
	] as const) {
		const view = new DataView(new ArrayBuffer(16));
		view.setBigUint64(5, address, true);
		const read = readAddress(view, 5);
		assert.equal(BigInt.asUintN(64, BigInt(read)), address);
		assert.equal(addressText(read), address.toString(16));
		assert.equal(isUserAddress(read), isUser, address.toString(16));
		assert.equal(readU64(view, 5), Number(address));
	}
});

test('what the system is short of, and what to do about it', () => {
	assert.match(shortage('EMFILE') ?? '', /^too many open files; .*ulimit -n/);
	assert.match(shortage('ENFILE') ?? '', /on this machine; raise fs\.file-max/);
	assert.match(shortage('ENOMEM') ?? '', /^no memory for its maps; .*memory\.max/);
	for (const errno of ['EPERM', 'EINVAL', '']) assert.equal(shortage(errno), undefined);
});
