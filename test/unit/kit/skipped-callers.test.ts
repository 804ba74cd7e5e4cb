import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayLackCaller, SKIPPED, withSkipped } from '../../../src/kit/skipped-callers.js';

const pathAt = (address: number) =>
	[undefined, '/usr/bin/app', '/lib/libc.so.6', '/opt/libz.so.1.3'][Math.floor(address / 0x1000)];
const lacks = (...user: number[]) => mayLackCaller({ user }, pathAt);

test('a leaf in a library, and no frame of the library above: its caller may be missing', () => {
	assert.ok(lacks(0x2100, 0x1100));
	assert.ok(lacks(0x2100, 0x3100));
	assert.ok(lacks(0x3100, 0x1100));
	assert.ok(lacks(0x2100), 'a single one');
	// Where it goes on is behind the call, which may be the last instruction there is.
	assert.ok(!lacks(0x2100, 0x3000));
});

test('frames of the same file one above the other are whole', () => {
	assert.ok(!lacks(0x2100, 0x2200, 0x1100));
	assert.ok(!lacks(0x1100, 0x1200));
	assert.ok(!lacks(0x1100), "the program's own");
	assert.ok(!lacks(0x100, 0x1100), 'nobody knows what is there');
	assert.ok(!lacks());
});

test('the mark stands below the leaf, where the caller would be', () => {
	const of = (...names: string[]) => names.map((name) => ({ name, kind: 'user' as const }));
	const row = { key: { comm: 'x' }, parts: [1], value: 1, count: 1, variance: 0 };
	const { frames } = withSkipped({ ...row, frames: of('main', 'memset') });
	assert.deepEqual(frames, [...of('main'), SKIPPED, ...of('memset')]);
	assert.deepEqual(withSkipped({ ...row, frames: of('memset') }).frames, [
		SKIPPED,
		...of('memset'),
	]);
});
