/** Circles of waiting threads in words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadlockText } from '../../../src/waits/deadlock-text.js';

const circle = (...comms: string[]) =>
	comms.map((comm, i) => ({ tid: i + 1, comm, owner: ((i + 1) % comms.length) + 1 }));

test('each thread waits for the next one, and the last one for the first', () => {
	assert.equal(deadlockText(circle('a')), 'deadlock: a (1) waits for a mutex that it has itself');
	assert.equal(
		deadlockText(circle('a', 'b', 'c')),
		'deadlock: a (1) waits for a mutex that b (2) has, which waits for one that c (3) has, ' +
			'which waits for one that a (1) has',
	);
});

test('of many the first are named, and how many more there are', () => {
	const text = deadlockText(circle(...'abcdefgh'));
	assert.match(
		text,
		/f \(6\) has, which waits for one that … has \(2 more threads, back to a \(1\)\)$/,
	);
	assert.ok(!text.includes('g (7)'));
});
