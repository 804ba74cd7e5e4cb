/** Names out of strangers' bytes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedName, MAX_NAME_LENGTH, offsetName } from '../../src/bounded-names.js';

test('a name is one line of bounded length; other characters are its own', () => {
	assert.equal(boundedName('a\nb\rc\0d\u2028e\u2029f'), 'a b c d e f');
	assert.equal(boundedName('\t\u001b[31m ünï 💥'), '\t\u001b[31m ünï 💥');
	assert.equal(boundedName('x'.repeat(MAX_NAME_LENGTH)).length, MAX_NAME_LENGTH);
	assert.equal(boundedName(`${'x'.repeat(MAX_NAME_LENGTH)}y`), 'x'.repeat(MAX_NAME_LENGTH));
});

test('what has no name is where it is in its file', () => {
	assert.equal(offsetName('/usr/lib/libc.so.6', 0x1234), 'libc.so.6+0x1234');
	assert.equal(offsetName('[vdso]', 10), '[vdso]+0xa');
	assert.equal(offsetName('/ends/with/', 0), '/ends/with/+0x0');
	assert.equal(offsetName('/a\nb', 1), 'a b+0x1');
});
