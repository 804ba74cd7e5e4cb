/** How much is kept of calls in optimised code. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InlinedCalls } from '../../../src/symbolize/inlined-calls.js';

const words = (count: number) =>
	Array.from({ length: count }, (_, i) => ({ place: 8 * i, print: 1, isCallers: false }));

test('a call that was not read is known to be there, and can be read later', () => {
	const calls = new InlinedCalls();
	assert.ok(!calls.has('a'));
	calls.expect('a');
	calls.keep('a', undefined);
	assert.ok(calls.has('a'));
	assert.equal(calls.get('a'), undefined);
	calls.keep('a', words(2));
	assert.deepEqual(calls.get('a'), words(2));
	calls.keep('b', []);
	assert.deepEqual(calls.get('b'), []);
});

test('300,000 functions are kept in all, and 300,000 calls', () => {
	const calls = new InlinedCalls();
	const chain = words(64);
	const room = Math.floor(300_000 / chain.length);
	for (let i = 0; i <= room; i++) calls.keep(`${i}`, chain);
	assert.ok(calls.has(`${room - 1}`));
	assert.ok(!calls.has(`${room}`));
	for (let i = 0; !calls.isFull; i++) calls.keep(`none ${i}`, []);
	calls.keep('one more', []);
	assert.ok(!calls.has('one more'));
	assert.ok(calls.has(`none ${300_000 - room - 1}`));
});

test('a call that could not be read eight times has no functions, and is not read again', () => {
	const calls = new InlinedCalls();
	calls.expect('a');
	for (let times = 1; times < 8; times++) calls.keep('a', undefined);
	assert.equal(calls.get('a'), undefined);
	calls.keep('a', undefined);
	assert.deepEqual(calls.get('a'), []);
});
