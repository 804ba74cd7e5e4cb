/** Files of a command that has not begun yet: where its allocator may be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandFiles } from '../../../../../src/tools/memleak/heap/command-files.js';

test('a library that is to be loaded besides is among them', (t) => {
	const plain = commandFiles(['cat']);
	assert.match(plain.join(), /\/cat,.*\/libc\.|\/cat,.*\/ld-musl/);
	// Any one that cat has no use for.
	const library = commandFiles([process.execPath]).find((path) => /\/lib(dl|m)\.so/.test(path));
	if (library === undefined) return t.skip('node is linked in another way');
	assert.ok(!plain.includes(library));
	const { LD_PRELOAD } = process.env;
	t.after(() => {
		if (LD_PRELOAD === undefined) delete process.env.LD_PRELOAD;
		else process.env.LD_PRELOAD = LD_PRELOAD;
	});
	process.env.LD_PRELOAD = library;
	assert.ok(commandFiles(['cat']).includes(library));
});
