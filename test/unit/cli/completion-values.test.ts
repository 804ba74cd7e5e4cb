/** Values that the shell completes, of options that take several with commas between. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordsFor } from '../../../src/cli/completion-values.js';

test('in a list only the last value is completed, and those before it stay', () => {
	const names = (option: string, word: string) =>
		wordsFor(option, word).map((line) => line.replace(/\t.*$/, ''));
	const alone = names('--syscall', 'rea');
	assert.ok(alone.includes('read') && alone.includes('readv'), `${alone}`);
	for (const before of ['write,', 'write,openat,', 'write,openat,close,'])
		assert.deepEqual(
			names('--syscall', `${before}rea`),
			alone.map((name) => before + name),
		);
	// What takes one value only has no list.
	assert.ok(names('--errno', 'ENOEN').includes('ENOENT'));
	assert.deepEqual(names('--errno', 'EINTR,ENOEN'), []);
});
