/** Sleeps of the whole machine, and of threads that were chosen: rule 6 of docs/tools/why.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Evidence } from '../../../../src/tools/why/evidence.js';
import { blocked, partsTo, SECOND, STACK_OF, thread, waker } from './support.js';

/** Where thread 71 is while it sleeps. */
function sleepOf(rest: Partial<Evidence> = {}) {
	const { parts } = partsTo({
		target: '',
		...rest,
		threads: [thread(10 * SECOND), thread(10 * SECOND, 0, { tid: 72 })],
		blocked: [blocked(STACK_OF.sleep, 4 * SECOND, { count: 4 }), ...(rest.blocked ?? [])],
	});
	return parts.find(({ kind, row }) => kind === 'sleep' && row.key.tid === 71)?.place;
}

/** Thread 72 waits until 71 has slept. */
const waiting = (stack: string, key = { tid: 71 }) => [
	blocked(stack, 2 * SECOND, {
		count: 2,
		key: { tid: 72 },
		waker: waker('was blocked', STACK_OF.sleep, {
			key: { context: 'thread', pid: 70, comm: 'worker', ...key },
		}),
	}),
];

test('of the whole machine a sleep is idle, of threads that were chosen it is not', () => {
	assert.equal(sleepOf(), 'idle');
	assert.equal(sleepOf({ target: '-p 70' }), 'waiting');
});

test('who sleeps while another thread waits for it has work', () => {
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.lock) }), 'waiting');
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.condition) }), 'waiting');
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.lock, { tid: 72 }) }), 'idle', 'another one');
});

test('a parent waits for the end of a program, whose work a sleep is not', () => {
	assert.equal(sleepOf({ blocked: waiting(STACK_OF.child) }), 'idle');
});
