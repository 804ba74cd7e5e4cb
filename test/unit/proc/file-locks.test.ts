/** /proc/locks: who waits for whom. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FileLocks, holdersIn } from '../../../src/proc/file-locks.js';
import { fakeProc, NOBODY } from './fake-proc.js';

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

const lock = (holder: number, waiter: number) =>
	`1: FLOCK  ADVISORY  WRITE ${holder} 08:01:131 0 EOF\n` +
	`1: -> FLOCK  ADVISORY  WRITE ${waiter} 08:01:131 0 EOF\n`;

test('who waited whenever somebody looked, and the name of who had the lock then', (t) => {
	const comms = {
		[`/proc/${NOBODY}/comm`]: ' the holder\n',
		[`/proc/${NOBODY + 1}/comm`]: 'a waiter\n',
	};
	const say = fakeProc(t, { files: { ...comms, '/proc/locks': lock(NOBODY, NOBODY + 1) } });
	const locks = new FileLocks();
	locks.look();
	const first = [NOBODY + 1, { pid: NOBODY, comm: ' the holder' }];
	assert.deepEqual([...locks.holders], [first]);
	// One that has ended has no name.
	say({ files: { ...comms, '/proc/locks': lock(NOBODY + 5, 70) + lock(NOBODY, 71) } });
	locks.look();
	const later = [71, { pid: NOBODY, comm: ' the holder' }];
	assert.deepEqual([...locks.holders], [first, later]);
	// Others wait while the kernel writes so many: what was read counts, and nobody looks again.
	const many = `${lock(NOBODY, 72)}${'x\n'.repeat(2 ** 19)}`;
	say({ files: { ...comms, '/proc/locks': many } });
	locks.look();
	say({ files: { ...comms, '/proc/locks': lock(NOBODY, 73) } });
	locks.look();
	assert.deepEqual([...locks.holders.keys()], [NOBODY + 1, 71, 72]);
});
