import assert from 'node:assert/strict';
import { closeSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openRegular } from '../../../../src/proc/open.js';
import { isCLibrary, keepsFramePointers } from '../../../../src/symbolize/walks/c-library.js';
import { many, program } from '../frames-writer.js';
import { temporaryFolder } from '../support.js';

test('the C library and what goes with it, by the names of their files', () => {
	for (const path of [
		'/usr/lib/x86_64-linux-gnu/libc.so.6',
		'/lib64/libc-2.28.so',
		'/lib/x86_64-linux-gnu/libpthread-2.31.so',
		'/lib/x86_64-linux-gnu/libpthread.so.0',
		'/lib64/ld-linux-x86-64.so.2',
		'/lib/ld-linux-aarch64.so.1',
		'/lib/x86_64-linux-gnu/ld-2.31.so',
		'/lib/ld-musl-x86_64.so.1',
		'/lib/libc.musl-aarch64.so.1',
		'/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30',
		'/usr/lib/libc++.so.1',
	])
		assert.ok(isCLibrary(path), path);
	for (const path of [
		'/usr/lib/postgresql/15/bin/postgres',
		'/usr/lib/libcurl.so.4',
		'/usr/lib/libcrypto.so.3',
		'/usr/lib/jvm/lib/server/libjvm.so',
		'/usr/lib/libuv.so.1',
		'/home/me/libc/server',
		'/home/me/libc.so.6.bak',
		'libc.so.6',
	])
		assert.ok(!isCLibrary(path), path);
});

test('whether most of its functions keep frame pointers: three of four; what does not tell is not blamed', () => {
	const path = join(temporaryFolder(), 'library');
	const keeps = (content: Uint8Array) => {
		writeFileSync(path, content);
		const open = openRegular(path) ?? assert.fail();
		try {
			return keepsFramePointers(open);
		} finally {
			closeSync(open.fd);
		}
	};
	const of = (kept: number, others: number) =>
		program([...many(kept, 64, true), ...many(others, 64, false)]);
	assert.equal(keeps(of(75, 25)), true);
	assert.equal(keeps(of(74, 26)), false);
	assert.equal(keeps(of(0, 0)), true);
	assert.equal(keeps(Buffer.from('no ELF file')), true);
	assert.equal(keeps(Buffer.alloc(0)), true);
});
