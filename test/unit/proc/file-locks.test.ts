/** /proc/locks: who waits for whom. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdersIn } from '../../../src/proc/file-locks.js';

test('who waits stands behind who has the lock, with an arrow', () => {
	const text = [
		'1: FLOCK  ADVISORY  WRITE 400 08:01:131 0 EOF',
		'1: -> FLOCK  ADVISORY  WRITE 401 08:01:131 0 EOF',
		'1:  -> FLOCK  ADVISORY  READ 402 08:01:131 0 EOF',
		'2: POSIX  ADVISORY  READ  500 08:01:132 0 9',
		'9: -> POSIX  ADVISORY  READ  501 08:01:132 0 9',
		'3: OFDLCK ADVISORY  WRITE -1 08:01:133 0 EOF',
		'3: -> OFDLCK ADVISORY  WRITE 600 08:01:133 0 EOF',
		'',
	].join('\n');
	assert.deepEqual(
		[...holdersIn(text)],
		[
			[401, 400],
			[402, 400],
		],
	);
	assert.equal(holdersIn('').size, 0);
	assert.equal(holdersIn('7: -> FLOCK  ADVISORY  WRITE 401 08:01:131 0 EOF\n').size, 0);
	assert.equal(holdersIn('not a lock\n1: -> x').size, 0);
});
