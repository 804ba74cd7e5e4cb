import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCLibrary } from '../../../src/symbolize/c-library.js';

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
